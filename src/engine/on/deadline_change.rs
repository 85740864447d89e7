//! Another deadline for a job that was accepted before: tested as that of a new job, on what is left of it.

use std::sync::Arc;

use crate::engine::core::{Engine, JobOperation, Reply, Wait};
use crate::engine::state::{Caller, Refusal};
use crate::mapreduce::{Job, JobFact};
use crate::model::{JobId, Now};
use crate::scheduler::constraint::{ChangedDeadline, DeadlineChange, JobEstimate, NewDeadline};

impl Engine {
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
        let Some(config) = self.config.policy.constraint() else {
            return invalid(self.why_no_deadline_is_kept(job));
        };
        let estimate = self.estimate_now(&config.history, job);
        let changed = match change {
            DeadlineChange::Clear => ChangedDeadline { spec: None, plan: None },
            DeadlineChange::Set(deadline) => self.promised(job, deadline, &estimate, now)?,
        };
        let changed = Arc::new(changed);
        if changed.spec.is_some() {
            self.set_estimate(id, estimate);
        }
        let Some(job) = self.jobs.get_mut(id) else { return Ok(()) };
        job.changed_deadline = Some(Arc::clone(&changed));
        self.renew_deadline(id);
        self.outbox.job_facts.push(JobFact::DeadlineSet { job: id, deadline: changed, at_ms: now.wall_ms });
        self.record_job_facts();
        self.tick_policy(now);
        Ok(())
    }

    fn why_no_deadline_is_kept(&self, job: &Job) -> String {
        let id = job.id;
        match self.order_status(job) {
            Some(_) => format!(
                "an order of the market keeps the deadline of {id}: send a signed request, bid={id}&deadline=MS&maxRate=RATE, to change it, or unbid={id} to withdraw it"
            ),
            None if self.ruling_market().is_some() => format!(
                "deadlines are kept under the constraint scheduler only: under the market an order buys one, by the signed request bid={id}&deadline=MS&maxRate=RATE"
            ),
            None => "deadlines are kept under the constraint scheduler only".to_owned(),
        }
    }

    /// A new deadline with what the cluster promises to keep it.
    fn promised(
        &self,
        job: &Job,
        deadline: NewDeadline,
        estimate: &JobEstimate,
        now: Now,
    ) -> Result<ChangedDeadline, Refusal> {
        let spec = deadline.over(job.deadline(), now.wall_ms);
        let Some(planned) = self.planned(&spec, &job.spec, &job.splits, job.submit_ms, estimate) else {
            return Ok(ChangedDeadline { spec: Some(spec), plan: None });
        };
        let checked = self.cluster.scheduler.check_deadline(job.app, &job.id.to_string(), &planned, now);
        let plan = checked.map_err(|refusal| Refusal::Invalid(refusal.to_string()))?;
        Ok(ChangedDeadline { spec: Some(spec), plan })
    }
}
