//! What the daemon counts of its own work, for metrics.

use crate::latency::LatencyCounts;

/// What the threads of a daemon have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnWork {
    /// Times from the frames of heartbeats to their answers.
    pub(crate) heartbeats: LatencyCounts,
    /// Times of commits to `state.db`.
    pub(crate) commits: LatencyCounts,
    /// Facts that are not durable yet.
    pub(crate) facts_waiting: u64,
    /// Reloads of the configuration that changed what they say.
    pub(crate) reloads_done: u64,
    /// Reloads that changed nothing: something was wrong.
    pub(crate) reloads_failed: u64,
    /// What is limited, as far as it is used.
    pub(crate) limits: Vec<UsedLimit>,
    /// Most tasks of unfinished jobs; none: as many as there are.
    pub(crate) max_tasks: Option<u64>,
}

/// How far a limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedLimit {
    /// Of what.
    pub(crate) name: &'static str,
    /// How much there is.
    pub(crate) used: u64,
    /// How much there may be.
    pub(crate) most: u64,
}

impl UsedLimit {
    /// How full it is; 1: no more of it.
    pub(super) fn ratio(self) -> f64 {
        self.used as f64 / self.most.max(1) as f64
    }
}
