//! Another JobTracker, such as the Java one, has worked with the same system directory, TaskTrackers and clients.
//!
//! What it has accepted is taken in: the edge reads the files and hands each job in. What jobs of ours have done before
//! it counts for nothing, since it has the trackers start anew and the jobs with them. Its trackers go on as they are;
//! what they run of it, strays, they are told to drop, and no attempt of ours gets a number that it may have used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::{AcceptedJob, Job, JobFact, JobSpec, Outcome, SplitTable, StoredJob, next_attempt_block};
use crate::model::{AttemptId, JobId, Now};
use crate::wire::HeartbeatRequest;
use crate::wire::limits::excerpt;

use super::adoption::Back;
use super::engine::{Engine, Wait, job_context};
use super::heartbeat::Orders;
use super::restore::NOT_RECOVERED;
use super::submission::{judge_texts, refuse, unknown_queue};
use super::tracker::Adoption;
use super::{LogLevel, Refusal, Reply, SubmissionReply};

/// What a start has found of other JobTrackers.
#[derive(Clone, Debug, Default)]
pub struct Predecessors {
    /// One was at work since our last run. The jobs of ours that it has not ended, each with the content of its
    /// `jobToken` as it is now, if there is any. Secret.
    pub was_here: Option<BTreeMap<JobId, Option<Arc<[u8]>>>>,
    /// Jobs of theirs that will be handed in, by [`Event::JobFound`](super::Event::JobFound), or given up.
    pub jobs: BTreeSet<JobId>,
    /// The state is an older one, put back: trackers may know of attempts that it does not.
    pub is_copy: bool,
}

/// A job that another JobTracker had accepted.
#[derive(Clone, Debug)]
pub struct FoundJob {
    /// Its id.
    pub id: JobId,
    /// job.xml, typed. Its user is the one who submitted.
    pub spec: Arc<JobSpec>,
    /// job.splitmetainfo, with the rack of each host.
    pub splits: Arc<SplitTable>,
    /// Content of its `jobToken`, which trackers may have already. Secret.
    pub token_file: Arc<[u8]>,
}

/// What is left to do of it.
#[derive(Debug, Default)]
pub(super) struct Succession {
    /// Trackers that nobody here knows are taken on as they are for so long, ms of the clock that never goes back.
    adopts_until_mono_ms: u64,
    /// Those lost since: they have to start anew.
    lost: BTreeSet<Arc<str>>,
    /// Jobs still to be handed in.
    expected: BTreeSet<JobId>,
    /// Jobs whose events trackers have to read from the first one on.
    anew: BTreeSet<JobId>,
}

/// Attempts in one heartbeat that nobody here has launched.
#[derive(Debug)]
pub(super) struct Strays {
    /// Most that the tracker is told to drop.
    pub(super) allowed: usize,
    /// The first that it is told to drop, and what is wrong with it.
    first: Option<(AttemptId, &'static str)>,
    /// How many it is told to drop.
    dropped: usize,
    /// How many more it reports.
    passed_over: usize,
}

/// Why a job of ours that another JobTracker has ended is over.
const ENDED_ELSEWHERE: &str = "it has ended under another JobTracker, which has used mapred.system.dir since; how it \
                               ended is not known here";
/// No number beyond this is believed to be an attempt's: each restart of another JobTracker takes a thousand.
const HIGHEST_NUMBER: i32 = 1_000_000;

// === impl Strays ===

impl Strays {
    pub(super) fn new(allowed: usize) -> Self {
        Self { allowed, first: None, dropped: 0, passed_over: 0 }
    }

    /// What people are told, in one line however many there are.
    pub(super) fn line(&self, name: &str) -> Option<String> {
        let (first, why) = self.first?;
        let mut line = format!("{name} is told to drop {first}, {why}");
        if self.dropped > 1 {
            line += &format!("; and {} more", self.dropped - 1);
        }
        if self.passed_over > 0 {
            line += &format!("; {} more are beyond what it can have and are not looked at", self.passed_over);
        }
        Some(line)
    }
}

// === impl Engine: jobs of ours that have been elsewhere ===

impl Engine {
    /// Has the unfinished jobs begin anew where another JobTracker has had them; returns those that it has ended.
    pub(super) fn succeed(&mut self, found: Predecessors, jobs: &mut [StoredJob], now: Now) -> Vec<JobId> {
        self.succession.anew.clone_from(&found.jobs);
        self.succession.expected = found.jobs;
        let Some(tokens) = found.was_here else {
            if found.is_copy {
                self.number_on(jobs);
            }
            return Vec::new();
        };
        self.succession.adopts_until_mono_ms = now.mono_ms.saturating_add(self.config.tracker_expiry_ms);
        let mut ended = Vec::new();
        for stored in &mut *jobs {
            let id = stored.accepted.id;
            match tokens.get(&id) {
                Some(token_file) => {
                    self.succession.anew.insert(id);
                    if let Some(token_file) = token_file {
                        stored.accepted.token_file = token_file.clone();
                    }
                }
                None => ended.push(id),
            }
            stored.discard_progress();
            let AcceptedJob { first_attempt, ref token_file, .. } = stored.accepted;
            self.job_facts.push(JobFact::Restarted { job: id, first_attempt, token_file: token_file.clone() });
        }
        let text = match jobs.len() {
            0 => "its TaskTrackers are taken on as they are".to_owned(),
            all => format!("of {all} unfinished jobs {} have ended there, the others begin anew", ended.len()),
        };
        let text = format!("another JobTracker has worked with mapred.system.dir since the last run: {text}");
        self.log_line(LogLevel::Warning, text);
        ended
    }

    /// Trackers may know of attempts and events that an older state has forgotten.
    fn number_on(&mut self, jobs: &mut [StoredJob]) {
        for stored in jobs {
            stored.skip_attempt_block();
            let AcceptedJob { id: job, first_attempt, .. } = stored.accepted;
            self.succession.anew.insert(job);
            self.job_facts.push(JobFact::AttemptBlockSkipped { job, first_attempt });
        }
    }

    /// Closes a job that another JobTracker has ended.
    pub(super) fn end_elsewhere(&mut self, id: JobId, now: Now) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        job.end_unobserved(ENDED_ELSEWHERE, &mut job_context!(self, now));
        self.record_job_facts();
        self.log_line(LogLevel::Warning, format!("{id} is over: {ENDED_ELSEWHERE}"));
    }
}

// === impl Engine: jobs of another JobTracker ===

impl Engine {
    /// Takes in a job that another JobTracker had accepted. Nobody asks for its signature: that one has.
    pub(super) fn job_found(&mut self, mut found: FoundJob, now: Now) -> (Reply, Wait) {
        JobSpec::cut_texts(&mut found.spec);
        let id = found.id;
        if !self.succession.expected.remove(&id) || self.jobs.get(id).is_some() {
            return refuse(Refusal::Invalid(format!("{id} is not waited for")));
        }
        let accepted = AcceptedJob {
            id,
            spec: found.spec,
            splits: found.splits,
            order: 0,
            submit_ms: now.wall_ms,
            token_file: found.token_file,
            first_attempt: next_attempt_block(0),
        };
        let entered = self.judge_found(&accepted).and_then(|()| self.enter_job(Box::new(accepted)));
        match entered {
            Ok(status) => {
                self.count_strays_of(id);
                if let Some(job) = self.jobs.get_mut(id).filter(|job| !job.spec.recover) {
                    job.decide_end(Outcome::Killed, NOT_RECOVERED.to_owned(), &mut job_context!(self, now));
                }
                (Reply::Submission(SubmissionReply::Accepted(status)), Wait::All)
            }
            Err(refusal) => {
                self.job_not_found(id);
                refuse(refusal)
            }
        }
    }

    /// A job of another JobTracker cannot be taken in: trackers drop what they have of it.
    pub(super) fn job_not_found(&mut self, id: JobId) -> (Reply, Wait) {
        self.succession.expected.remove(&id);
        self.succession.anew.remove(&id);
        for tracker in self.trackers.values_mut() {
            tracker.kill_jobs.insert(id);
        }
        (Reply::Done, Wait::Nothing)
    }

    fn judge_found(&self, job: &AcceptedJob) -> Result<(), Refusal> {
        let spec = &job.spec;
        judge_texts(job.id, spec)?;
        self.judge_tasks(job.id, spec, &job.splits)?;
        self.config.limits.judge_memory(job.id, spec)?;
        if self.market.is_some() && spec.queue != spec.user {
            return Err(Refusal::AccessDenied(format!(
                "it is a job of {} for queue {}: nobody but its owner uses a queue",
                excerpt(&spec.user),
                excerpt(&spec.queue)
            )));
        }
        let is_known = self.scheduler.group(&spec.queue).is_some()
            || self.config.queues.iter().any(|known| known.name == spec.queue);
        if is_known { Ok(()) } else { Err(unknown_queue(&spec.queue)) }
    }

    /// Its trackers may have come before the job.
    fn count_strays_of(&mut self, id: JobId) {
        let of_job = |attempt: &&AttemptId| attempt.task.job == id;
        let strays = self.trackers.values().map(|tracker| tracker.strays.iter().filter(of_job).count()).sum::<usize>();
        if let Some(job) = self.jobs.get_mut(id) {
            job.set_unknown_attempts(u32::try_from(strays).unwrap_or(u32::MAX), &mut self.housekeeping);
        }
    }
}

// === impl Engine: trackers of another JobTracker ===

impl Engine {
    /// Takes a tracker on that nobody here knows, if it can only be one of another JobTracker. Like one that comes back,
    /// it sends a report that may be as old as the change.
    pub(super) fn adopt_unknown(&mut self, request: &HeartbeatRequest, now: Now) -> Back {
        let status = &request.status;
        let may_be = now.mono_ms < self.succession.adopts_until_mono_ms
            && !self.succession.lost.contains(&*status.name)
            && self.has_room_for_trackers();
        if !may_be {
            return Back::Never;
        }
        let name: Arc<str> = (&*status.name).into();
        self.log_line(LogLevel::Info, format!("{name} is taken on from another JobTracker"));
        let http = format!("http://{}:{}", status.host, status.http_port);
        self.enter_tracker(name.clone(), &status.host, http, Adoption::Heard);
        if let Some(tracker) = self.trackers.get_mut(&name) {
            tracker.response_id = request.response_id;
            tracker.reads_events_anew = true;
        }
        Back::First
    }

    /// A tracker is lost: should it come again, it starts anew.
    pub(super) fn forget_strays(&mut self, name: &Arc<str>, strays: &BTreeSet<AttemptId>, now: Now) {
        if now.mono_ms < self.succession.adopts_until_mono_ms {
            if self.succession.lost.len() >= self.config.limits.max_trackers {
                // Names are cheap to make up: from now on whoever is unknown starts anew.
                self.succession.adopts_until_mono_ms = now.mono_ms;
                self.succession.lost = BTreeSet::new();
            } else {
                self.succession.lost.insert(name.clone());
            }
        }
        for stray in strays {
            self.stray_is_gone(*stray);
        }
    }

    /// Whether there are jobs whose events trackers have to read from the first one on.
    pub(super) fn has_begun_anew(&self) -> bool {
        !self.succession.anew.is_empty()
    }

    /// The jobs whose events a tracker has to read from the first one on.
    pub(super) fn begun_anew(&self) -> Vec<JobId> {
        self.succession
            .anew
            .iter()
            .copied()
            .filter(|id| self.is_expected(*id) || self.jobs.get(*id).is_some())
            .collect()
    }

    /// Whether a job is still to be handed in.
    pub(super) fn is_expected(&self, id: JobId) -> bool {
        self.succession.expected.contains(&id)
    }

    /// A tracker is at work on an attempt that nobody here has launched: it is told to drop it, once.
    pub(super) fn drop_stray(&mut self, name: &Arc<str>, attempt: AttemptId, strays: &mut Strays, orders: &mut Orders) {
        let Some(tracker) = self.trackers.get_mut(name) else { return };
        if tracker.strays.contains(&attempt) {
            return;
        }
        if tracker.strays.len() >= strays.allowed {
            strays.passed_over += 1;
            return;
        }
        tracker.strays.insert(attempt);
        let id = attempt.task.job;
        let why = match self.jobs.get(id) {
            Some(_) => "no attempt that this JobTracker has launched",
            None if self.is_expected(id) => "launched by another JobTracker",
            None => "of a job that is not known here",
        };
        strays.dropped += 1;
        strays.first.get_or_insert((attempt, why));
        let Some(job) = self.jobs.get_mut(id) else {
            if self.is_expected(id) {
                orders.kill_tasks.push(attempt);
            }
            return;
        };
        if job.is_over() {
            // It may never have heard of the end.
            orders.forget_jobs.insert(id);
        } else {
            orders.kill_tasks.push(attempt);
        }
        job.set_unknown_attempts(job.unknown_attempts() + 1, &mut self.housekeeping);
        if attempt.number < HIGHEST_NUMBER
            && let Some(fact) = job.reserve_numbers_above(attempt)
        {
            self.job_facts.push(fact);
        }
    }

    /// Forgets the strays that a report does not show at work any more.
    pub(super) fn settle_strays(&mut self, name: &Arc<str>, at_work: &BTreeSet<AttemptId>) {
        let Some(tracker) = self.trackers.get_mut(name).filter(|tracker| !tracker.strays.is_empty()) else { return };
        let gone: Vec<AttemptId> = tracker.strays.difference(at_work).copied().collect();
        for stray in gone {
            if let Some(tracker) = self.trackers.get_mut(name) {
                tracker.strays.remove(&stray);
            }
            self.stray_is_gone(stray);
        }
    }

    fn stray_is_gone(&mut self, stray: AttemptId) {
        if let Some(job) = self.jobs.get_mut(stray.task.job) {
            job.set_unknown_attempts(job.unknown_attempts().saturating_sub(1), &mut self.housekeeping);
        }
    }

    /// Who has to hear that a job is over: of one that has run elsewhere anybody may have files.
    pub(super) fn hearers_of_end(&self, job: &Job) -> Vec<Arc<str>> {
        if job.has_foreign_attempts() {
            return self.trackers.keys().cloned().collect();
        }
        job.nodes.iter().filter_map(|node| self.nodes.get(*node)).map(|info| info.name.clone()).collect()
    }
}
