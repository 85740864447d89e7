//! Whether a job keeps its deadline.

use std::fmt;

use crate::model::PerKind;

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

/// A job with a deadline: its plan, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeadlineDetail {
    pub(crate) state: DeadlineState,
    /// Its deadline, epoch microseconds.
    pub(crate) due_us: i64,
    /// The least tasks at a time that keep it.
    pub(crate) minimum: PerKind<u32>,
    /// When its maps start, epoch microseconds; none: they have, or no slots are promised.
    pub(crate) planned_start_us: Option<i64>,
    pub(crate) is_promise_over: bool,
    /// When all its reduces must have started, epoch microseconds.
    pub(crate) latest_reduce_start_us: i64,
}
