//! The program itself, `jobtracker serve`, as a process: operation, upgrade, budget file, disks, foreign files, traced system calls.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed; parts of the load generator are used"
)]

mod administrators;
mod applications;
mod budget_file;
mod budgets_in_postgres;
mod charged_jobs;
#[path = "../daemon/mod.rs"]
mod daemon;
#[path = "../fake_hdfs/mod.rs"]
mod fake_hdfs;
mod foreign_jobtracker;
mod fsync_before_reply;
mod full_disk;
mod history;
mod hostile_files;
mod idle_market;
mod json_api;
mod json_members;
mod metrics;
mod namenode;
mod old_layouts;
mod operate;
mod sessions;
#[path = "../../examples/load/staging.rs"]
mod staging;
#[path = "../../examples/load/steady_tracker.rs"]
mod steady_tracker;
mod upgrade;
mod upload;

/// The health of a daemon that lacks only workers.
const NO_WORKER: &str = "ok, but no worker is connected; start one: jobtracker tasktracker";
