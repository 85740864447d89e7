//! Changes of running jobs by clients (1.2.1 `JobTracker.killJob`, `killTask`, `setJobPriority`).

use crate::engine::core::{Engine, JobOperation, Reply, Wait};
use crate::engine::state::{Caller, LogLevel, Refusal};
use crate::mapreduce::{JobFact, JobOutcome};
use crate::model::{AttemptId, JobId, Now, Priority};

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
        let by = if caller.user.is_empty() { "a request that named no user" } else { &*caller.user };
        let reason = format!("Job {id} was killed by {by}");
        job.decide_end(JobOutcome::Killed, reason, &mut self.cluster.job_context(&mut self.outbox, now));
        self.record_job_facts();
        (Reply::Done, Wait::All)
    }

    /// Ignores a `killJob` that a client sends without its user's intention: the stock streaming tool sends one when
    /// its polling connection breaks. After `hold_client_kills_ms` no client is still reconnecting, so the kill is
    /// intended.
    pub(super) fn kill_job_as_first_call(&mut self, id: JobId, caller: &Caller, now: Now) -> (Reply, Wait) {
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
        (Reply::Done, Wait::Nothing)
    }

    pub(super) fn kill_task(&mut self, id: AttemptId, fail: bool, caller: &Caller) -> (Reply, Wait) {
        if let Err(refusal) = self.check_safe_mode() {
            return refused(refusal);
        }
        const NOT_KILLED: (Reply, Wait) = (Reply::Boolean(false), Wait::Nothing);
        // 1.2.1 forgets the attempts of a completed job: access does not matter then.
        let Some(job) = self.jobs.get(id.task.job).filter(|job| !job.is_over()) else { return NOT_KILLED };
        let Some(key) = job.key_of(id.task) else { return NOT_KILLED };
        if job.attempt(key, id.number).is_none() {
            return NOT_KILLED;
        }
        let operation = if fail { JobOperation::FailTask } else { JobOperation::KillTask };
        if let Err(refusal) = self.check_job_access(job, caller, operation) {
            return refused(refusal);
        }
        let Some(job) = self.jobs.get_mut(id.task.job) else { return NOT_KILLED };
        let is_killed = job.request_kill(key, id.number, fail, &mut self.cluster.scheduler, &mut self.outbox.job_facts);
        (Reply::Boolean(is_killed), if is_killed { Wait::All } else { Wait::Nothing })
    }

    pub(super) fn set_job_priority(&mut self, id: JobId, priority: &str, caller: &Caller) -> (Reply, Wait) {
        // The order of 1.2.1: an unknown job is ignored first, then an unknown priority refused, then access checked.
        let Some(job) = self.jobs.get(id) else { return (Reply::Done, Wait::Nothing) };
        let Some(priority) = priority_named(priority) else {
            // The text of Java's Enum.valueOf, which 1.2.1 clients print.
            let text = format!("No enum constant org.apache.hadoop.mapred.JobPriority.{priority}");
            return refused(Refusal::IllegalArgument(text));
        };
        if let Err(refusal) = self.check_job_access(job, caller, JobOperation::SetJobPriority) {
            return refused(refusal);
        }
        let Some(job) = self.jobs.get_mut(id) else { return (Reply::Done, Wait::Nothing) };
        if job.priority != priority {
            job.priority = priority;
            // For a completed job this only changes what lists show.
            if !job.is_over() {
                self.cluster.scheduler.set_priority(job.app, priority as u8);
            }
            self.outbox.job_facts.push(JobFact::Priority { job: id, priority });
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
