//! What follows when a job is over: every tracker that ran any of it is told, then its files go.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{JobOutcome, JobState};
use crate::model::{EndNotification, JobId, Kind};

use super::engine::Engine;
use super::limits::Limits;
use super::{Effect, Fact};

/// Who still has to hear of a job's end.
#[derive(Debug, Default)]
pub(super) struct KillDebt {
    debtors: BTreeSet<Arc<str>>,
    /// Nobody but the debtors needs the job any more.
    forget_when_paid: bool,
}

// === impl KillDebt ===

impl KillDebt {
    /// A tracker has to hear of it.
    pub(super) fn owe(&mut self, tracker: &Arc<str>) {
        self.debtors.insert(tracker.clone());
    }
}

// === impl Engine: jobs that are over ===

impl Engine {
    pub(super) fn job_is_over(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let JobState::Over(outcome) = job.state() else { return };
        let tally = match outcome {
            JobOutcome::Succeeded => 0,
            JobOutcome::Failed => 1,
            JobOutcome::Killed => 2,
        };
        self.tallies.ended[tally] += 1;
        if let Some(notification) = &job.spec.end_notification {
            self.effects.push(Effect::NotifyEnd { job: id, notification: filled_in(notification, id, outcome) });
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
        self.job_costs.job_is_over(job, &self.scheduler);
        if outcome == JobOutcome::Succeeded {
            self.charge_flaky_hosts(id);
        }
        let Some(job) = self.jobs.get(id) else { return };
        let told = self.hearers_of_end(job);
        for name in &told {
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.kill_jobs.insert(id);
            }
        }
        if told.is_empty() {
            self.remove_job_files(id);
        } else {
            self.effects.push(Effect::RemoveJobInfo { job: id });
            let debtors = told.iter().cloned().collect();
            self.kill_debts.insert(id, KillDebt { debtors, forget_when_paid: false });
            self.log.push(Fact::KillJobOwed { job: id, trackers: told });
        }
        self.finished.push_back(id);
        self.keep_whole(id);
        self.forget_oldest_finished();
    }

    /// A tracker has been told that a job is over, or is gone.
    pub(super) fn pay_kill_debt(&mut self, id: JobId, tracker: &Arc<str>) {
        self.log.push(Fact::KillJobPaid { job: id, tracker: tracker.clone() });
        if let Some(tracker) = self.trackers.get_mut(tracker) {
            // It purges what it runs of the job without another word.
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
        let Some(debt) = self.kill_debts.get_mut(&id) else { return };
        debt.debtors.remove(tracker);
        if debt.debtors.is_empty() {
            let forget = debt.forget_when_paid;
            self.kill_debts.remove(&id);
            self.remove_job_files(id);
            if forget {
                self.forget_job(id);
            }
        }
    }

    /// No tracker needs the job's files any more.
    fn remove_job_files(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let submit_dir = (!job.spec.keep_staging).then(|| job.spec.submit_dir.clone());
        self.effects.push(Effect::RemoveJobFiles { job: id, submit_dir });
    }

    /// Keeps memory bounded: the oldest finished jobs go, each once no tracker is owed a word about it.
    pub(super) fn forget_oldest_finished(&mut self) {
        while self.finished.len() > self.config.finished_jobs_kept {
            let Some(oldest) = self.finished.pop_front() else { return };
            match self.kill_debts.get_mut(&oldest) {
                Some(debt) => debt.forget_when_paid = true,
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

/// The URL as it is called (1.2.1 `JobEndNotifier`).
fn filled_in(notification: &EndNotification, id: JobId, outcome: JobOutcome) -> EndNotification {
    let status = match outcome {
        JobOutcome::Succeeded => "SUCCEEDED",
        JobOutcome::Failed => "FAILED",
        JobOutcome::Killed => "KILLED",
    };
    let url = notification.url.replace("$jobId", &id.to_string()).replace("$jobStatus", status);
    EndNotification { url, ..*notification }
}
