//! The log: levels, line format, counts of lines and rate limit per caller.

mod journal;
mod levels;
mod lines;
mod log_end;
mod rate;
mod subscriber;
#[cfg(test)]
mod tests;

pub(crate) use journal::error_mark;
pub(crate) use levels::{LogLevel, level_of, set_level};
pub(crate) use log_end::end_of_log;
pub(crate) use rate::{LogDecision, LogRate};
pub(crate) use subscriber::{LoggedLines, start_log, start_log_to_stderr};
