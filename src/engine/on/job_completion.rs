//! Completion of jobs: every tracker that ran any attempt gets KILL_JOB; then the edge removes the job's files.

use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{Effect, Fact, JobSummary, KillJobDone, ReportedEnd};
use crate::mapreduce::{Job, JobFact, JobOutcome, KillRequest};
use crate::model::{AttemptState, EndNotification, FactNumber, JobId, Kind, Now, TrackerId};

impl Engine {
    /// Numbers the facts of jobs, and completes jobs that ended; whether one has.
    pub(super) fn record_job_facts(&mut self) -> bool {
        let (mut ended, mut with_maps_done) = (Vec::new(), Vec::new());
        for fact in std::mem::take(&mut self.outbox.job_facts) {
            let id = fact.job();
            match fact {
                JobFact::Running { .. } => self.jobs.live.mark_running(id),
                JobFact::Ended { .. } => ended.push(id),
                JobFact::AttemptEnded(ref attempt)
                    if attempt.state == AttemptState::Succeeded && attempt.attempt.task.kind == Kind::Map =>
                {
                    with_maps_done.push(id);
                }
                _ => {}
            }
            self.outbox.event_lines.append_job_fact(id, &fact);
            let job = self.jobs.get_mut(id);
            if let Some(job) = &job {
                self.tallies.attempts.count(&fact, job);
            }
            let preempted = match &fact {
                JobFact::AttemptKillRequested { attempt, request: KillRequest::Preempt } => {
                    self.rounds.preemptions.victims.remove(attempt)
                }
                _ => None,
            };
            let number = self.outbox.record(Fact::Job(fact));
            self.outbox.decide(preempted);
            if let Some(job) = job {
                job.last_fact = number;
            }
        }
        for id in with_maps_done {
            self.learn_from_first_maps(id);
        }
        let has_ended = !ended.is_empty();
        for id in ended {
            self.on_job_completed(id);
        }
        has_ended
    }

    pub(super) fn on_job_completed(&mut self, id: JobId) {
        let Some(outcome) = self.jobs.finish(id, &mut self.outbox.violations) else { return };
        let Some(job) = self.jobs.get(id) else { return };
        let tally = match outcome {
            JobOutcome::Succeeded => 0,
            JobOutcome::Failed => 1,
            JobOutcome::Killed => 2,
        };
        self.tallies.ended[tally] += 1;
        let notification = job.spec.end_notification.as_ref();
        let notification = notification.map(|notification| with_variables_replaced(notification, id, outcome));
        if let Some(notification) = notification.clone() {
            self.outbox.record(Fact::EndNotificationPending { job: id, notification });
        }
        if self.config.withholds_ends {
            self.jobs.finished.withhold_end(id, notification);
            self.jobs.get_mut(id).into_iter().for_each(|job| job.withhold_end(true));
        } else {
            self.announce_end(id, notification);
        }
        if outcome == JobOutcome::Succeeded {
            self.record_host_faults(id);
        }
        let slots = self.cluster.scheduler.totals().slots.narrow();
        let summary = self.jobs.get(id).map(|job| Box::new(JobSummary::of(job, outcome, slots)));
        self.outbox.end_job(id, summary);
        self.audit_end(id);
        self.forget_hold(id);
        self.learn_from_job(id, outcome);
        self.end_order_of(id);
        let cancels = self.jobs.get(id).is_some_and(|job| job.spec.cancels_tokens);
        self.delegation.release(id, cancels);
        let Some(job) = self.jobs.get(id) else { return };
        let notified = self.trackers_to_notify(job);
        if notified.is_empty() {
            self.remove_job_files(id);
        } else {
            self.outbox.request(Effect::RemoveJobInfo { job: id });
            let mut names = Vec::with_capacity(notified.len());
            for tracker in &notified {
                if let Some(tracker) = self.trackers.get_mut(*tracker) {
                    tracker.kill_jobs.insert(id);
                    names.push(tracker.name.clone());
                }
            }
            self.jobs.finished.expect_kill_job(id, notified);
            self.outbox.record(Fact::KillJobPending { job: id, trackers: names });
            self.market.iter_mut().for_each(|market| market.ended_jobs.push(id));
        }
        self.forget_oldest_finished();
    }

    /// Reports the end of a job that was withheld.
    pub(super) fn report_end(&mut self, id: JobId) {
        let Some(ReportedEnd { notification, forget }) = self.jobs.finished.report_end(id) else { return };
        self.jobs.get_mut(id).into_iter().for_each(|job| job.withhold_end(false));
        self.announce_end(id, notification);
        if forget {
            self.forget_job(id);
        }
    }

    /// Notifies owners of jobs that ended in an earlier run, which stopped before it could.
    pub(super) fn restore_end_notifications(&mut self, pending: Vec<(JobId, EndNotification)>) {
        for (job, notification) in pending {
            self.outbox.request(Effect::NotifyEnd { job, notification });
        }
    }

    fn announce_end(&mut self, job: JobId, notification: Option<EndNotification>) {
        if let Some(notification) = notification {
            self.outbox.request(Effect::NotifyEnd { job, notification });
        }
    }

    /// Records that a tracker has received KILL_JOB, or is lost.
    pub(super) fn acknowledge_kill_job(&mut self, id: JobId, tracker: TrackerId, name: &Arc<str>) {
        self.outbox.record(Fact::KillJobAcknowledged { job: id, tracker: name.clone() });
        if let Some(tracker) = self.trackers.get_mut(tracker) {
            // The tracker kills its attempts of the job without reporting them.
            let gone: Vec<_> = tracker.attempts_of(id).collect();
            for attempt in gone {
                tracker.attempts.remove(&attempt);
                if let Some(job) = self.jobs.get_mut(id) {
                    job.release_after_end(attempt, &mut self.cluster.scheduler);
                }
            }
        }
        if let Some(KillJobDone { forget }) = self.jobs.finished.acknowledge_kill_job(id, tracker) {
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
        self.outbox.request(Effect::RemoveJobFiles { job: id, submit_dir });
    }

    /// Forgets the oldest finished jobs beyond the limit, each once no KILL_JOB of it is pending.
    pub(super) fn forget_oldest_finished(&mut self) {
        for oldest in self.jobs.finished.pop_beyond(self.config.finished_jobs_kept) {
            self.forget_job(oldest);
        }
    }

    /// The trackers that must receive KILL_JOB of a completed job: all of them for a job that another JobTracker has
    /// run, since each may have its files.
    fn trackers_to_notify(&self, job: &Job) -> Vec<TrackerId> {
        if job.has_foreign_attempts() {
            return self.trackers.iter().map(|tracker| tracker.id).collect();
        }
        job.trackers.iter().copied().filter(|tracker| self.trackers.get(*tracker).is_some()).collect()
    }

    fn forget_job(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(id) {
            if let Some(market) = &mut self.market {
                market.costs.forget(&job, market.accounts.is_ruling());
            }
            self.rounds.preemptions.forget_job(id);
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

impl Engine {
    /// Drops tasks of finished jobs whose end is durable and that have no pending KILL_JOB.
    pub(super) fn retire_when_due(&mut self, durable: FactNumber, now: Now) {
        let (interner, limits) = (&mut self.cluster.interner, &self.cluster.counter_limits);
        let most = self.config.limits.max_finished_tasks;
        let violations = &mut self.outbox.violations;
        self.jobs.retire_when_due(most, durable, now, violations, |job| job.retire_tasks(interner, limits));
    }
}
