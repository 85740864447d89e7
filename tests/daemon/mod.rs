//! A daemon for tests: the program as a child process, or in this process with a store that the test releases.

#![allow(dead_code, unused_imports, reason = "each test binary uses a part")]

pub mod answered;
pub mod child;
pub mod clients;
pub mod gated_store;
pub mod in_process;
pub mod postgres;
pub mod process_usage;
pub mod scripted_tracker;
pub mod signer;
pub mod skip;
pub mod small_disk;
