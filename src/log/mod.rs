//! The log: line format and rate limit per caller.

mod lines;
mod rate;

pub use lines::escaped_fields;
pub(crate) use rate::{LogDecision, LogRate};
