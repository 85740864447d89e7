//! Attempt numbers of jobs with attempts that this state does not know: launched by another JobTracker, or after the
//! moment of a restored copy. Numbers that may have been used are never used again.

use crate::model::AttemptId;

use super::job::Job;
use super::{HousekeepingQueue, JobFact, StoredJob};

/// Attempt numbers are skipped in blocks of a thousand: more than any task has attempts
/// ([`Task::MAX_ATTEMPTS`](super::Task::MAX_ATTEMPTS)), and what 1.2.1 meant to do at each of its own restarts.
pub(crate) const ATTEMPT_BLOCK_SIZE: i32 = 1_000;

/// The first number of the block after the one that contains `number`.
pub(crate) fn next_attempt_block(number: i32) -> i32 {
    (number.max(0) / ATTEMPT_BLOCK_SIZE).saturating_add(1).saturating_mul(ATTEMPT_BLOCK_SIZE)
}

impl Job {
    /// Whether another JobTracker, or a later state, may have launched attempts of it.
    pub(crate) fn has_foreign_attempts(&self) -> bool {
        self.first_attempt > 0
    }

    /// Attempts of it that trackers run and that this JobTracker has not launched.
    pub(crate) fn unknown_attempts(&self) -> u32 {
        self.unknown_attempts
    }

    /// Sets that number. The job is not set up while it is above zero: the cleanup of an unknown attempt would remove
    /// the output of new ones.
    pub(crate) fn set_unknown_attempts(&mut self, unknown_attempts: u32, housekeeping: &mut HousekeepingQueue) {
        self.unknown_attempts = unknown_attempts;
        self.refresh_housekeeping(housekeeping);
    }

    /// Numbers new attempts above an unknown one. Returns the fact, if that changes anything.
    pub(crate) fn reserve_numbers_above(&mut self, unknown: AttemptId) -> Option<JobFact> {
        let key = self.key_of(unknown.task)?;
        if unknown.number < self.first_attempt.max(self.task(key).next_number()) {
            return None;
        }
        self.first_attempt = next_attempt_block(unknown.number);
        Some(JobFact::AttemptBlockSkipped { job: self.id, first_attempt: self.first_attempt })
    }
}

impl StoredJob {
    /// Discards all progress; only a decided end remains.
    pub(crate) fn discard_progress(&mut self) {
        self.skip_attempt_block();
        self.is_running = false;
        self.attempts.clear();
        self.events.clear();
    }

    /// Numbers new attempts above all that may have been launched.
    pub(crate) fn skip_attempt_block(&mut self) {
        let highest = self.attempts.iter().map(|attempt| attempt.id.number).max().unwrap_or(0);
        self.accepted.first_attempt = next_attempt_block(highest.max(self.accepted.first_attempt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_blocks_follow_each_other() {
        assert_eq!(
            [0, 7, 999, 1_000, 1_999, i32::MIN].map(next_attempt_block),
            [1_000, 1_000, 1_000, 2_000, 2_000, 1_000]
        );
        assert_eq!(next_attempt_block(i32::MAX), i32::MAX, "there is none");
    }
}
