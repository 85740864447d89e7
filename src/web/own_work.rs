//! What the daemon counts of its own work, for metrics.

use crate::latency::LatencyCounts;

/// What the threads of a daemon have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnWork {
    /// Times from the frames of heartbeats to their answers.
    pub heartbeats: LatencyCounts,
    /// Times of commits to `state.db`.
    pub commits: LatencyCounts,
    /// Facts that are not durable yet.
    pub facts_waiting: u64,
    /// Reloads of the configuration that changed what they say.
    pub reloads_done: u64,
    /// Reloads that changed nothing: something was wrong.
    pub reloads_failed: u64,
    /// What is limited, as far as it is used.
    pub limits: Vec<UsedLimit>,
    /// Most tasks of unfinished jobs; none: as many as there are.
    pub max_tasks: Option<u64>,
}

/// How far a limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedLimit {
    /// Of what.
    pub name: &'static str,
    /// How much there is.
    pub used: u64,
    /// How much there may be.
    pub most: u64,
}

// === impl UsedLimit ===

impl UsedLimit {
    /// How full it is; 1: no more of it.
    pub(super) fn ratio(self) -> f64 {
        self.used as f64 / self.most.max(1) as f64
    }
}
