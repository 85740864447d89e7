//! Deadlines of jobs, which the constraint scheduler keeps: from what a job states, to what the scheduler plans by.

use crate::engine::core::Engine;
use crate::engine::state::{Fact, Refusal};
use crate::mapreduce::{Job, JobFact, JobOutcome, JobSpec, SplitTable};
use crate::model::{JobId, Now};
use crate::scheduler::AppId;
use crate::scheduler::constraint::{AppDeadline, Costs, DeadlineSpec, HistoryConfig, JobClass, JobEstimate, TimedWork};

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
        let config = self.config.policy.constraint()?;
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

    /// What is believed of a new job; nothing of one without a deadline.
    pub(super) fn estimate(&self, spec: &JobSpec) -> JobEstimate {
        match (&spec.deadline, self.config.policy.constraint()) {
            (Some(_), Some(config)) => self.estimate_by(&config.history, spec),
            _ => JobEstimate::default(),
        }
    }

    fn estimate_by(&self, config: &HistoryConfig, spec: &JobSpec) -> JobEstimate {
        JobEstimate { history: self.jobs.cost_histories.learned(&job_class(spec), config), ..JobEstimate::default() }
    }

    /// What is believed of an accepted job; if nothing was, what would be now.
    pub(super) fn estimate_now(&self, config: &HistoryConfig, job: &Job) -> JobEstimate {
        if job.estimate == JobEstimate::default() { self.estimate_by(config, &job.spec) } else { job.estimate }
    }

    /// Estimates the jobs that were accepted while nothing was believed.
    pub(super) fn estimate_all(&mut self) {
        let Some(config) = self.config.policy.constraint() else { return };
        let jobs = self.jobs.iter().filter(|job| !job.is_over() && job.deadline().is_some());
        let estimates: Vec<_> = jobs.map(|job| (job.id, self.estimate_now(&config.history, job))).collect();
        for (id, estimate) in estimates {
            self.set_estimate(id, estimate);
        }
    }

    /// Believes something else of a job.
    pub(super) fn set_estimate(&mut self, id: JobId, estimate: JobEstimate) {
        let Some(job) = self.jobs.get_mut(id).filter(|job| job.estimate != estimate) else { return };
        job.estimate = estimate;
        job.last_fact = self.outbox.record(Fact::Job(JobFact::Estimated { job: id, estimate }));
    }

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
        let is_of_use = self.config.policy.constraint().is_some() || job.deadline().is_some();
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

    /// Whether a job that was held can keep its deadline still, beside what was promised to others meanwhile: held, it was
    /// promised nothing.
    ///
    /// # Errors
    /// It cannot; what can be done.
    pub(super) fn check_released_deadline(&self, id: JobId, now: Now) -> Result<(), Refusal> {
        let (Some(job), Some(config)) = (self.jobs.get(id), self.config.policy.constraint()) else {
            return Ok(());
        };
        let Some(spec) = job.deadline() else { return Ok(()) };
        let estimate = self.estimate_now(&config.history, job);
        let planned = self.planned(spec, &job.spec, &job.splits, job.submit_ms, &estimate);
        let Some(planned) = planned else { return Ok(()) };
        let checked = self.cluster.scheduler.check_deadline(job.app, &job.id.to_string(), &planned, now);
        checked.map(drop).map_err(|refusal| {
            Refusal::Invalid(format!(
                "{refusal}; before it is released, give it another deadline or none: jobtracker job deadline {id}"
            ))
        })
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

/// The jobs whose costs are like those of the job.
pub(super) fn job_class(spec: &JobSpec) -> JobClass {
    JobClass::new(&spec.user, &spec.name, &spec.code)
}
