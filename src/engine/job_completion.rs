//! Completion of jobs: every tracker that ran any attempt gets KILL_JOB; then the edge removes the job's files.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{JobState, Outcome};
use crate::model::{EndNotification, JobId, Kind};

use super::engine::Engine;
use super::limits::Limits;
use super::{Effect, Fact};

/// Trackers that have not acknowledged KILL_JOB of a completed job.
#[derive(Debug, Default)]
pub(super) struct PendingKillJob {
    trackers: BTreeSet<Arc<str>>,
    /// Forget the job once all have acknowledged.
    forget_when_acknowledged: bool,
}

// === impl PendingKillJob ===

impl PendingKillJob {
    /// Adds a tracker that must acknowledge.
    pub(super) fn add(&mut self, tracker: &Arc<str>) {
        self.trackers.insert(tracker.clone());
    }
}

// === impl Engine: completed jobs ===

impl Engine {
    pub(super) fn on_job_completed(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let JobState::Over(outcome) = job.state() else { return };
        let tally = match outcome {
            Outcome::Succeeded => 0,
            Outcome::Failed => 1,
            Outcome::Killed => 2,
        };
        self.tallies.ended[tally] += 1;
        if let Some(notification) = &job.spec.end_notification {
            self.effects
                .push(Effect::NotifyEnd { job: id, notification: with_variables_replaced(notification, id, outcome) });
        }
        if let Some(live) = self.live_jobs.get_mut(&job.spec.queue) {
            if live.remove(&id) {
                self.live_job_count = self.live_job_count.saturating_sub(1);
                self.live_tasks = self.live_tasks.saturating_sub(Limits::weight(&job.spec));
                self.live_bytes.remove(&job.spec.user, job.bytes);
            }
            if live.is_empty() {
                self.live_jobs.remove(&job.spec.queue);
            }
        }
        self.running_jobs.remove(&id);
        self.job_costs.on_job_completed(job, &self.scheduler);
        if outcome == Outcome::Succeeded {
            self.record_host_faults(id);
        }
        let Some(job) = self.jobs.get(id) else { return };
        let notified = self.trackers_to_notify(job);
        for name in &notified {
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.kill_jobs.insert(id);
            }
        }
        if notified.is_empty() {
            self.remove_job_files(id);
        } else {
            self.effects.push(Effect::RemoveJobInfo { job: id });
            let trackers = notified.iter().cloned().collect();
            self.pending_kill_jobs.insert(id, PendingKillJob { trackers, forget_when_acknowledged: false });
            self.log.push(Fact::KillJobPending { job: id, trackers: notified });
        }
        self.finished.push_back(id);
        self.retain_tasks(id);
        self.forget_oldest_finished();
    }

    /// Records that a tracker has received KILL_JOB, or is lost.
    pub(super) fn acknowledge_kill_job(&mut self, id: JobId, tracker: &Arc<str>) {
        self.log.push(Fact::KillJobAcknowledged { job: id, tracker: tracker.clone() });
        if let Some(tracker) = self.trackers.get_mut(tracker) {
            // The tracker kills its attempts of the job without reporting them.
            let first = id.task(Kind::Map, i32::MIN).attempt(i32::MIN);
            let last = id.task(Kind::Reduce, i32::MAX).attempt(i32::MAX);
            let gone: Vec<_> = tracker.attempts.range(first..=last).copied().collect();
            for attempt in gone {
                tracker.attempts.remove(&attempt);
                if let Some(job) = self.jobs.get_mut(id) {
                    job.release_after_end(attempt, &mut self.scheduler);
                }
            }
        }
        let Some(pending) = self.pending_kill_jobs.get_mut(&id) else { return };
        pending.trackers.remove(tracker);
        if pending.trackers.is_empty() {
            let forget = pending.forget_when_acknowledged;
            self.pending_kill_jobs.remove(&id);
            self.remove_job_files(id);
            if forget {
                self.forget_job(id);
            }
        }
    }

    /// Requests removal of the job's files, which no tracker needs any more.
    fn remove_job_files(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let submit_dir = (!job.spec.keep_staging).then(|| job.spec.submit_dir.clone());
        self.effects.push(Effect::RemoveJobFiles { job: id, submit_dir });
    }

    /// Forgets the oldest finished jobs beyond the limit, each once no KILL_JOB of it is pending.
    pub(super) fn forget_oldest_finished(&mut self) {
        while self.finished.len() > self.config.finished_jobs_kept {
            let Some(oldest) = self.finished.pop_front() else { return };
            match self.pending_kill_jobs.get_mut(&oldest) {
                Some(pending) => pending.forget_when_acknowledged = true,
                None => self.forget_job(oldest),
            }
        }
    }

    fn forget_job(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(id) {
            self.job_costs.forget(&job);
            self.last_preemptions.remove(&id);
        }
    }
}

/// The URL with its variables replaced (1.2.1 `JobEndNotifier`).
fn with_variables_replaced(notification: &EndNotification, id: JobId, outcome: Outcome) -> EndNotification {
    let status = match outcome {
        Outcome::Succeeded => "SUCCEEDED",
        Outcome::Failed => "FAILED",
        Outcome::Killed => "KILLED",
    };
    let url = notification.url.replace("$jobId", &id.to_string()).replace("$jobStatus", status);
    EndNotification { url, ..*notification }
}
