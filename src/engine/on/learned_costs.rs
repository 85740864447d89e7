//! Costs that are learned: what jobs of a class have cost, and what the first maps of a job do.

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Fact;
use crate::mapreduce::JobOutcome;
use crate::model::JobId;
use crate::scheduler::constraint::JobEstimate;

use super::estimates::job_class;

impl Engine {
    /// A map of a job with a deadline is done: if nothing else says what its maps cost, the first of them do.
    pub(super) fn learn_from_first_maps(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let Some(stated) = job.deadline().filter(|_| !job.is_over()) else { return };
        let is_over = self.cluster.scheduler.is_promise_over(job.app);
        let awaits_first = job.estimate.awaits_first_maps(stated);
        let estimate = JobEstimate {
            first_maps_us_per_mb: match awaits_first {
                true => job.first_maps_us_per_mb(),
                false => job.estimate.first_maps_us_per_mb,
            },
            // Whatever it stated: others count on the slots that it holds.
            slowest_map_us: match is_over {
                true => job.slowest_map_us().max(job.estimate.slowest_map_us),
                false => job.estimate.slowest_map_us,
            },
            ..job.estimate
        };
        if estimate != job.estimate {
            self.set_estimate(id, estimate);
            self.renew_deadline(id);
        }
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
