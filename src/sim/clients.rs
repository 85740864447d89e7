//! Users and their jobs: submissions in all their phases, bursts of tiny jobs, kills, priorities.

use std::sync::Arc;

use crate::engine::{Caller, Event, IdOwner, ReadSubmission, Reply, SubmissionReply};
use crate::mapreduce::{JobSpec, SplitTable};
use crate::market::{JobSignature, signature};
use crate::model::{JobId, Kind, PerKind, Priority};
use crate::scheduler::constraint::{DeadlineSpec, Due, KeySpread, StatedCost};

use super::cuts::RunPart;
use super::daemon_run::LateAnswer;
use super::event_queue::SimEvent;
use super::laws::{Intent, Violation};
use super::random::Random;
use super::user::{ClientAnswer, SimSubmission, SubmissionPhase};
use super::world::World;

/// Recent jobs that users may kill.
const REMEMBERED_JOBS: usize = 32;

impl World<'_> {
    pub(super) fn run_client(&mut self, place: usize) -> Result<(), Violation> {
        let pause = self.plan.submit_pause_ms;
        let Some(user) = self.users.get_mut(place).and_then(Option::as_mut) else { return Ok(()) };
        let (chance, pause_ms) = (user.client.below(100), user.client.between(pause / 4 + 1, pause * 2));
        let (size, many) = (user.client.number(), user.client.between(5, 30));
        self.schedule_in(pause_ms, SimEvent::Client(place));
        if !self.may_act() {
            return Ok(());
        }
        match chance {
            0..12 if self.has(RunPart::Kills) => self.kill_something(place, size)?,
            12..16 if self.has(RunPart::Bursts) => {
                for number in 0..many {
                    self.submit(place, size.wrapping_add(number), true)?;
                }
            }
            16.. => self.submit(place, size, false)?,
            _ => {}
        }
        Ok(())
    }

    fn submit(&mut self, place: usize, chance: u64, is_tiny: bool) -> Result<(), Violation> {
        if self.checker.live_jobs() + self.submissions.len() >= self.plan.most_live_jobs {
            return Ok(());
        }
        let Some(id) = self.new_job_id(place)? else { return Ok(()) };
        let Some(Some(user)) = self.users.get(place) else { return Ok(()) };
        let mut random = Random::stream(chance, place as u64);
        // Some use another's queue.
        let queue = match random.one_in(40) {
            true => self.plan.users.first().map_or(&user.name, |first| &first.name),
            false => &user.name,
        };
        let mut spec = job_spec(&user.name, queue, is_tiny, &mut random);
        if self.options.policy.has_deadlines() && !random.one_in(3) {
            spec.deadline = Some(deadline(&mut random));
        }
        let spec = Arc::new(spec);
        let is_slow = random.one_in(6) && self.has(RunPart::SlowSubmissions);
        let pause_ms = is_slow.then(|| random.below(4_000));
        self.begin_submission(
            SimSubmission { user: place, id, spec, phase: SubmissionPhase::Ask, delayed_answer: None },
            pause_ms,
        )
    }

    /// Submits this job at once; none: its user gets no id.
    pub(super) fn submit_job(&mut self, place: usize, spec: JobSpec) -> Result<Option<JobId>, Violation> {
        let Some(id) = self.new_job_id(place)? else { return Ok(None) };
        let submission =
            SimSubmission { user: place, id, spec: Arc::new(spec), phase: SubmissionPhase::Ask, delayed_answer: None };
        self.begin_submission(submission, None)?;
        Ok(Some(id))
    }

    /// Repeats a submission that a crash interrupted, as a new job.
    pub(super) fn submit_again(&mut self, submission: SimSubmission) -> Result<(), Violation> {
        let Some(id) = self.new_job_id(submission.user)? else { return Ok(()) };
        self.begin_submission(
            SimSubmission { id, phase: SubmissionPhase::Ask, delayed_answer: None, ..submission },
            None,
        )
    }

    /// Requests an id for a job; a user whose answer is lost gives up.
    fn new_job_id(&mut self, user: usize) -> Result<Option<JobId>, Violation> {
        let Some(Some(user)) = self.users.get(user) else { return Ok(None) };
        let owner = IdOwner::named(user.name.as_str());
        let step = self.step(Event::NewJobId { owner }, &Intent::Other)?;
        Ok(match step.reply {
            Reply::JobId(id) if self.is_sent(step.wait_for) => Some(id),
            _ => None,
        })
    }

    fn begin_submission(&mut self, submission: SimSubmission, pause_ms: Option<u64>) -> Result<(), Violation> {
        self.last_submission += 1;
        let number = self.last_submission;
        self.submissions.insert(number, submission);
        if let Some(pause_ms) = pause_ms {
            self.schedule_in(pause_ms, SimEvent::Submission(number));
            return Ok(());
        }
        while self.submissions.get(&number).is_some_and(|submission| submission.delayed_answer.is_none()) {
            self.continue_submission(number)?;
        }
        Ok(())
    }

    /// The next phase of a submission; a slow one waits before the one after.
    pub(super) fn continue_submission(&mut self, number: u64) -> Result<(), Violation> {
        let Some(mut submission) = self.submissions.remove(&number) else { return Ok(()) };
        let (place, id) = (submission.user, submission.id);
        let Some(Some(user)) = self.users.get_mut(place) else { return Ok(()) };
        let (gives_up, pause_ms) = (user.client.one_in(50), user.client.below(2_000));
        let user = user.name.clone();
        if let Some(delayed) = submission.delayed_answer.take().filter(|_| !self.is_draining) {
            if !self.is_sent(delayed.wait_for) {
                submission.delayed_answer = Some(delayed);
                self.submissions.insert(number, submission);
                self.schedule_in(self.until_sent_ms(), SimEvent::Submission(number));
                return Ok(());
            }
            self.apply_client_answer(number, submission, delayed.answer, pause_ms);
            return Ok(());
        }
        if (gives_up && submission.phase != SubmissionPhase::Ask) || self.is_draining {
            return self.step(Event::SubmissionAbandoned { id }, &Intent::Other).map(drop);
        }
        let caller = Caller::named(user.as_str());
        let (event, intent) = match submission.phase {
            SubmissionPhase::Ask => (Event::SubmissionRequested { id, caller }, Intent::Other),
            SubmissionPhase::Read => {
                let read = self.read_submission(place, id, caller, submission.spec.clone());
                (Event::SubmissionRead(Box::new(read)), Intent::Submission(user))
            }
            SubmissionPhase::Write => (Event::SystemDirWritten { id }, Intent::Other),
        };
        let step = self.step(event, &intent)?;
        let answer = match step.reply {
            Reply::Submission(SubmissionReply::ReadFiles) => ClientAnswer::Continue(SubmissionPhase::Read),
            Reply::Submission(SubmissionReply::WriteSystemDir { .. }) => ClientAnswer::Continue(SubmissionPhase::Write),
            Reply::Submission(SubmissionReply::Accepted(_)) => ClientAnswer::Accepted,
            _ => ClientAnswer::Refused,
        };
        if self.is_sent(step.wait_for) {
            self.apply_client_answer(number, submission, answer, pause_ms);
        } else {
            submission.delayed_answer = Some(LateAnswer { wait_for: step.wait_for, answer });
            self.submissions.insert(number, submission);
            self.schedule_in(self.until_sent_ms(), SimEvent::Submission(number));
        }
        Ok(())
    }

    /// The client receives the next answer on its submission.
    fn apply_client_answer(&mut self, number: u64, mut submission: SimSubmission, answer: ClientAnswer, pause_ms: u64) {
        match answer {
            ClientAnswer::Continue(phase) => {
                submission.phase = phase;
                self.submissions.insert(number, submission);
                self.schedule_in(pause_ms, SimEvent::Submission(number));
            }
            ClientAnswer::Accepted => {
                self.acknowledged.insert(submission.id);
                self.recent_jobs.push(submission.id);
                if self.recent_jobs.len() > REMEMBERED_JOBS {
                    self.recent_jobs.remove(0);
                }
            }
            ClientAnswer::Refused => {}
        }
    }

    fn read_submission(&mut self, place: usize, id: JobId, caller: Caller, spec: Arc<JobSpec>) -> ReadSubmission {
        let mut splits = SplitTable::builder();
        let hosts = self.plan.trackers.len() as u64;
        for map in 0..u64::from(spec.maps) {
            let near = |step: u64| format!("h{}", (map * 5 + id.number.unsigned_abs() as u64 + step) % (hosts + 1));
            let near = [near(0), near(1)];
            splits.push(7 + map.cast_signed(), 100, near.iter().map(String::as_str));
        }
        let splits = splits.build(|host| {
            let place: u64 = host.trim_start_matches('h').parse().unwrap_or(0);
            format!("/rack{}", place / 4)
        });
        let signature = self.job_signature(place);
        ReadSubmission {
            id,
            caller,
            spec,
            splits: Arc::new(splits),
            credentials: Default::default(),
            signature,
            token_secret: [7; 20],
            job_xml: Arc::default(),
        }
    }

    /// A signature as the user's client makes it; some are old, another's, or none at all.
    fn job_signature(&mut self, place: usize) -> JobSignature {
        if self.engine.market().is_none() {
            return JobSignature::Missing;
        }
        let (is_hostile, replays) = (self.has(RunPart::HostileBids), self.has(RunPart::Replays));
        let now_ms = self.now.wall_ms;
        let Some(Some(user)) = self.users.get_mut(place) else { return JobSignature::Missing };
        let chance = user.client.below(40);
        let Some(entry) = self.acl.get(&user.name) else { return JobSignature::Missing };
        let sign = |timestamp: &str| signature::sign(&signature::job_message(&user.name, timestamp), &entry.key);
        let fresh = (now_ms.to_string(), sign(&now_ms.to_string()));
        let (timestamp, signature) = match (chance, &user.job_signature) {
            (0, _) if is_hostile => return JobSignature::Missing,
            (1, _) if is_hostile => (i64::MAX.to_string(), sign(&i64::MAX.to_string())),
            (2, _) if is_hostile => (fresh.0, "bm90IG1pbmU=".to_owned()),
            (3, _) if is_hostile => ("NaN".to_owned(), sign("NaN")),
            (4..8, Some(before)) if replays => before.clone(),
            _ => fresh,
        };
        let verdict = signature::job_signature(&self.acl, &user.name, Some(&timestamp), Some(&signature));
        user.job_signature = Some((timestamp, signature));
        verdict
    }

    fn kill_something(&mut self, place: usize, chance: u64) -> Result<(), Violation> {
        let mut random = Random::stream(chance, place as u64);
        let Some(id) = random.pick(&self.recent_jobs).copied() else { return Ok(()) };
        let Some(Some(user)) = self.users.get(place) else { return Ok(()) };
        let caller = Caller::named(user.name.as_str());
        let event = match random.below(6) {
            0 | 1 => Event::KillJob { id, caller },
            2 => {
                let priority = ["VERY_HIGH", "HIGH", "LOW", "MIDDLING"][random.below(4) as usize].to_owned();
                Event::SetJobPriority { id, priority, caller }
            }
            _ => {
                let kind = if random.one_in(3) { Kind::Reduce } else { Kind::Map };
                let id = id.task(kind, random.below(8) as i32).attempt(random.below(2) as i32);
                Event::KillTask { id, fail: random.one_in(2), caller }
            }
        };
        self.step(event, &Intent::Other).map(drop)
    }
}

fn deadline(random: &mut Random) -> DeadlineSpec {
    let mut task = |most_ms: u64| random.one_in(2).then(|| StatedCost::TaskMs(random.between(1, most_ms)));
    let (map, reduce) = (task(8_000), task(8_000));
    DeadlineSpec {
        due: Due::AfterMs(random.between(1, 200_000)),
        map,
        reduce,
        copy_us_per_mb: None,
        filter_millionths: None,
        keys: if random.one_in(5) { KeySpread::Single } else { KeySpread::Uniform },
    }
}

fn job_spec(user: &str, queue: &str, is_tiny: bool, random: &mut Random) -> JobSpec {
    let (maps, reduces) = match (is_tiny, random.below(12)) {
        (true, _) => (1, 0),
        (false, 0) => (0, random.below(2)),
        (false, 1) => (random.between(20, 60), random.between(1, 12)),
        (false, _) => (random.between(1, 16), random.below(5)),
    };
    JobSpec {
        name: "simulated".to_owned(),
        priority: if random.one_in(8) { Priority::High } else { Priority::Normal },
        map_max_attempts: random.between(1, 4) as u32,
        reduce_max_attempts: random.between(1, 4) as u32,
        max_map_failures_percent: if random.one_in(5) { 30 } else { 0 },
        max_reduce_failures_percent: if random.one_in(5) { 50 } else { 0 },
        max_tracker_failures: random.between(1, 4) as u32,
        reduce_input_limit_bytes: random.one_in(30).then_some(50),
        slowstart_millionths: [0, 50_000, 500_000, 1_000_000][random.below(4) as usize],
        speculative: PerKind::new(!random.one_in(3), !random.one_in(3)),
        max_skipped: PerKind::new(random.below(3) / 2 * 10, 0),
        keep_staging: random.one_in(6),
        ..JobSpec::with_defaults(user, queue, maps as u32, reduces as u32)
    }
}
