//! Jobs that missed their deadlines, where the policy kills them.

use crate::engine::core::Engine;
use crate::mapreduce::JobOutcome;
use crate::model::{JobId, Now};

impl Engine {
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
