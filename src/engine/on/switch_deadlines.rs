//! Deadlines that a switch of the scheduler would not keep.

use crate::engine::core::{Engine, PolicyConfig};
use crate::model::{JobId, Kind, Now, PerKind};
use crate::scheduler::constraint::{UnfinishedJob, find_at_risk};

use super::deadlines::app_deadline;

impl Engine {
    /// The jobs whose deadlines a policy that takes over now does not keep, by id.
    pub(super) fn at_risk_under(&self, policy: &PolicyConfig, now: Now) -> Vec<JobId> {
        let PolicyConfig::Constraint(config) = policy else { return Vec::new() };
        let scheduler = &self.cluster.scheduler;
        let totals = scheduler.totals();
        let mut others = totals.held.slots();
        let mut jobs = Vec::new();
        for job in self.jobs.iter().filter(|job| !job.is_over()) {
            let Some(deadline) = job.deadline() else { continue };
            let believed = self.estimate_now(&config.history, job).costs(&config.default_costs);
            let held = scheduler.app_usage(job.app);
            Kind::ALL.into_iter().for_each(|kind| others[kind] = others[kind].saturating_sub(held[kind].into()));
            let (total, finished) = (job.total(), job.finished());
            let left = |kind: Kind| total[kind].saturating_sub(finished[kind]);
            jobs.push(UnfinishedJob {
                app: job.app,
                deadline: app_deadline(deadline, &job.spec, &job.splits, job.submit_ms, &believed),
                arrival_us: job.submit_ms.saturating_mul(1_000),
                left: match job.has_begun() {
                    true => PerKind::new(left(Kind::Map), left(Kind::Reduce)),
                    false => PerKind::new(job.spec.maps, job.spec.reduces),
                },
                held,
            });
        }
        let at_risk =
            find_at_risk(jobs, (config.model, config.slots), totals.slots, others, now.wall_ms.saturating_mul(1_000));
        let mut ids: Vec<JobId> =
            at_risk.into_iter().filter_map(|app| self.jobs.by_app(app).map(|job| job.id)).collect();
        ids.sort_unstable();
        ids
    }
}
