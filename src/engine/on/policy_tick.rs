//! A tick of the policy: what it decides by follows the clock and the cluster, and jobs that missed their deadlines end.

use crate::engine::core::Engine;
use crate::mapreduce::JobOutcome;
use crate::model::{JobId, Now};

impl Engine {
    /// Renews what the policy decides by. Its waits follow the interval between the heartbeats of a busy cluster, since
    /// only tasks that wait need them.
    pub(super) fn tick_policy(&mut self, now: Now) {
        let interval_ms = self.config.heartbeat.interval_ms(self.trackers.len(), false);
        self.cluster.scheduler.set_heartbeat_interval_ms(u64::try_from(interval_ms).unwrap_or(0));
        self.cluster.scheduler.tick(now);
    }

    /// Kills the jobs that missed their deadlines, where the policy wants that.
    pub(super) fn kill_missed_jobs(&mut self, now: Now) {
        let missed: Vec<JobId> = self
            .cluster
            .scheduler
            .take_missed()
            .into_iter()
            .filter_map(|app| self.jobs.by_app(app).map(|job| job.id))
            .collect();
        for id in missed {
            let Some(job) = self.jobs.get_mut(id) else { continue };
            let reason = format!("Job {id} missed its deadline (mapred.constraint-scheduler.on-missed = kill)");
            job.decide_end(JobOutcome::Killed, reason, &mut self.cluster.job_context(&mut self.outbox, now));
            self.record_job_facts();
        }
    }
}
