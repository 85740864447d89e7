//! The built-in tasktracker as a process, working for our JobTracker as a process: jobs of our client from submission to output.

mod deaths;
mod disks;
mod ends;
mod everyday;
mod followed;
mod foreign;
mod hangs;
mod harm;
mod jobs;
mod logs;
pub mod secrets;
mod web;
