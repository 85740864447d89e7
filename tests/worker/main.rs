//! The built-in worker, the job client and the demo: what runs beside the JobTracker, as processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot set itself up has failed"
)]

mod administrators;
mod applications;
mod cluster;
mod containers;
#[path = "../daemon/mod.rs"]
mod daemon;
mod demo;
mod document_example;
#[path = "../fake_hdfs/mod.rs"]
mod fake_hdfs;
mod fifty_containers;
mod hdfs;
mod holding;
mod hostile_containers;
mod job_client;
mod job_user;
mod mixed_work;
mod program;
mod run_commands;
mod signed_changes;
mod tasktracker;
mod worker_in_need;
