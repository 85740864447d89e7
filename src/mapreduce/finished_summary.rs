//! What memory keeps of a finished job's tasks.

use crate::wire::Counters;

use super::CounterValues;

/// The final counters, without tasks.
#[derive(Clone, Debug)]
pub(super) struct FinishedSummary {
    counters: Option<CounterValues>,
}

// === impl FinishedSummary ===

impl FinishedSummary {
    pub(super) fn new(counters: Option<CounterValues>) -> Self {
        Self { counters }
    }

    /// The final counters, already within the limits.
    pub(super) fn counters(&self) -> Counters {
        self.counters.as_ref().map(CounterValues::to_counters).unwrap_or_default()
    }
}
