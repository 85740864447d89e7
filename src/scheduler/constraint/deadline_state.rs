//! Whether a job keeps its deadline.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeadlineState {
    /// As far as is known.
    OnTime,
    /// What is left needs more slots than it has.
    AtRisk,
    Late,
}

impl fmt::Display for DeadlineState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnTime => "ON_TIME",
            Self::AtRisk => "AT_RISK",
            Self::Late => "LATE",
        })
    }
}
