//! Signed requests about one job: the guard, then the same job control as for calls by RPC, in one step.

use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait, deadline_change};
use crate::engine::state::{Caller, Fact, Refusal};
use crate::market::{
    Answer, Denial, JobAnswer, JobRequest, JobRequestError, MarketError, Operation, Role, ServletRequest,
};
use crate::model::{AttemptId, JobId, Now};
use crate::wire::limits::excerpt;

use super::job_words::state_word;

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
                done(self.kill_job(id, caller, now).0)?;
                self.job_answer(id, None)
            }
            JobRequest::KillTask { attempt, should_fail } => {
                let id = attempt.task.job;
                self.known(id)?;
                let job = self.jobs.get(id);
                let is_known = job.is_some_and(|job| {
                    job.key_of(attempt.task).is_some_and(|key| job.attempt(key, attempt.number).is_some())
                });
                if !done(self.kill_task(attempt, should_fail, caller).0)? {
                    let error = if is_known { JobRequestError::NotRunning } else { JobRequestError::UnknownAttempt };
                    return Err(error(attempt).into());
                }
                self.job_answer(id, Some(attempt))
            }
            JobRequest::SetPriority { job, priority } => {
                self.known(job)?;
                done(self.set_job_priority(job, &priority, caller).0)?;
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
                done(self.set_deadline(job, change, caller, now).0)?;
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
        Ok(Answer::Job(JobAnswer { job: id, attempt, state: state_word(job.reported_state()), is_ending, priority }))
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

/// Whether a reply says that something was done.
fn done(reply: Reply) -> Result<bool, JobRefusal> {
    match reply {
        Reply::Refused(refusal) => Err(refusal.into()),
        Reply::Boolean(is_done) => Ok(is_done),
        _ => Ok(true),
    }
}
