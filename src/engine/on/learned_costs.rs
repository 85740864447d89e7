//! Costs that are learned: what jobs of a class have cost, and what the first maps of a job do.

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Fact;
use crate::mapreduce::JobOutcome;
use crate::model::JobId;
use crate::scheduler::constraint::JobEstimate;

use super::estimates::job_class;

// === impl Engine: learned costs ===

impl Engine {
    /// A map of a job with a deadline is done: if nothing else says what its maps cost, the first of them do.
    pub(super) fn learn_from_first_maps(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let Some(stated) = job.deadline().filter(|_| !job.is_over()) else { return };
        if !job.estimate.awaits_first_maps(stated) {
            return;
        }
        let Some(us_per_mb) = job.first_maps_us_per_mb() else { return };
        let estimate = JobEstimate { first_maps_us_per_mb: Some(us_per_mb), ..job.estimate };
        self.set_estimate(id, estimate);
        self.renew_deadline(id);
    }

    /// Learns from a job that has ended, where deadlines are kept or the job has one.
    pub(super) fn learn_from_job(&mut self, id: JobId, outcome: JobOutcome) {
        let Some(job) = self.jobs.get(id) else { return };
        let is_of_use = matches!(self.config.policy, PolicyConfig::Constraint(_)) || job.deadline().is_some();
        let costs = job.known_costs();
        if outcome != JobOutcome::Succeeded || !is_of_use || costs.is_empty() {
            return;
        }
        let costs = self.jobs.cost_histories.add(job_class(&job.spec), costs, job.finish_ms);
        self.outbox.record(Fact::CostsLearned(costs));
        if let Some(class) = self.jobs.cost_histories.forget_oldest() {
            self.outbox.record(Fact::CostsForgotten(class));
        }
    }
}
