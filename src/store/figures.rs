//! What the writer has done, for metrics and tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the writer has done since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Transactions committed.
    pub commits: u64,
    /// Facts in them.
    pub facts: u64,
    /// Tries that failed.
    pub failures: u64,
    /// Times the write-ahead log was moved into the database.
    pub checkpoints: u64,
}

/// [`Figures`] as the writer counts them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) commits: AtomicU64,
    pub(super) facts: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) checkpoints: AtomicU64,
}

// === impl Counts ===

impl Counts {
    pub(super) fn read(&self) -> Figures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            commits: read(&self.commits),
            facts: read(&self.facts),
            failures: read(&self.failures),
            checkpoints: read(&self.checkpoints),
        }
    }
}
