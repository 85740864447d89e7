//! Counts of tasks and attempts, and what memory keeps of the tasks of a finished job.

use crate::wire::Counters;

use super::CounterValues;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TasksByState {
    pub(crate) total: u32,
    pub(crate) pending: u32,
    pub(crate) running: u32,
    pub(crate) finished: u32,
    pub(crate) killed: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BadEnds {
    pub(crate) failed: u32,
    pub(crate) killed: u32,
}

/// The counters of a job whose tasks are retired.
#[derive(Clone, Debug)]
pub(super) struct FinishedSummary {
    pub(super) counters: Option<CounterValues>,
}

impl FinishedSummary {
    pub(super) fn of(counters: CounterValues) -> Self {
        Self { counters: Some(counters) }
    }

    /// The final counters, already within the limits.
    pub(super) fn counters(&self) -> Counters {
        self.counters.as_ref().map(CounterValues::to_counters).unwrap_or_default()
    }
}
