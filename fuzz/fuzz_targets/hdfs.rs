//! HDFS: calls, answers and streams of DataNodes.

#![no_main]

#[allow(dead_code, reason = "one target of several")]
#[path = "../parsers.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| parsers::hdfs(input));
