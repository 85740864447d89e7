//! Bytes of stock Hadoop, recorded: decoded and encoded again, and fed to every fuzz target.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod fuzz_targets;
mod recorded_frames;
mod recorded_hdfs;
