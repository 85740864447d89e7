//! Deadlines of jobs, which the constraint scheduler keeps: from what a job states, to what the scheduler plans by.

use crate::engine::core::{Engine, PolicyConfig};
use crate::mapreduce::{Job, JobSpec, SplitTable};
use crate::model::JobId;
use crate::scheduler::AppId;
use crate::scheduler::constraint::{AppDeadline, Costs, DeadlineSpec, JobEstimate, TimedWork};

impl Engine {
    /// The deadline of a job that was submitted then; none where no policy keeps it.
    pub(super) fn deadline_of(
        &self,
        spec: &JobSpec,
        splits: &SplitTable,
        submit_ms: i64,
        estimate: &JobEstimate,
    ) -> Option<AppDeadline> {
        self.planned(spec.deadline.as_ref()?, spec, splits, submit_ms, estimate)
    }

    /// The deadline of a job as it is now; none where neither the policy nor an order keeps it.
    pub(super) fn deadline_now(&self, job: &Job) -> Option<AppDeadline> {
        if let Some(market) = self.ruling_market() {
            let order = market.order(job.spec.payer()?, job.id)?;
            return Some(AppDeadline { due_us: order.deadline_ms.saturating_mul(1_000), ..AppDeadline::default() });
        }
        let plan = job.changed_deadline.as_ref().and_then(|tested| tested.plan);
        let deadline = self.planned(job.deadline()?, &job.spec, &job.splits, job.submit_ms, &job.estimate)?;
        Some(AppDeadline { plan, ..deadline })
    }

    pub(super) fn planned(
        &self,
        deadline: &DeadlineSpec,
        spec: &JobSpec,
        splits: &SplitTable,
        submit_ms: i64,
        estimate: &JobEstimate,
    ) -> Option<AppDeadline> {
        let PolicyConfig::Constraint(config) = &self.config.policy else { return None };
        let believed = estimate.costs(&config.default_costs);
        let planned = app_deadline(deadline, spec, splits, submit_ms, &believed);
        let work = estimate.slowest_map_us.map_or(planned.work, |us| planned.work.with_maps_of(us));
        Some(AppDeadline { work, ..planned })
    }

    /// What admission is asked of a job that is submitted now.
    pub(super) fn timed_work(&self, spec: &JobSpec, splits: &SplitTable, submit_ms: i64) -> Option<TimedWork> {
        let AppDeadline { due_us, work, .. } = self.deadline_of(spec, splits, submit_ms, &self.estimate(spec))?;
        let arrival_us = submit_ms.saturating_mul(1_000);
        Some(TimedWork { work, arrival_us, now_us: arrival_us, deadline_us: due_us })
    }

    /// Sets the deadlines of all unfinished jobs by the configuration of the policy, which is new.
    pub(super) fn renew_deadlines(&mut self) {
        self.estimate_all();
        let jobs = self.jobs.iter().filter(|job| !job.is_over());
        let deadlines: Vec<(AppId, Option<AppDeadline>)> = jobs.map(|job| (job.app, self.deadline_now(job))).collect();
        for (app, deadline) in deadlines {
            self.cluster.scheduler.set_deadline(app, deadline);
        }
    }

    /// Sets the deadline of a job, which has changed.
    pub(super) fn renew_deadline(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let deadline = self.deadline_now(job);
        self.cluster.scheduler.set_deadline(job.app, deadline);
    }
}

/// The deadline of a job that was submitted then, with its work by what is believed of its costs.
pub(super) fn app_deadline(
    deadline: &DeadlineSpec,
    spec: &JobSpec,
    splits: &SplitTable,
    submit_ms: i64,
    believed: &Costs,
) -> AppDeadline {
    let work = deadline.work(splits.volume(), spec.reduces, believed);
    AppDeadline { due_us: deadline.due_us(submit_ms), work, plan: None }
}
