//! The jobs of one user in a queue.

use std::collections::BTreeMap;

use super::{JobLimits, JobRank, StageCounts};

/// The jobs of one user in a queue.
#[derive(Debug, Default)]
pub(super) struct UserJobs {
    pub(super) counts: StageCounts,
    /// Maps and reduces of initialising and running jobs that are neither stuck nor paused.
    pub(super) active_tasks: u64,
    /// Initialising and running jobs that are stuck or paused.
    pub(super) stuck: u64,
    /// Waiting jobs with the tasks that limits will count, without paused ones.
    pub(super) waiting: BTreeMap<JobRank, u64>,
    /// The user's entry among the queue's candidates.
    pub(super) candidate: Option<JobRank>,
}

impl UserJobs {
    /// The user's first waiting job, if the user's limits let it begin. A later job never overtakes it.
    pub(super) fn first_permitted(&self, limits: &JobLimits) -> Option<JobRank> {
        let (&rank, &tasks) = self.waiting.first_key_value()?;
        let has_room = self.places_taken() < limits.initialized_per_user
            && is_within(self.active_tasks, tasks, limits.active_tasks_per_user);
        has_room.then_some(rank)
    }

    /// Jobs that have begun, without those that are stuck or paused.
    pub(super) fn places_taken(&self) -> u64 {
        self.counts.initialized().saturating_sub(self.stuck)
    }
}

/// Whether `active` tasks and `more` stay within a limit that may be negative.
pub(super) fn is_within(active: u64, more: u64, limit: i64) -> bool {
    u64::try_from(limit).is_ok_and(|limit| active.saturating_add(more) <= limit)
}
