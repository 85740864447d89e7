//! What stock Hadoop 1.2.1 left behind when it ran three streaming jobs: `tests/fixtures/worker`.

use std::path::PathBuf;

use serde_json::Value;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/worker").join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What an independent program read out of the files.
pub(crate) fn decoded() -> Value {
    serde_json::from_slice(&bytes("decoded.json")).unwrap()
}

/// Results of the stock partitioners and comparators.
pub(crate) fn vectors() -> Value {
    serde_json::from_slice(&bytes("vectors.json")).unwrap()
}

pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

pub(crate) fn hex_list(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(hex).collect()
}
