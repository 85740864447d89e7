//! Openings of connections and the frames after them.

#![no_main]

#[allow(dead_code, reason = "one target of several")]
#[path = "../parsers.rs"]
mod parsers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| parsers::opening(input));
