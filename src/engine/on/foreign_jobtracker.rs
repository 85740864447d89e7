//! Recovery after another JobTracker, such as the Java one, has used the same system directory, TaskTrackers and
//! clients.
//!
//! The engine accepts that JobTracker's jobs: the edge reads their files and submits each of them. Our own unfinished
//! jobs restart from the beginning, since the other JobTracker reinitialised the trackers and restarted the jobs. Its
//! trackers stay registered; the engine orders them to drop its attempts, which are unknown here, and gives no attempt
//! of ours a number that it may have used.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::core::{Engine, Handled, Reply, SubmissionReply, Wait};
use crate::engine::state::{ForeignJob, ForeignState, LogLevel, Refusal, TrackerRecovery};
use crate::mapreduce::{AcceptedJob, JobEstimate, JobFact, JobOutcome, JobSpec, StoredJob, next_attempt_block};
use crate::model::{AttemptId, JobId, Now, TrackerId};
use crate::wire::HeartbeatRequest;
use crate::wire::limits::excerpt;

use super::orders::{Orders, UnknownAttempts};
use super::submission::check_texts;

/// Failure info of a job that must not continue after a restart.
pub(super) const NOT_RECOVERED: &str =
    "the JobTracker was restarted, and mapreduce.job.restart.recover of this job is false";
/// Failure info of a job of ours that another JobTracker has ended.
const ENDED_ELSEWHERE: &str = "it has ended under another JobTracker, which has used mapred.system.dir since; how it \
                               ended is not known here";
/// Failure info of a job that ended after the backup was made that is restored.
const ENDED_SINCE_COPY: &str = "its files are gone: it ended after this state was copied";
/// Highest attempt number that is taken for another JobTracker's: each of its restarts skips a thousand.
const HIGHEST_NUMBER: i32 = 1_000_000;

impl Engine {
    /// Restarts our unfinished jobs if another JobTracker has run them; returns those that it has ended.
    pub(super) fn apply_foreign_state(&mut self, found: ForeignState, jobs: &mut [StoredJob], now: Now) -> Vec<JobId> {
        self.foreign_recovery.restarted.clone_from(&found.jobs);
        self.foreign_recovery.expected = found.jobs;
        let Some(tokens) = found.unfinished_jobs else {
            if found.is_copy {
                self.skip_used_attempt_numbers(jobs);
            }
            return Vec::new();
        };
        self.foreign_recovery.accepts_until_mono_ms = now.mono_ms.saturating_add(self.config.tracker_expiry_ms);
        let mut ended = Vec::new();
        for stored in &mut *jobs {
            let id = stored.accepted.id;
            match tokens.get(&id) {
                Some(token_file) => {
                    self.foreign_recovery.restarted.insert(id);
                    if let Some(token_file) = token_file {
                        stored.accepted.token_file = token_file.clone();
                    }
                }
                None => ended.push(id),
            }
            stored.discard_progress();
            let AcceptedJob { first_attempt, ref token_file, .. } = stored.accepted;
            self.outbox.job_facts.push(JobFact::Restarted { job: id, first_attempt, token_file: token_file.clone() });
        }
        let text = match jobs.len() {
            0 => "its TaskTrackers are accepted without reinitialisation".to_owned(),
            all => {
                format!("it has ended {} of {all} unfinished jobs, the others start from the beginning", ended.len())
            }
        };
        let text = format!("another JobTracker has used mapred.system.dir since the last run: {text}");
        self.outbox.log_line(LogLevel::Warning, text);
        ended
    }

    /// Skips attempt numbers that the restored backup does not contain but trackers may run.
    fn skip_used_attempt_numbers(&mut self, jobs: &mut [StoredJob]) {
        for stored in jobs {
            stored.skip_attempt_block();
            let AcceptedJob { id: job, first_attempt, .. } = stored.accepted;
            self.foreign_recovery.restarted.insert(job);
            self.outbox.job_facts.push(JobFact::AttemptBlockSkipped { job, first_attempt });
        }
    }

    /// Closes a job that another JobTracker has ended.
    pub(super) fn close_job_ended_elsewhere(&mut self, id: JobId, now: Now) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        job.end_unobserved(ENDED_ELSEWHERE, &mut self.cluster.job_context(&mut self.outbox, now));
        self.record_job_facts();
        self.outbox.log_line(LogLevel::Warning, format!("{id} is over: {ENDED_ELSEWHERE}"));
    }

    /// Closes a job that has ended since the restored backup was made: nothing of it can run again.
    pub(super) fn close_job_ended_since_copy(&mut self, id: JobId, output: &str, now: Now) {
        let Some(job) = self.jobs.get_mut(id).filter(|job| !job.is_over()) else { return };
        let why = format!("{ENDED_SINCE_COPY}{output}");
        job.end_at_once(&why, &mut self.cluster.job_context(&mut self.outbox, now));
        self.record_job_facts();
        self.outbox.log_line(LogLevel::Warning, format!("{id} is over: {why}"));
    }

    /// Accepts a job that another JobTracker accepted, without a signature: the other one has checked the submission.
    pub(super) fn on_foreign_job_found(&mut self, mut found: ForeignJob, now: Now) -> Handled {
        JobSpec::cut_texts(&mut found.spec);
        let id = found.id;
        if !self.foreign_recovery.expected.remove(&id) || self.jobs.get(id).is_some() {
            return Err(Refusal::Invalid(format!("{id} is not an expected job of another JobTracker")));
        }
        let mut accepted = AcceptedJob {
            id,
            spec: found.spec,
            splits: found.splits,
            order: 0,
            submit_ms: now.wall_ms,
            token_file: found.token_file,
            first_attempt: next_attempt_block(0),
            estimate: JobEstimate::default(),
            plan: None,
            job_xml: found.job_xml,
        };
        let is_signed = self.ruling_market().is_some();
        Arc::make_mut(&mut accepted.spec).is_signed = Some(is_signed);
        let entered = self.check_foreign_job(&accepted).and_then(|()| self.enter_job(Box::new(accepted), now));
        match entered {
            Ok(status) => {
                self.count_unknown_attempts(id);
                if let Some(job) = self.jobs.get_mut(id).filter(|job| !job.spec.recover) {
                    job.decide_end(
                        JobOutcome::Killed,
                        NOT_RECOVERED.to_owned(),
                        &mut self.cluster.job_context(&mut self.outbox, now),
                    );
                }
                Ok((Reply::Submission(SubmissionReply::Accepted(status)), Wait::All))
            }
            Err(refusal) => {
                self.on_foreign_job_not_found(id);
                Err(refusal)
            }
        }
    }

    /// A job of another JobTracker cannot be accepted: all trackers get KILL_JOB.
    pub(super) fn on_foreign_job_not_found(&mut self, id: JobId) -> (Reply, Wait) {
        self.foreign_recovery.expected.remove(&id);
        self.foreign_recovery.restarted.remove(&id);
        self.trackers.for_each_mut(|tracker| {
            tracker.kill_jobs.insert(id);
        });
        (Reply::Done, Wait::Nothing)
    }

    fn check_foreign_job(&self, job: &AcceptedJob) -> Result<(), Refusal> {
        let spec = &job.spec;
        check_texts(job.id, spec)?;
        self.check_tasks(job.id, spec, &job.splits)?;
        self.config.limits.check_memory(job.id, spec)?;
        if self.ruling_market().is_some() && spec.queue != spec.user {
            return Err(Refusal::AccessDenied(format!(
                "it is a job of {} for queue {}: only its owner may use a queue",
                excerpt(&spec.user),
                excerpt(&spec.queue)
            )));
        }
        let is_known = self.cluster.scheduler.group(&spec.queue).is_some()
            || self.config.queues.iter().any(|known| known.name == spec.queue);
        if is_known { Ok(()) } else { Err(Refusal::unknown_queue(&spec.queue)) }
    }

    /// Counts unknown attempts of the job, whose trackers may have registered before it was accepted.
    fn count_unknown_attempts(&mut self, id: JobId) {
        let of_job = |attempt: &&AttemptId| attempt.task.job == id;
        let unknown_attempts =
            self.trackers.iter().map(|tracker| tracker.unknown_attempts.iter().filter(of_job).count()).sum::<usize>();
        if let Some(job) = self.jobs.get_mut(id) {
            job.set_unknown_attempts(
                u32::try_from(unknown_attempts).unwrap_or(u32::MAX),
                &mut self.cluster.housekeeping,
            );
        }
    }

    /// Registers an unknown tracker without reinitialisation if it can only be one of another JobTracker; none if not.
    /// Its first report may be as old as that JobTracker's end, like that of a tracker after a restart.
    pub(super) fn accept_foreign_tracker(&mut self, request: &HeartbeatRequest, now: Now) -> Option<TrackerId> {
        let status = &request.status;
        let may_be = now.mono_ms < self.foreign_recovery.accepts_until_mono_ms
            && !self.foreign_recovery.lost.contains(&*status.name)
            && self.has_room_for_trackers();
        if !may_be {
            return None;
        }
        let name: Arc<str> = (&*status.name).into();
        self.outbox.log_line(LogLevel::Info, format!("accepted {name} from another JobTracker"));
        let http = format!("http://{}:{}", status.host, status.http_port);
        let id = self.enter_tracker(name, &status.host, http, TrackerRecovery::ReportedOnce);
        if let Some(tracker) = self.trackers.get_mut(id) {
            tracker.response_id = request.response_id;
            tracker.rereads_events = true;
        }
        Some(id)
    }

    /// Forgets the unknown attempts of a lost tracker, and remembers to reinitialise it should it reconnect.
    pub(super) fn forget_unknown_attempts(
        &mut self,
        name: &Arc<str>,
        unknown_attempts: &BTreeSet<AttemptId>,
        now: Now,
    ) {
        if now.mono_ms < self.foreign_recovery.accepts_until_mono_ms {
            if self.foreign_recovery.lost.len() >= self.config.limits.max_trackers {
                // The bound on invented names: from now on every unknown tracker is reinitialised.
                self.foreign_recovery.accepts_until_mono_ms = now.mono_ms;
                self.foreign_recovery.lost = BTreeSet::new();
            } else {
                self.foreign_recovery.lost.insert(name.clone());
            }
        }
        for unknown in unknown_attempts {
            self.release_unknown_attempt(*unknown);
        }
    }

    /// Whether trackers must reread the completion events of any job.
    pub(super) fn has_restarted_jobs(&self) -> bool {
        !self.foreign_recovery.restarted.is_empty()
    }

    /// The jobs whose completion events trackers must reread from the first.
    pub(super) fn restarted_jobs(&self) -> Vec<JobId> {
        self.foreign_recovery
            .restarted
            .iter()
            .copied()
            .filter(|id| self.is_expected(*id) || self.jobs.get(*id).is_some())
            .collect()
    }

    /// Whether the job is an expected job of another JobTracker.
    pub(super) fn is_expected(&self, id: JobId) -> bool {
        self.foreign_recovery.expected.contains(&id)
    }

    /// Orders a tracker, once, to drop an attempt that this JobTracker has not launched.
    pub(super) fn drop_unknown_attempt(
        &mut self,
        tracker: TrackerId,
        attempt: AttemptId,
        unknown_attempts: &mut UnknownAttempts,
        orders: &mut Orders,
    ) {
        let Some(tracker) = self.trackers.get_mut(tracker) else { return };
        if tracker.unknown_attempts.contains(&attempt) {
            return;
        }
        if tracker.unknown_attempts.len() >= unknown_attempts.allowed {
            unknown_attempts.skipped += 1;
            return;
        }
        tracker.unknown_attempts.insert(attempt);
        let id = attempt.task.job;
        let why = match self.jobs.get(id) {
            Some(_) => "no attempt that this JobTracker has launched",
            None if self.is_expected(id) => "launched by another JobTracker",
            None => "of an unknown job",
        };
        unknown_attempts.dropped += 1;
        unknown_attempts.first.get_or_insert((attempt, why));
        let Some(job) = self.jobs.get_mut(id) else {
            if self.is_expected(id) {
                orders.kill_tasks.push(attempt);
            }
            return;
        };
        if job.is_over() {
            // The tracker may have missed the job's end.
            orders.forget_jobs.insert(id);
        } else {
            orders.kill_tasks.push(attempt);
        }
        job.set_unknown_attempts(job.unknown_attempts() + 1, &mut self.cluster.housekeeping);
        if attempt.number < HIGHEST_NUMBER
            && let Some(fact) = job.reserve_numbers_above(attempt)
        {
            self.outbox.job_facts.push(fact);
        }
    }

    /// Forgets unknown attempts that the report no longer shows as running.
    pub(super) fn forget_finished_unknown_attempts(&mut self, tracker: TrackerId, at_work: &BTreeSet<AttemptId>) {
        let Some(tracker) = self.trackers.get_mut(tracker).filter(|tracker| !tracker.unknown_attempts.is_empty())
        else {
            return;
        };
        let gone: Vec<AttemptId> = tracker.unknown_attempts.difference(at_work).copied().collect();
        tracker.unknown_attempts.retain(|attempt| at_work.contains(attempt));
        for unknown in gone {
            self.release_unknown_attempt(unknown);
        }
    }

    fn release_unknown_attempt(&mut self, unknown: AttemptId) {
        if let Some(job) = self.jobs.get_mut(unknown.task.job) {
            job.set_unknown_attempts(job.unknown_attempts().saturating_sub(1), &mut self.cluster.housekeeping);
        }
    }
}
