//! What pages show of a job with a deadline.

use crate::model::PerKind;

use super::DeadlineState;

/// A job with a deadline: its plan, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineDetail {
    pub state: DeadlineState,
    /// Its deadline, epoch microseconds.
    pub due_us: i64,
    /// The least tasks at a time that keep it.
    pub minimum: PerKind<u32>,
    /// When its maps start, epoch microseconds; none: they have, or no slots are promised.
    pub planned_start_us: Option<i64>,
    /// Whether maps are left when the slots promised for them are no more.
    pub is_promise_over: bool,
    /// When all its reduces must have started, epoch microseconds.
    pub latest_reduce_start_us: i64,
}
