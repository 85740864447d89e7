//! Retirement of finished jobs: beyond a limit, the oldest ones keep their tasks in the store alone.

use crate::engine::core::Engine;
use crate::model::{FactNumber, Now};

impl Engine {
    /// Drops tasks of finished jobs whose end is durable and that have no pending KILL_JOB.
    pub(super) fn retire_when_due(&mut self, durable: FactNumber, now: Now) {
        let (interner, limits) = (&mut self.cluster.interner, &self.cluster.counter_limits);
        let most = self.config.limits.max_finished_tasks;
        let violations = &mut self.outbox.violations;
        self.jobs.retire_when_due(most, durable, now, violations, |job| job.retire_tasks(interner, limits));
    }
}
