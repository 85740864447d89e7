//! What memory keeps of the tasks of a finished job.

use crate::wire::Counters;

use super::CounterValues;

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
