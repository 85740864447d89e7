//! `jobtracker`: a replacement for the Hadoop 1.x JobTracker with a market inside.
//!
//! The rooms and their dependencies are described in `docs/ARCHITECTURE.md`; `tests/tidy.rs` holds the code to it.

// `pub` is for the program, tests, benches and examples; the compiler sees what nothing uses of the rest.
#![cfg_attr(not(test), warn(unreachable_pub))]

// The fakes in `tests/` are compiled into the tests here too.
#[cfg(test)]
extern crate self as jobtracker;

mod accounts;
pub mod api;
pub mod channel;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
mod demo;
pub mod engine;
pub mod fake_tracker;
pub mod fs;
pub mod hdfs;
mod http;
pub mod ipc;
mod latency;
pub mod lifecycle;
mod log;
pub mod mapreduce;
pub mod market;
pub mod model;
mod process_stat;
mod program;
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
