//! Deadlines of jobs, which the constraint scheduler keeps: from what a job states, to what the scheduler plans by.

use std::sync::Arc;

use crate::engine::core::{Engine, JobOperation, PolicyConfig, Reply, Wait};
use crate::engine::state::{Caller, Refusal};
use crate::mapreduce::{Job, JobFact, JobOutcome, JobSpec, SplitTable};
use crate::model::{JobId, Kind, Now, PerKind};
use crate::scheduler::AppId;
use crate::scheduler::constraint::{
    AppDeadline, ChangedDeadline, ConstraintConfig, DeadlineChange, DeadlineSpec, NewDeadline, TimedWork,
    UnfinishedJob, find_at_risk,
};

// === impl Engine: deadlines ===

impl Engine {
    /// The deadline of a job that was submitted then; none where no policy keeps it.
    pub(super) fn deadline_of(&self, spec: &JobSpec, splits: &SplitTable, submit_ms: i64) -> Option<AppDeadline> {
        self.planned(spec.deadline.as_ref()?, spec, splits, submit_ms)
    }

    /// The deadline of a job as it is now; none where no policy keeps it.
    fn deadline_now(&self, job: &Job) -> Option<AppDeadline> {
        let maps = job.changed_deadline.as_ref().and_then(|changed| changed.maps);
        let deadline = self.planned(job.deadline()?, &job.spec, &job.splits, job.submit_ms)?;
        Some(AppDeadline { maps, ..deadline })
    }

    fn planned(
        &self,
        deadline: &DeadlineSpec,
        spec: &JobSpec,
        splits: &SplitTable,
        submit_ms: i64,
    ) -> Option<AppDeadline> {
        let PolicyConfig::Constraint(config) = &self.config.policy else { return None };
        Some(app_deadline(config, deadline, spec, splits, submit_ms))
    }

    /// The jobs whose deadlines a policy that takes over now does not keep, by id.
    pub(super) fn at_risk_under(&self, policy: &PolicyConfig, now: Now) -> Vec<JobId> {
        let PolicyConfig::Constraint(config) = policy else { return Vec::new() };
        let scheduler = &self.cluster.scheduler;
        let totals = scheduler.totals();
        let mut others = totals.held;
        let mut jobs = Vec::new();
        for job in self.unfinished_jobs() {
            let Some(deadline) = job.deadline() else { continue };
            let held = scheduler.app_usage(job.app);
            Kind::ALL.into_iter().for_each(|kind| others[kind] = others[kind].saturating_sub(held[kind].into()));
            let (total, finished) = (job.total(), job.finished());
            let left = |kind: Kind| total[kind].saturating_sub(finished[kind]);
            jobs.push(UnfinishedJob {
                app: job.app,
                deadline: app_deadline(config, deadline, &job.spec, &job.splits, job.submit_ms),
                arrival_us: job.submit_ms.saturating_mul(1_000),
                left: match job.has_begun() {
                    true => PerKind::new(left(Kind::Map), left(Kind::Reduce)),
                    false => PerKind::new(job.spec.maps, job.spec.reduces),
                },
                held,
            });
        }
        let at_risk = find_at_risk(jobs, config.model, totals.slots, others, now.wall_ms.saturating_mul(1_000));
        let mut ids: Vec<JobId> =
            at_risk.into_iter().filter_map(|app| self.jobs.by_app(app).map(|job| job.id)).collect();
        ids.sort_unstable();
        ids
    }

    /// What admission is asked of a job that is submitted now.
    pub(super) fn timed_work(&self, spec: &JobSpec, splits: &SplitTable, submit_ms: i64) -> Option<TimedWork> {
        let AppDeadline { due_us, work, .. } = self.deadline_of(spec, splits, submit_ms)?;
        let arrival_us = submit_ms.saturating_mul(1_000);
        Some(TimedWork { work, arrival_us, now_us: arrival_us, deadline_us: due_us })
    }

    /// Sets the deadlines of all unfinished jobs by the configuration of the policy, which is new.
    pub(super) fn renew_deadlines(&mut self) {
        let jobs = self.jobs.iter().filter(|job| !job.is_over() && job.deadline().is_some());
        let deadlines: Vec<(AppId, Option<AppDeadline>)> = jobs.map(|job| (job.app, self.deadline_now(job))).collect();
        for (app, deadline) in deadlines {
            self.cluster.scheduler.set_deadline(app, deadline);
        }
    }

    /// Sets the deadline of a job, which was changed before a restart.
    pub(super) fn renew_deadline(&mut self, job: &Job) {
        let deadline = self.deadline_now(job);
        self.cluster.scheduler.set_deadline(job.app, deadline);
    }

    /// Changes a deadline. One that cannot be kept changes nothing.
    pub(super) fn set_deadline(
        &mut self,
        id: JobId,
        change: DeadlineChange,
        caller: &Caller,
        now: Now,
    ) -> (Reply, Wait) {
        match self.change_deadline(id, change, caller, now) {
            Ok(()) => (Reply::Done, Wait::All),
            Err(refusal) => (Reply::Refused(refusal), Wait::Nothing),
        }
    }

    fn change_deadline(&mut self, id: JobId, change: DeadlineChange, caller: &Caller, now: Now) -> Result<(), Refusal> {
        let invalid = |text: String| Err(Refusal::Invalid(text));
        let Some(job) = self.jobs.get(id) else { return invalid(format!("there is no job {id}")) };
        self.check_job_access(job, caller, JobOperation::SetDeadline)?;
        if job.is_over() {
            return invalid(format!("{id} has ended"));
        }
        if !matches!(self.config.policy, PolicyConfig::Constraint(_)) {
            return invalid("deadlines are kept under the constraint scheduler only".to_owned());
        }
        let changed = match change {
            DeadlineChange::Clear => ChangedDeadline { spec: None, maps: None },
            DeadlineChange::Set(deadline) => self.promised(job, deadline, now)?,
        };
        let changed = Arc::new(changed);
        let Some(job) = self.jobs.get_mut(id) else { return Ok(()) };
        job.changed_deadline = Some(Arc::clone(&changed));
        let app = job.app;
        let deadline = self.jobs.get(id).and_then(|job| self.deadline_now(job));
        self.cluster.scheduler.set_deadline(app, deadline);
        self.outbox.job_facts.push(JobFact::DeadlineSet { job: id, deadline: changed });
        self.record_job_facts();
        self.tick_policy(now);
        Ok(())
    }

    /// A new deadline with what the cluster promises to keep it.
    fn promised(&self, job: &Job, deadline: NewDeadline, now: Now) -> Result<ChangedDeadline, Refusal> {
        let spec = deadline.over(job.deadline(), now.wall_ms);
        let Some(planned) = self.planned(&spec, &job.spec, &job.splits, job.submit_ms) else {
            return Ok(ChangedDeadline { spec: Some(spec), maps: None });
        };
        let checked = self.cluster.scheduler.check_deadline(job.app, &job.id.to_string(), &planned, now);
        let maps = checked.map_err(|refusal| Refusal::Invalid(refusal.to_string()))?;
        Ok(ChangedDeadline { spec: Some(spec), maps: Some(maps) })
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

/// The deadline of a job that was submitted then, with its work by these costs.
fn app_deadline(
    config: &ConstraintConfig,
    deadline: &DeadlineSpec,
    spec: &JobSpec,
    splits: &SplitTable,
    submit_ms: i64,
) -> AppDeadline {
    let bytes = |length_bytes: i64| u64::try_from(length_bytes).unwrap_or(0);
    let splits: Vec<u64> = splits.splits().iter().map(|split| bytes(split.length_bytes)).collect();
    let work = deadline.work(&splits, spec.reduces, &config.default_costs);
    AppDeadline { due_us: deadline.due_us(submit_ms), work, maps: None }
}
