//! Completion of jobs: every tracker that ran any attempt gets KILL_JOB; then the edge removes the job's files.

use std::sync::Arc;

use crate::mapreduce::{Job, JobFact, JobOutcome, JobState};
use crate::model::{EndNotification, JobId, Kind, lower};

use super::engine::Engine;
use super::finished_jobs::PendingKillJob;
use super::limits::Limits;
use super::{Effect, Fact};

// === impl Engine: completed jobs ===

impl Engine {
    /// Numbers the facts of jobs, and completes jobs that ended.
    pub(super) fn record_job_facts(&mut self) {
        let mut ended = Vec::new();
        for fact in std::mem::take(&mut self.job_facts) {
            let id = fact.job();
            match fact {
                JobFact::Running { .. } => drop(self.running_jobs.insert(id)),
                JobFact::Ended { .. } => ended.push(id),
                _ => {}
            }
            let number = self.log.push(Fact::Job(fact));
            if let Some(job) = self.jobs.get_mut(id) {
                job.last_fact = number;
            }
        }
        for id in ended {
            self.on_job_completed(id);
        }
    }

    pub(super) fn on_job_completed(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let JobState::Over(outcome) = job.state() else { return };
        let tally = match outcome {
            JobOutcome::Succeeded => 0,
            JobOutcome::Failed => 1,
            JobOutcome::Killed => 2,
        };
        self.tallies.ended[tally] += 1;
        if let Some(notification) = &job.spec.end_notification {
            self.effects
                .push(Effect::NotifyEnd { job: id, notification: with_variables_replaced(notification, id, outcome) });
        }
        if let Some(live) = self.live_jobs.get_mut(&job.spec.queue) {
            if live.remove(&id) {
                let violations = &mut self.invariants.violations;
                lower(&mut self.live_job_count, 1_u32, violations);
                lower(&mut self.live_tasks, Limits::weight(&job.spec), violations);
                self.live_bytes.remove(&job.spec.user, job.bytes, violations);
            }
            if live.is_empty() {
                self.live_jobs.remove(&job.spec.queue);
            }
        }
        self.running_jobs.remove(&id);
        self.job_costs.on_job_completed(job, &self.scheduler);
        if outcome == JobOutcome::Succeeded {
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
                    job.release_after_end(attempt, &mut self.scheduler, &mut self.invariants.violations);
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

    /// The trackers that must receive KILL_JOB of a completed job: all of them for a job that another JobTracker has
    /// run, since each may have its files.
    fn trackers_to_notify(&self, job: &Job) -> Vec<Arc<str>> {
        if job.has_foreign_attempts() {
            return self.trackers.keys().cloned().collect();
        }
        job.nodes.iter().filter_map(|node| self.nodes.get(*node)).map(|info| info.name.clone()).collect()
    }

    fn forget_job(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(id) {
            self.job_costs.forget(&job);
            self.last_preemptions.remove(&id);
        }
    }
}

/// The URL with its variables replaced (1.2.1 `JobEndNotifier`).
fn with_variables_replaced(notification: &EndNotification, id: JobId, outcome: JobOutcome) -> EndNotification {
    let status = match outcome {
        JobOutcome::Succeeded => "SUCCEEDED",
        JobOutcome::Failed => "FAILED",
        JobOutcome::Killed => "KILLED",
    };
    let url = notification.url.replace("$jobId", &id.to_string()).replace("$jobStatus", status);
    EndNotification { url, ..*notification }
}
