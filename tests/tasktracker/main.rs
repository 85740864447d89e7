//! The built-in tasktracker as a process, working for our JobTracker as a process: jobs of our client from submission to output.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "the program is asked for less here")]
#[path = "../job_client/program.rs"]
mod program;
#[path = "../served/mod.rs"]
mod served;

mod deaths;
mod disks;
mod ends;
mod followed;
mod foreign;
mod hangs;
mod harm;
mod jobs;
mod logs;
mod secrets;
mod web;
mod worker;
