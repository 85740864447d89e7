//! Changes of jobs by their users: calls by RPC (1.2.1 `JobTracker.killJob`, `killTask`, `setJobPriority`), signed requests
//! for the same, and another deadline, tested as that of a new job, on what is left of it.

use std::sync::Arc;

use crate::engine::core::{Engine, Handled, JobOperation, Reply, Wait, deadline_change};
use crate::engine::state::{Caller, Fact, LogLevel, Refusal};
use crate::mapreduce::{Job, JobFact, JobOutcome};
use crate::market::{
    Answer, Denial, JobAnswer, JobRequest, JobRequestError, MarketError, Operation, Role, ServletRequest,
};
use crate::model::{AttemptId, JobId, Now, Priority};
use crate::scheduler::constraint::{ChangedDeadline, DeadlineChange, JobEstimate, NewDeadline};
use crate::wire::limits::excerpt;

impl Engine {
    /// Performs a signed request; `groups`: those of the signer, which the lists of jobs and queues may name.
    pub(super) fn on_job_request(&mut self, request: ServletRequest, groups: Arc<[String]>, now: Now) -> (Reply, Wait) {
        let Some(market) = &mut self.market else { return (Reply::Done, Wait::Nothing) };
        let user = request.verified.as_ref().map_or("", |signer| signer.user.as_str());
        let has_admin_role = request.verified.as_ref().is_some_and(|signer| signer.role == Role::Admin);
        let caller = Caller { groups, has_admin_role, ..Caller::named(user) };
        let raw = request.query.raw.clone();
        let handled = market.accounts.handle_request(request, now, |_| false);
        for fact in handled.facts {
            self.outbox.record(Fact::Market(fact));
        }
        let answer = handled.answer.and_then(|answer| match answer {
            Answer::Permitted(Operation::OfJob(operation)) => {
                self.perform_job_operation(operation, &caller, now).map_err(|refusal| match refusal {
                    JobRefusal::NotAllowed(text) => {
                        MarketError::Denied { query: raw, reason: Some((Denial::OfJob(text), now.wall_ms)) }
                    }
                    JobRefusal::Other(error) => error.into(),
                })
            }
            answer => Ok(answer),
        });
        // The stamp is used, whatever the answer is.
        (Reply::Market(answer), Wait::All)
    }

    /// Refuses a caller that may not see the logs of the attempt's job.
    ///
    /// # Errors
    /// The job is not in memory, or its lists do not name the caller.
    pub(crate) fn check_view_logs(&self, attempt: AttemptId, caller: &Caller) -> Result<(), Refusal> {
        let job = attempt.task.job;
        if self.jobs.get(job).is_none() {
            return Err(Refusal::Invalid(JobRequestError::UnknownJob(job).to_string()));
        }
        self.check_view_details(job, caller)
    }

    fn perform_job_operation(
        &mut self,
        operation: JobRequest,
        caller: &Caller,
        now: Now,
    ) -> Result<Answer, JobRefusal> {
        match operation {
            JobRequest::Kill(id) => {
                self.known(id)?;
                self.kill_job(id, caller, now)?;
                self.job_answer(id, None)
            }
            JobRequest::KillTask { attempt, should_fail } => {
                let id = attempt.task.job;
                self.known(id)?;
                let job = self.jobs.get(id);
                let is_known = job.is_some_and(|job| {
                    job.key_of(attempt.task).is_some_and(|key| job.attempt(key, attempt.number).is_some())
                });
                let (reply, _) = self.kill_task(attempt, should_fail, caller)?;
                if !matches!(reply, Reply::Boolean(true)) {
                    let error = if is_known { JobRequestError::NotRunning } else { JobRequestError::UnknownAttempt };
                    return Err(error(attempt).into());
                }
                self.job_answer(id, Some(attempt))
            }
            JobRequest::SetPriority { job, priority } => {
                self.known(job)?;
                self.set_job_priority(job, &priority, caller)?;
                self.job_answer(job, None)
            }
            JobRequest::Hold { job, is_on } => {
                self.known(job)?;
                self.hold_job(job, is_on, caller, now)?;
                self.job_answer(job, None)
            }
            JobRequest::SetDeadline { job, fields } => {
                self.known(job)?;
                let refused = |error: String| JobRequestError::Refused(error.replace("setDeadline", "deadline"));
                let change = deadline_change(&fields).map_err(refused)?;
                self.set_deadline(job, change, caller, now)?;
                self.job_answer(job, None)
            }
            JobRequest::LogTicket(attempt) => {
                self.known(attempt.task.job)?;
                self.check_view_details(attempt.task.job, caller)?;
                Ok(Answer::Permitted(Operation::OfJob(operation)))
            }
        }
    }

    fn known(&self, id: JobId) -> Result<(), JobRequestError> {
        self.jobs.get(id).map(drop).ok_or(JobRequestError::UnknownJob(id))
    }

    fn job_answer(&self, id: JobId, attempt: Option<AttemptId>) -> Result<Answer, JobRefusal> {
        let job = self.jobs.get(id).ok_or(JobRequestError::UnknownJob(id))?;
        let (is_ending, priority) = (job.is_over_or_ending(), job.priority.name());
        Ok(Answer::Job(JobAnswer { job: id, attempt, state: job.reported_state().name(), is_ending, priority }))
    }

    pub(super) fn kill_job(&mut self, id: JobId, caller: &Caller, now: Now) -> Handled {
        self.check_safe_mode()?;
        // An unknown job is ignored, as in 1.2.1.
        let Some(job) = self.jobs.get(id) else { return Ok((Reply::Done, Wait::Nothing)) };
        self.check_job_access(job, caller, JobOperation::KillJob)?;
        let Some(job) = self.jobs.get_mut(id) else { return Ok((Reply::Done, Wait::Nothing)) };
        let by = if caller.user.is_empty() { "a request that named no user" } else { &*caller.user };
        let reason = format!("Job {id} was killed by {by}");
        job.decide_end(JobOutcome::Killed, reason, &mut self.cluster.job_context(&mut self.outbox, now));
        self.record_job_facts();
        Ok((Reply::Done, Wait::All))
    }

    /// Ignores a `killJob` that a client sends without its user's intention: the stock streaming tool sends one when
    /// its polling connection breaks. After `hold_client_kills_ms` no client is still reconnecting, so the kill is
    /// intended.
    pub(super) fn kill_job_as_first_call(&mut self, id: JobId, caller: &Caller, now: Now) -> Handled {
        let is_early = now.mono_ms - self.run.start.mono_ms < self.config.hold_client_kills_ms;
        let is_automatic = is_early
            && id.identifier != self.config.identifier
            && self.jobs.get(id).is_some_and(|job| !job.is_over() && *job.spec.user == *caller.user);
        if !is_automatic {
            return self.kill_job(id, caller, now);
        }
        self.outbox.log_line(
            LogLevel::Warning,
            format!(
                "ignored killJob of {id}: its user {} sent it as the first call of a new connection, as a client does that \
                 lost its connection in the restart (jobtracker.restart.hold-client-kills-ms); a second killJob is executed",
                caller.user
            ),
        );
        // The client sees the difference only in the status of the job.
        Ok((Reply::Done, Wait::Nothing))
    }

    pub(super) fn kill_task(&mut self, id: AttemptId, fail: bool, caller: &Caller) -> Handled {
        self.check_safe_mode()?;
        const NOT_KILLED: (Reply, Wait) = (Reply::Boolean(false), Wait::Nothing);
        // 1.2.1 forgets the attempts of a completed job: access does not matter then.
        let Some(job) = self.jobs.get(id.task.job).filter(|job| !job.is_over()) else { return Ok(NOT_KILLED) };
        let Some(key) = job.key_of(id.task) else { return Ok(NOT_KILLED) };
        if job.attempt(key, id.number).is_none() {
            return Ok(NOT_KILLED);
        }
        let operation = if fail { JobOperation::FailTask } else { JobOperation::KillTask };
        self.check_job_access(job, caller, operation)?;
        let Some(job) = self.jobs.get_mut(id.task.job) else { return Ok(NOT_KILLED) };
        let is_killed = job.request_kill(key, id.number, fail, &mut self.cluster.scheduler, &mut self.outbox.job_facts);
        Ok((Reply::Boolean(is_killed), if is_killed { Wait::All } else { Wait::Nothing }))
    }

    pub(super) fn set_job_priority(&mut self, id: JobId, priority: &str, caller: &Caller) -> Handled {
        // The order of 1.2.1: an unknown job is ignored first, then an unknown priority refused, then access checked.
        let Some(job) = self.jobs.get(id) else { return Ok((Reply::Done, Wait::Nothing)) };
        let Some(priority) = Priority::from_name(priority) else {
            // The text of Java's Enum.valueOf, which 1.2.1 clients print.
            let text = format!("No enum constant org.apache.hadoop.mapred.JobPriority.{priority}");
            return Err(Refusal::IllegalArgument(text));
        };
        self.check_job_access(job, caller, JobOperation::SetJobPriority)?;
        let Some(job) = self.jobs.get_mut(id) else { return Ok((Reply::Done, Wait::Nothing)) };
        if job.priority != priority {
            job.priority = priority;
            // For a completed job this only changes what lists show.
            if !job.is_over() {
                self.cluster.scheduler.set_priority(job.app, priority as u8);
            }
            self.outbox.job_facts.push(JobFact::Priority { job: id, priority });
            self.record_job_facts();
        }
        Ok((Reply::Done, Wait::All))
    }

    /// Changes a deadline. One that cannot be kept changes nothing.
    pub(super) fn set_deadline(&mut self, id: JobId, change: DeadlineChange, caller: &Caller, now: Now) -> Handled {
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
        let Some(job) = self.jobs.get_mut(id) else { return Ok((Reply::Done, Wait::All)) };
        job.changed_deadline = Some(Arc::clone(&changed));
        self.renew_deadline(id);
        self.outbox.job_facts.push(JobFact::DeadlineSet { job: id, deadline: changed, at_ms: now.wall_ms });
        self.record_job_facts();
        self.tick_policy(now);
        Ok((Reply::Done, Wait::All))
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

/// Refuses a change that needs a signature and has none.
pub(super) fn refuse_unsigned(verb: &str, job: JobId, caller: &Caller) -> (Reply, Wait) {
    let user = excerpt(&caller.user);
    let text = format!(
        "{verb} of {job} by user {user} is not signed, and jobtracker.job-changes is signed: use `jobtracker job {verb}` \
         with your key, or call from a host of jobtracker.job-changes.hosts"
    );
    (Reply::Refused(Refusal::AccessDenied(text)), Wait::Nothing)
}

/// Why an operation on a job is refused.
enum JobRefusal {
    /// By the lists of the job; with the words that a caller by RPC gets.
    NotAllowed(String),
    Other(JobRequestError),
}

impl From<JobRequestError> for JobRefusal {
    fn from(error: JobRequestError) -> Self {
        Self::Other(error)
    }
}

impl From<Refusal> for JobRefusal {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::AccessDenied(text) => Self::NotAllowed(text),
            Refusal::SafeMode(text) => Self::Other(JobRequestError::Unavailable(text)),
            refusal => Self::Other(JobRequestError::Refused(refusal.to_string())),
        }
    }
}
