//! The log: levels, line format and rate limit per caller.

mod lines;
mod rate;
mod subscriber;

pub(crate) use rate::{LogDecision, LogRate};
pub(crate) use subscriber::start_log;
