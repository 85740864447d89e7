//! Counts of the writer's work, for metrics and tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the writer started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Transactions committed.
    pub commits: u64,
    /// Facts in those transactions.
    pub facts: u64,
    /// Failed tries.
    pub failures: u64,
    /// Checkpoints of the write-ahead log.
    pub checkpoints: u64,
}

/// [`StoreStats`] as the writer counts them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) commits: AtomicU64,
    pub(super) facts: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) checkpoints: AtomicU64,
}

// === impl Counts ===

impl Counts {
    pub(super) fn read(&self) -> StoreStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StoreStats {
            commits: read(&self.commits),
            facts: read(&self.facts),
            failures: read(&self.failures),
            checkpoints: read(&self.checkpoints),
        }
    }
}
