//! What clients may change of jobs that run (1.2.1 `JobTracker.killJob`, `killTask`, `setJobPriority`).

use crate::mapreduce::{JobFact, Outcome};
use crate::wire::{AttemptId, JobId, Priority};

use super::engine::{Engine, Wait, scene};
use super::{Caller, Now, Refusal, Reply};

// === impl Engine: clients ===

impl Engine {
    pub(super) fn kill_job(&mut self, id: JobId, caller: &Caller, now: Now) -> (Reply, Wait) {
        if let Err(refusal) = self.may_modify(id, caller, "KILL_JOB") {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        // An unknown job is ignored, as in 1.2.1.
        let Some(job) = self.jobs.get_mut(id) else { return (Reply::Done, Wait::Nothing) };
        let reason = format!("Job {id} was killed by {}", caller.user);
        job.end(Outcome::Killed, reason, &mut scene!(self, now));
        self.record_job_facts();
        (Reply::Done, Wait::All)
    }

    pub(super) fn kill_task(&mut self, id: AttemptId, fail: bool, caller: &Caller) -> (Reply, Wait) {
        let operation = if fail { "FAIL_TASK" } else { "KILL_TASK" };
        if let Err(refusal) = self.may_modify(id.task.job, caller, operation) {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let Some(job) = self.jobs.get_mut(id.task.job) else { return (Reply::Boolean(false), Wait::Nothing) };
        let Some(key) = job.key_of(id.task) else { return (Reply::Boolean(false), Wait::Nothing) };
        let asked = !job.is_over() && job.ask_kill(key, id.number, fail, &mut self.job_facts);
        (Reply::Boolean(asked), if asked { Wait::All } else { Wait::Nothing })
    }

    pub(super) fn set_job_priority(&mut self, id: JobId, priority: &str, caller: &Caller) -> (Reply, Wait) {
        let Some(priority) = priority_named(priority) else {
            // The words of Java's Enum.valueOf, which 1.2.1 clients print.
            let text = format!("No enum constant org.apache.hadoop.mapred.JobPriority.{priority}");
            return (Reply::Refused(Refusal::IllegalArgument(text)), Wait::Nothing);
        };
        if let Err(refusal) = self.may_modify(id, caller, "SET_JOB_PRIORITY") {
            return (Reply::Refused(refusal), Wait::Nothing);
        }
        let Some(job) = self.jobs.get_mut(id) else { return (Reply::Done, Wait::Nothing) };
        if job.priority != priority {
            job.priority = priority;
            self.scheduler.set_priority(job.app, priority as u8);
            self.job_facts.push(JobFact::Priority { job: id, priority });
        }
        (Reply::Done, Wait::All)
    }

    /// Owner, administrators of the queue, and those the job itself names; everyone while access lists are off.
    fn may_modify(&self, id: JobId, caller: &Caller, operation: &str) -> Result<(), Refusal> {
        let Some(job) = self.jobs.get(id).filter(|_| self.config.acls_enabled) else { return Ok(()) };
        let user = &*caller.user;
        let queue = self.config.queues.iter().find(|queue| queue.name == job.spec.queue);
        let administers = queue.is_some_and(|queue| super::access::allows(&queue.administer_acl, user));
        let named = job.spec.modify_acl.as_deref().is_some_and(|list| super::access::allows(list, user));
        if job.spec.user == user || administers || named {
            return Ok(());
        }
        Err(Refusal::AccessDenied(format!(
            "User {user} cannot perform operation {operation} on {id}: only its owner {}, administrators of queue {} \
             and those in mapreduce.job.acl-modify-job may",
            job.spec.user, job.spec.queue
        )))
    }
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
