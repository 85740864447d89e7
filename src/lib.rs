//! `jobtracker`: a replacement for the Hadoop 1.x JobTracker with a market inside.
//!
//! The rooms and their dependencies are described in `docs/ARCHITECTURE.md`; `tests/tidy.rs` holds the code to it.

// The fakes in `tests/` are compiled into the tests here too.
#[cfg(test)]
extern crate self as jobtracker;

pub mod accounts;
pub mod api;
pub mod channel;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod demo;
pub mod engine;
pub mod fake_tracker;
pub mod fs;
pub mod hdfs;
pub mod http;
pub mod ipc;
pub mod latency;
pub mod lifecycle;
pub mod log;
pub mod mapreduce;
pub mod market;
pub mod model;
mod process_stat;
pub mod program;
pub mod scheduler;
pub mod server;
pub mod sim;
mod socket_owner;
pub mod store;
pub mod streaming;
pub mod supervisor;
pub mod views;
pub mod web;
pub mod wire;
pub mod worker;
