//! Finished jobs: pending KILL_JOBs, and tasks that stay in memory.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::model::JobId;

/// Trackers that have not acknowledged KILL_JOB of a completed job.
#[derive(Debug, Default)]
pub(super) struct PendingKillJob {
    pub(super) trackers: BTreeSet<Arc<str>>,
    /// Forget the job once all have acknowledged.
    pub(super) forget_when_acknowledged: bool,
}

/// Finished jobs with tasks in memory, oldest first.
#[derive(Debug, Default)]
pub(super) struct RetainedJobs {
    pub(super) jobs: VecDeque<(JobId, u64)>,
    /// Their tasks, by [`Limits::weight`](super::limits::Limits::weight).
    pub(super) tasks: u64,
    /// When to retire next, while there are too many; ms of the monotonic clock.
    pub(super) due_mono_ms: Option<u64>,
}

// === impl PendingKillJob ===

impl PendingKillJob {
    /// Adds a tracker that must acknowledge.
    pub(super) fn add(&mut self, tracker: &Arc<str>) {
        self.trackers.insert(tracker.clone());
    }
}

// === impl RetainedJobs ===

impl RetainedJobs {
    /// When retirement is due, ms of the monotonic clock.
    pub(super) fn due_mono_ms(&self) -> Option<u64> {
        self.due_mono_ms
    }
}
