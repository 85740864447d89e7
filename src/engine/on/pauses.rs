//! Held jobs and paused queues: what runs there ends, nothing starts, and what waits is no want. Submissions are accepted.

use crate::api::PendingReason;
use crate::engine::core::{Engine, Handled, Reply, Wait};
use crate::engine::state::{Caller, Fact, LogLevel, MAX_PAUSES, Pause, PauseTarget, Refusal};
use crate::mapreduce::Job;
use crate::market::{Answer, JobRequestError, MarketError, Operation};
use crate::model::{JobId, Now};
use crate::scheduler::AppId;
use crate::wire::limits::{QUEUE_NAME_BYTES, excerpt};

impl Engine {
    /// Holds a job or releases it, pauses a queue or resumes it, in the name of a caller who is believed.
    pub(super) fn on_pause(&mut self, target: &PauseTarget, is_on: bool, caller: &Caller, now: Now) -> Handled {
        match target {
            PauseTarget::Job(job) => self.hold_job(*job, is_on, caller, now)?,
            PauseTarget::Queue(_) if !self.is_administrator(caller) => {
                let text = format!("{} is not authorized to pause or resume queues", excerpt(&caller.user));
                return Err(Refusal::AccessDenied(text));
            }
            PauseTarget::Queue(queue) => self.pause_queue(queue, is_on, &caller.user, now)?,
        }
        Ok((Reply::Done, Wait::All))
    }

    /// Performs what the market permits of pauses; passes other answers through.
    pub(super) fn perform_pause(&mut self, answer: Answer, now: Now) -> Result<Answer, MarketError> {
        let Answer::Permitted(Operation::PauseQueue { queue, is_on, by }) = answer else { return Ok(answer) };
        match self.pause_queue(&queue, is_on, &by, now) {
            Ok(()) => Ok(Answer::QueuePaused { queue, is_paused: is_on }),
            Err(refusal) => Err(JobRequestError::Refused(refusal.to_string()).into()),
        }
    }

    /// Holds a job, or releases it: its owner and administrators may, whatever the access lists say.
    ///
    /// # Errors
    /// The job is not known or over, or the caller may not.
    pub(super) fn hold_job(&mut self, id: JobId, is_on: bool, caller: &Caller, now: Now) -> Result<(), Refusal> {
        let Some(job) = self.jobs.get(id) else {
            return Err(Refusal::Invalid(JobRequestError::UnknownJob(id).to_string()));
        };
        if *caller.user != *job.spec.user && !self.is_administrator(caller) {
            let (user, owner) = (excerpt(&caller.user), &job.spec.user);
            let text = format!("{user} cannot hold or release {id}: its owner {owner} and administrators can");
            return Err(Refusal::AccessDenied(text));
        }
        if job.is_over_or_ending() {
            return Err(Refusal::Invalid(format!("{id} has ended, or is about to")));
        }
        if !is_on && self.administration.pauses.get(&PauseTarget::Job(id)).is_some() {
            self.check_released_deadline(id, now)?;
        }
        if self.change_pause(PauseTarget::Job(id), is_on, &caller.user, now)? {
            self.apply_pause(id);
        }
        Ok(())
    }

    /// Pauses a queue, or resumes it; no change if it is so already.
    fn pause_queue(&mut self, queue: &str, is_on: bool, user: &str, now: Now) -> Result<(), Refusal> {
        let target = PauseTarget::Queue(queue.into());
        let is_known = || {
            let is_account = self.market().is_some_and(|market| market.account(queue).is_some());
            is_account || self.config.queues.iter().any(|known| known.name == queue)
        };
        // One that was removed may still be resumed.
        if self.administration.pauses.get(&target).is_none() && (queue.len() > QUEUE_NAME_BYTES || !is_known()) {
            return Err(Refusal::unknown_queue(queue));
        }
        if !self.change_pause(target, is_on, user, now)? {
            return Ok(());
        }
        let text = match is_on {
            true => format!("{user} pauses queue {queue}: it accepts jobs and starts nothing"),
            false => format!("{user} resumes queue {queue}"),
        };
        self.outbox.log_line(LogLevel::Info, text);
        let jobs = self.jobs.live.by_queue().get(queue).cloned().unwrap_or_default();
        jobs.into_iter().for_each(|id| self.apply_pause(id));
        let of_queue = self.applications.iter().filter(|application| *application.submitted.queue == *queue);
        let apps: Vec<AppId> = of_queue.filter_map(|application| self.applications.app(application.id())).collect();
        apps.into_iter().for_each(|app| self.cluster.scheduler.set_paused(app, is_on));
        Ok(())
    }

    /// Records a change; whether there is one.
    fn change_pause(&mut self, target: PauseTarget, is_on: bool, user: &str, now: Now) -> Result<bool, Refusal> {
        let pauses = &mut self.administration.pauses;
        let fact = match (is_on, pauses.get(&target).is_some()) {
            (true, false) if pauses.is_full() => {
                return Err(Refusal::Invalid(format!("{MAX_PAUSES} jobs and queues are held or paused: release some")));
            }
            (true, false) => {
                let pause = Pause { target, user: user.into(), since_ms: now.wall_ms };
                pauses.add(pause.clone());
                Fact::Paused(pause)
            }
            (false, true) => {
                pauses.remove(&target);
                Fact::Resumed(target)
            }
            _ => return Ok(false),
        };
        self.outbox.record(fact);
        Ok(true)
    }

    /// A job is over: it is held no more.
    pub(super) fn forget_hold(&mut self, id: JobId) {
        let target = PauseTarget::Job(id);
        if self.administration.pauses.remove(&target) {
            self.outbox.record(Fact::Resumed(target));
        }
    }

    /// Brings a job in line with the pauses of it and of its queue.
    pub(super) fn apply_pause(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        let is_paused = self.administration.pauses.of(Some(id), &job.spec.queue).is_some();
        job.set_paused(is_paused, &mut self.cluster.scheduler, &mut self.cluster.housekeeping);
    }

    /// Brings all work in line with the pauses: queues of jobs have changed.
    pub(super) fn apply_pauses(&mut self) {
        let jobs: Vec<JobId> = self.jobs.iter().filter(|job| !job.is_over()).map(|job| job.id).collect();
        jobs.into_iter().for_each(|id| self.apply_pause(id));
    }

    /// What keeps all of a job from starting: a hold of it, or a pause of its queue.
    pub(super) fn why_paused(&self, job: &Job) -> Option<PendingReason> {
        let pause = self.administration.pauses.of(Some(job.id), &job.spec.queue)?;
        Some(pause.reason())
    }

    /// The same of an application, by its queue.
    pub(super) fn why_queue_is_paused(&self, queue: &str) -> Option<String> {
        self.administration.pauses.of(None, queue).map(|pause| pause.reason().to_string())
    }

    #[cfg(test)]
    pub(crate) fn pauses(&self) -> impl Iterator<Item = &Pause> {
        self.administration.pauses.iter()
    }
}
