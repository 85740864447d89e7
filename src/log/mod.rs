//! The log: how its lines are formatted, and how many one caller may cause.

mod lines;
mod rate;

pub use lines::escaped_fields;
pub(crate) use rate::{LogRate, Verdict};
