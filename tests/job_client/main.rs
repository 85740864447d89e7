//! The job client: its words against recorded ones, its program against our JobTracker with trackers of the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../rpc_rig/mod.rs"]
mod rpc_rig;
#[path = "../served/mod.rs"]
mod served;

mod commands;
mod program;
mod recorded;
mod restart;
mod signed;
mod workers;
