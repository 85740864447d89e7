//! What clients may change of jobs that run (1.2.1 `JobTracker.killJob`, `killTask`, `setJobPriority`).

use crate::mapreduce::{JobFact, Outcome};
use crate::model::{AttemptId, JobId, Now, Priority};

use super::access::JobOperation;
use super::engine::{Engine, Wait, job_context};
use super::{Caller, LogLevel, Refusal, Reply};

// === impl Engine: clients ===

impl Engine {
    pub(super) fn kill_job(&mut self, id: JobId, caller: &Caller, now: Now) -> (Reply, Wait) {
        if let Err(refusal) = self.check_safe_mode() {
            return refused(refusal);
        }
        // An unknown job is ignored, as in 1.2.1.
        let Some(job) = self.jobs.get(id) else { return (Reply::Done, Wait::Nothing) };
        if let Err(refusal) = self.check_job_access(job, caller, JobOperation::KillJob) {
            return refused(refusal);
        }
        let Some(job) = self.jobs.get_mut(id) else { return (Reply::Done, Wait::Nothing) };
        let reason = format!("Job {id} was killed by {}", caller.user);
        job.decide_end(Outcome::Killed, reason, &mut job_context!(self, now));
        self.record_job_facts();
        (Reply::Done, Wait::All)
    }

    /// The stock streaming tool does this when the connection breaks on which it polls, whatever the reason. Once a start is
    /// so long ago that no client can still be looking for the daemon, it is somebody's wish.
    pub(super) fn kill_job_first(&mut self, id: JobId, caller: &Caller, now: Now) -> (Reply, Wait) {
        let is_early = now.mono_ms - self.start.mono_ms < self.config.hold_client_kills_ms;
        let is_reflex = is_early
            && id.identifier != self.config.identifier
            && self.jobs.get(id).is_some_and(|job| !job.is_over() && *job.spec.user == *caller.user);
        if !is_reflex {
            return self.kill_job(id, caller, now);
        }
        self.log_line(
            LogLevel::Warning,
            format!(
                "{id} goes on: its user {} asked for its end on a new connection, without a word before, as a client does that lost \
                 its connection in the restart (jobtracker.restart.hold-client-kills-ms); asked again, it ends",
                caller.user
            ),
        );
        // Only asking for the status of the job shows the difference.
        (Reply::Done, Wait::Nothing)
    }

    pub(super) fn kill_task(&mut self, id: AttemptId, fail: bool, caller: &Caller) -> (Reply, Wait) {
        if let Err(refusal) = self.check_safe_mode() {
            return refused(refusal);
        }
        const NOT_ASKED: (Reply, Wait) = (Reply::Boolean(false), Wait::Nothing);
        // 1.2.1 forgets the attempts of a job that is over: who asks does not matter then.
        let Some(job) = self.jobs.get(id.task.job).filter(|job| !job.is_over()) else { return NOT_ASKED };
        let Some(key) = job.key_of(id.task) else { return NOT_ASKED };
        if job.attempt(key, id.number).is_none() {
            return NOT_ASKED;
        }
        let operation = if fail { JobOperation::FailTask } else { JobOperation::KillTask };
        if let Err(refusal) = self.check_job_access(job, caller, operation) {
            return refused(refusal);
        }
        let Some(job) = self.jobs.get_mut(id.task.job) else { return NOT_ASKED };
        let asked = job.request_kill(key, id.number, fail, &mut self.scheduler, &mut self.job_facts);
        (Reply::Boolean(asked), if asked { Wait::All } else { Wait::Nothing })
    }

    pub(super) fn set_job_priority(&mut self, id: JobId, priority: &str, caller: &Caller) -> (Reply, Wait) {
        // The order of 1.2.1: an unknown job is ignored whatever the name, a name that is none is refused whoever asks.
        let Some(job) = self.jobs.get(id) else { return (Reply::Done, Wait::Nothing) };
        let Some(priority) = priority_named(priority) else {
            // The words of Java's Enum.valueOf, which 1.2.1 clients print.
            let text = format!("No enum constant org.apache.hadoop.mapred.JobPriority.{priority}");
            return refused(Refusal::IllegalArgument(text));
        };
        if let Err(refusal) = self.check_job_access(job, caller, JobOperation::SetJobPriority) {
            return refused(refusal);
        }
        let Some(job) = self.jobs.get_mut(id) else { return (Reply::Done, Wait::Nothing) };
        if job.priority != priority {
            job.priority = priority;
            // Of a job that is over it only changes what lists show.
            if !job.is_over() {
                self.scheduler.set_priority(job.app, priority as u8);
            }
            self.job_facts.push(JobFact::Priority { job: id, priority });
            self.record_job_facts();
        }
        (Reply::Done, Wait::All)
    }
}

fn refused(refusal: Refusal) -> (Reply, Wait) {
    (Reply::Refused(refusal), Wait::Nothing)
}

fn priority_named(name: &str) -> Option<Priority> {
    Some(match name {
        "VERY_HIGH" => Priority::VeryHigh,
        "HIGH" => Priority::High,
        "NORMAL" => Priority::Normal,
        "LOW" => Priority::Low,
        "VERY_LOW" => Priority::VeryLow,
        _ => return None,
    })
}
