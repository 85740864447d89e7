//! Jobs whose histories are due, and counts of histories.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::model::JobId;
use crate::web::HistoryTotals;

/// Counts of histories, for metrics. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryCounts(pub(super) Arc<Counts>);

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) written: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) waiting: AtomicU64,
}

/// Takes jobs whose histories are due.
#[derive(Clone, Debug)]
pub(super) struct HistoryDues {
    pub(super) jobs: mpsc::UnboundedSender<JobId>,
    pub(super) counts: HistoryCounts,
}

impl HistoryCounts {
    pub(in crate::server) fn read(&self) -> HistoryTotals {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        HistoryTotals {
            written: count(&self.0.written),
            failures: count(&self.0.failures),
            waiting: count(&self.0.waiting),
        }
    }
}

impl HistoryDues {
    /// The history of a job is due.
    pub(super) fn write(&self, job: JobId) {
        self.counts.0.waiting.fetch_add(1, Ordering::Relaxed);
        // At a stop there is no receiver any more; the next start finds the job in the database.
        let _ = self.jobs.send(job);
    }
}
