//! The store's progress, health and counts, also of updates that find no row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::latency::{Latencies, LatencyCounts};
use crate::model::FactNumber;

/// What the store publishes after each commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// All facts up to and with this one survive a crash of process and machine.
    pub number: FactNumber,
    pub health: Health,
    /// Durable facts that changed no row.
    pub missed_updates: MissedUpdates,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// The last commit succeeded.
    #[default]
    Good,
    /// The last commit failed; it is retried, and nothing is lost or reordered meanwhile.
    Failing {
        /// When the first failed try ended, epoch ms.
        since_ms: i64,
        tries: u64,
        /// Error of the last one.
        text: String,
    },
    /// Facts came out of order, and a retry cannot help: the durable number stays until a restart.
    Broken { text: String },
}

/// Counts since the writer started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    pub commits: u64,
    /// Facts in those transactions.
    pub facts: u64,
    pub failures: u64,
    pub checkpoints: u64,
    /// How long those transactions took, from their first fact to the end of the sync.
    pub commit_times: LatencyCounts,
}

/// [`StoreStats`] as the writer counts them.
#[derive(Debug, Default)]
pub(super) struct WriterCounts {
    pub(super) commits: AtomicU64,
    pub(super) facts: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) commit_times: Latencies,
}

impl Health {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }
}

impl WriterCounts {
    pub(super) fn read(&self) -> StoreStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        StoreStats {
            commits: read(&self.commits),
            facts: read(&self.facts),
            failures: read(&self.failures),
            checkpoints: read(&self.checkpoints),
            commit_times: self.commit_times.read(),
        }
    }
}

/// Facts that should have changed a row and found none, since the store was opened. Each is a defect of its maker, and
/// lost with the next restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissedUpdates {
    pub updates: u64,
    /// Fact and row of the first one.
    pub first: Option<Arc<str>>,
}

impl MissedUpdates {
    /// Counts an update that found no row; `about` names fact and row.
    pub(super) fn count(&mut self, about: impl FnOnce() -> String) {
        self.updates += 1;
        self.first.get_or_insert_with(|| about().into());
    }

    /// Adds those of another transaction; whether they are the first.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let is_first = self.updates == 0 && other.updates > 0;
        self.updates += other.updates;
        self.first = self.first.take().or(other.first);
        is_first
    }

    pub fn complaint(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let updates = self.updates;
        Some(format!("facts that found no row to change in state.db: {updates}, the first of them {first}"))
    }
}
