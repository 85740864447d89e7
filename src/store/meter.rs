//! What the store counts of its own work, for other threads.

use std::sync::Arc;

use crate::latency::LatencyCounts;

use super::durable::WriterCounts;
use super::fact_sender::FactSender;

/// Reads the counts, on any thread.
#[derive(Clone, Debug)]
pub struct StoreMeter {
    counts: Arc<WriterCounts>,
    facts: FactSender,
}

impl StoreMeter {
    pub(super) fn new(counts: Arc<WriterCounts>, facts: FactSender) -> Self {
        Self { counts, facts }
    }

    /// How long commits took.
    pub(crate) fn commit_times(&self) -> LatencyCounts {
        self.counts.read().commit_times
    }

    /// Facts that are not durable yet, and the most while new work is accepted.
    pub fn waiting_facts(&self) -> (u64, u64) {
        (self.facts.waiting_facts(), self.facts.limit_facts())
    }
}
