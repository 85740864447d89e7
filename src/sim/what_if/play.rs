//! Plays a recording through the engine in virtual time.
//!
//! Nothing is random: the same recording and the same settings give the same ends. What is durable is so at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::{
    Caller, Effect, Engine, EngineConfig, Event, Fact, IdOwner, PolicyConfig, ReadSubmission, Reply, Restored, Step,
    SubmissionReply,
};
use crate::mapreduce::{AttemptRole, JobFact, JobSpec};
use crate::market::{
    BudgetLine, JobSignature, KeyId, Order, ParsedQuery, Role as MarketRole, ServletRequest, VerifiedUser,
};
use crate::model::{
    AttemptId, AttemptState, Credits, DEFAULT_RACK, FactNumber, Identifier, JobId, Kind, Now, PerKind, QueueName,
    RunState,
};
use crate::scheduler::constraint::{AdmissionRule, DeadlineChange, NewDeadline, StatedCost};
use crate::sim::ADMINISTRATOR;
use crate::sim::event_queue::EventQueue;

use super::play_tracker::{MapsDone, PlayTracker, PlayedAttempt};
use super::recording::{MarketChange, Played, PlayedJob, Recording, TaskTimes, mean};

#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// The engine's settings. Access lists and signatures are not asked for: what was accepted is.
    pub config: EngineConfig,
    pub with_orders: bool,
    /// Whether deadlines are admitted that the scheduler would reject: as configured, what was admitted is.
    pub admits_all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlayEvent {
    /// A tracker comes, or has other slots: its place among those recorded.
    Come(usize),
    /// A change of the market: its place.
    Market(usize),
    /// A job is submitted: its place.
    Submit(usize),
    /// A job is killed, as its user did.
    Kill(usize),
    /// A job gets another deadline, as its user gave it: its place, and that of the change.
    Deadline(usize, usize),
    /// A tracker calls; another call may have been planned since.
    Call(usize, u64),
}

#[derive(Debug, Default)]
struct JobInPlay {
    maps: MapsDone,
    maps_ended: Vec<bool>,
    /// Attempts of each task that failed or will.
    failures: BTreeMap<(Kind, i32), usize>,
    /// Whether it was killed or has failed: its trackers are not silent before they have let go of it.
    is_ending: bool,
}

pub struct Play<'a> {
    recording: &'a Recording,
    options: PlayOptions,
    engine: Engine,
    now: Now,
    queue: EventQueue<PlayEvent>,
    tracker_places: BTreeMap<Arc<str>, usize>,
    trackers: Vec<Option<PlayTracker>>,
    racks: BTreeMap<&'a str, &'a str>,
    ids: BTreeMap<JobId, usize>,
    live: FxHashMap<usize, JobInPlay>,
    /// Attempts that hold slots: since when and how many. Never iterated.
    launched: FxHashMap<AttemptId, (i64, u32)>,
    /// Jobs that are neither over nor refused.
    left: usize,
    connections: u64,
    silence_ms: u64,
    usual: PerKind<TaskTimes>,
    played: Played,
    journal: &'a mut dyn FnMut(&[Fact]),
}

/// How long a play may last beyond the end of what was recorded, in its own length; and at least, ms.
const LONGEST_OVERTIME: i64 = 3;
const LEAST_OVERTIME_MS: i64 = 6 * 3_600_000;

/// About so many heartbeats of a play may find nothing to report; a tracker calls at least every so many ms, and more
/// often while it has room for maps.
const IDLE_HEARTBEATS: u64 = 1_000_000;
const LONGEST_SILENCE_MS: u64 = 10_000;
const LONGEST_SILENCE_WITH_ROOM_MS: u64 = 2_000;

/// Between the first calls of trackers that are there from the beginning, ms.
const FIRST_CALLS_MS: u64 = 7;

impl<'a> Play<'a> {
    pub fn run(recording: &Recording, options: PlayOptions) -> Played {
        Play::run_with(recording, options, &mut |_| {})
    }

    /// The same; `journal` gets all facts.
    pub fn run_with(recording: &'a Recording, options: PlayOptions, journal: &'a mut dyn FnMut(&[Fact])) -> Played {
        let mut play = Self::new(recording, options, journal);
        play.advance_while(&mut || true);
        play.played
    }

    /// The same without a journal, as long as `may_continue` says so, which is asked now and then; none: it did not.
    pub fn run_while(
        recording: &Recording,
        options: PlayOptions,
        may_continue: &mut dyn FnMut() -> bool,
    ) -> Option<Played> {
        let mut journal = |_: &[Fact]| {};
        let mut play = Play::new(recording, options, &mut journal);
        play.advance_while(may_continue).then_some(play.played)
    }

    /// Plays to the end; false if it may not.
    fn advance_while(&mut self, may_continue: &mut dyn FnMut() -> bool) -> bool {
        const EVENTS_BETWEEN_QUESTIONS: u64 = 512;
        self.begin();
        let end_ms = self.latest_end_ms();
        for event in 0_u64.. {
            if event.is_multiple_of(EVENTS_BETWEEN_QUESTIONS) && !may_continue() {
                return false;
            }
            if self.left == 0 || self.now.wall_ms >= end_ms || !self.advance() {
                break;
            }
        }
        self.played.end_ms = self.now.wall_ms;
        true
    }

    fn new(recording: &'a Recording, mut options: PlayOptions, journal: &'a mut dyn FnMut(&[Fact])) -> Self {
        let config = &mut options.config;
        config.acls_enabled = false;
        config.accepts_recorded = true;
        if let PolicyConfig::Constraint(constraint) = &mut config.policy
            && options.admits_all
        {
            constraint.admission = AdmissionRule::Warn;
        }
        // Jobs have the ids that were recorded, which an engine takes from an earlier run.
        config.identifier = Identifier::from_number(0);
        config.daemon_user = ADMINISTRATOR.to_owned();
        let now = Now { mono_ms: 1, wall_ms: recording.start_ms };
        let engine = Engine::new(options.config.clone(), Restored::default(), now);
        let hosts = recording.jobs.iter().flat_map(|job| job.splits.hosts());
        let racks = hosts.map(|host| (host.host.as_str(), host.rack.as_str())).collect();
        let usual = |kind| {
            let all = recording.jobs.iter().flat_map(|job| job.times.tasks[kind].iter().flatten().copied());
            mean(all).unwrap_or_default()
        };
        let jobs = recording.jobs.len();
        Self {
            recording,
            engine,
            now,
            queue: EventQueue::default(),
            tracker_places: BTreeMap::new(),
            trackers: Vec::new(),
            racks,
            ids: BTreeMap::new(),
            live: FxHashMap::default(),
            launched: FxHashMap::default(),
            left: jobs,
            connections: 0,
            silence_ms: longest_silence_ms(recording),
            usual: PerKind::new(usual(Kind::Map), usual(Kind::Reduce)),
            played: Played { jobs: vec![PlayedJob::default(); jobs], ..Played::default() },
            journal,
            options,
        }
    }

    fn begin(&mut self) {
        let (_, facts) = self.engine.take_start_facts();
        self.note_facts(&facts);
        if let Some(market) = &self.recording.market {
            let lines = market.accounts.iter().map(|(queue, (budget, rate))| BudgetLine {
                queue: queue.clone(),
                budget: *budget,
                rate: *rate,
                is_budget_rounded: false,
                is_rate_rounded: false,
            });
            self.engine.seed_budgets(lines.collect(), self.now);
            for (place, (at_ms, _)) in market.changes.iter().enumerate() {
                self.schedule_at(*at_ms, PlayEvent::Market(place));
            }
        }
        let mut first_calls_ms = 0;
        // What trackers did after the last job was over is no part of it.
        let end_ms = self.recording.end_ms();
        for (place, tracker) in self.recording.trackers.iter().enumerate().filter(|(_, found)| found.from_ms <= end_ms)
        {
            if tracker.from_ms <= self.recording.start_ms {
                first_calls_ms += FIRST_CALLS_MS;
                self.queue.schedule(self.now.mono_ms + first_calls_ms, PlayEvent::Come(place));
            } else {
                self.schedule_at(tracker.from_ms, PlayEvent::Come(place));
            }
        }
        for (place, job) in self.recording.jobs.iter().enumerate() {
            self.schedule_at(job.submit_ms, PlayEvent::Submit(place));
        }
    }

    fn latest_end_ms(&self) -> i64 {
        let end_ms = self.recording.end_ms();
        let overtime_ms = (end_ms - self.recording.start_ms).saturating_mul(LONGEST_OVERTIME).max(LEAST_OVERTIME_MS);
        end_ms.saturating_add(overtime_ms)
    }

    /// Schedules an event by the wall clock; what is past happens at once.
    fn schedule_at(&mut self, at_ms: i64, event: PlayEvent) {
        let in_ms = u64::try_from(at_ms.saturating_sub(self.now.wall_ms)).unwrap_or(0);
        self.queue.schedule(self.now.mono_ms + in_ms, event);
    }

    /// Processes the next event; false when there is none.
    fn advance(&mut self) -> bool {
        let timer_ms = self.engine.next_timer_ms().filter(|due| *due < u64::MAX);
        let Some(next_ms) = self.queue.next_mono_ms() else { return false };
        let timer_fires = timer_ms.is_some_and(|timer_ms| timer_ms <= next_ms);
        let at_ms = timer_ms.filter(|_| timer_fires).unwrap_or(next_ms);
        let passed_ms = at_ms.saturating_sub(self.now.mono_ms);
        self.now.mono_ms += passed_ms;
        self.now.wall_ms = self.now.wall_ms.saturating_add_unsigned(passed_ms);
        if timer_fires {
            let durable = FactNumber(u64::MAX);
            self.step(Event::Timer { durable });
            return true;
        }
        let Some((_, event)) = self.queue.take() else { return false };
        match event {
            PlayEvent::Come(place) => self.come(place),
            PlayEvent::Market(place) => self.change_market(place),
            PlayEvent::Submit(place) => self.submit(place),
            PlayEvent::Kill(place) => self.kill(place),
            PlayEvent::Deadline(place, change) => self.change_deadline(place, change),
            PlayEvent::Call(place, number) => self.call(place, number),
        }
        true
    }

    fn step(&mut self, event: Event) -> Step {
        self.played.events += 1;
        let step = self.engine.step(event, self.now);
        self.note_facts(&step.facts);
        for effect in &step.effects {
            if let Effect::ResolveRack { host } = effect {
                let rack = self.racks.get(&**host).copied().unwrap_or(DEFAULT_RACK);
                let resolved =
                    self.engine.step(Event::RackResolved { host: host.clone(), rack: rack.into() }, self.now);
                self.note_facts(&resolved.facts);
            }
        }
        step
    }
}

impl Play<'_> {
    fn come(&mut self, place: usize) {
        let recorded = &self.recording.trackers[place];
        let end_ms = self.recording.end_ms();
        let until_ms = recorded.until_ms.filter(|until_ms| *until_ms <= end_ms).unwrap_or(i64::MAX);
        self.connections += 1;
        let connection = self.connections;
        let at = match self.tracker_places.get(&recorded.name) {
            Some(at) => *at,
            None => {
                self.tracker_places.insert(Arc::clone(&recorded.name), self.trackers.len());
                self.trackers.push(Some(PlayTracker::new(recorded, connection)));
                self.trackers.len() - 1
            }
        };
        let Some(tracker) = self.trackers[at].as_mut() else { return };
        tracker.fake.slots = recorded.slots;
        // Only its slots have changed, for it is there without a gap.
        let is_same = tracker.until_ms == recorded.from_ms;
        tracker.until_ms = until_ms;
        if is_same {
            return;
        }
        let number = tracker.next_call();
        let was = std::mem::replace(&mut tracker.connection, connection);
        if number > 1 {
            tracker.fake.restart();
            self.step(Event::ConnectionClosed { connection: was });
        }
        self.call(at, number);
    }

    fn call(&mut self, place: usize, number: u64) {
        let Some(mut tracker) = self.trackers[place].take() else { return };
        if tracker.is_call_due(number) {
            if self.now.wall_ms > tracker.until_ms {
                self.step(Event::ConnectionClosed { connection: tracker.connection });
            } else {
                let pause_ms = self.report(&mut tracker);
                self.plan_call(place, &mut tracker, pause_ms);
            }
        }
        self.trackers[place] = Some(tracker);
    }

    fn plan_call(&mut self, place: usize, tracker: &mut PlayTracker, pause_ms: u64) {
        let (number, at_ms) = (tracker.next_call(), self.now.mono_ms + pause_ms);
        tracker.call_ms = at_ms;
        self.queue.schedule(at_ms, PlayEvent::Call(place, number));
    }

    /// The trackers of a job that was killed or has failed call as soon as trackers do: its slots come free then.
    fn hurry_trackers(&mut self, job: usize) {
        for place in 0..self.trackers.len() {
            let is_concerned = |tracker: &mut PlayTracker| tracker.has_attempt_of(|of| of == job);
            let Some(mut tracker) = self.trackers[place].take_if(is_concerned) else { continue };
            if tracker.call_ms > self.now.mono_ms + tracker.interval_ms {
                let pause_ms = tracker.interval_ms;
                self.plan_call(place, &mut tracker, pause_ms);
            }
            self.trackers[place] = Some(tracker);
        }
    }

    /// Sends a heartbeat and obeys its answer; returns when the next one is due, ms from now.
    fn report(&mut self, tracker: &mut PlayTracker) -> u64 {
        const AFTER_REFUSAL_MS: u64 = 10_000;
        let live = &self.live;
        let maps = |job: usize| live.get(&job).map(|job| job.maps).unwrap_or_default();
        let request = tracker.request(self.now.wall_ms, maps);
        let step = self.step(Event::Heartbeat { request, connection: tracker.connection, address: None });
        let Reply::Heartbeat(answer) = &step.reply else {
            tracker.fake.restart();
            return AFTER_REFUSAL_MS;
        };
        // The engine has just encoded it.
        let Ok(answer) = answer.response() else { return AFTER_REFUSAL_MS };
        let Self { recording, live, ids, usual, now, silence_ms, .. } = self;
        tracker.fake.obey(&answer, |task| {
            let id = task.status.attempt;
            let place = ids.get(&id.task.job).copied().unwrap_or_default();
            let Some(times) = recording.jobs.get(place).map(|job| &job.times) else {
                return PlayedAttempt::new(place, TaskTimes::default(), true, now.wall_ms);
            };
            let (times, succeeds) = match () {
                () if task.task_cleanup => (TaskTimes::default(), true),
                () if task.job_setup => (times.setup, true),
                () if task.job_cleanup.is_some() => (times.cleanup, true),
                () => {
                    let (kind, number) = (id.task.kind, id.task.number);
                    let live = live.entry(place).or_default();
                    let failed = live.failures.entry((kind, number)).or_default();
                    let (times, succeeds) = times.of_attempt(kind, number, *failed, usual[kind]);
                    *failed += usize::from(!succeeds);
                    (times, succeeds)
                }
            };
            PlayedAttempt::new(place, times, succeeds, now.wall_ms)
        });
        tracker.fake.commit_permitted();
        let interval_ms = u64::try_from(answer.interval_ms).unwrap_or(1).max(1);
        tracker.interval_ms = interval_ms;
        if tracker.has_attempt_of(|job| live.get(&job).is_none_or(|job| job.is_ending)) {
            return interval_ms;
        }
        let has_room = tracker.fake.busy(Kind::Map) < tracker.fake.slots.map;
        let silence_ms = if has_room { LONGEST_SILENCE_WITH_ROOM_MS.min(*silence_ms) } else { *silence_ms };
        // At the heartbeat after the next end, as it would without the silence.
        let until_end_ms = tracker.next_end_ms().map(|end_ms| u64::try_from(end_ms - now.wall_ms).unwrap_or(0));
        let until_end_ms = until_end_ms.map_or(u64::MAX, |ms| ms.div_ceil(interval_ms).saturating_mul(interval_ms));
        until_end_ms.min(silence_ms).max(interval_ms)
    }

    fn submit(&mut self, place: usize) {
        let recorded = &self.recording.jobs[place];
        let user = recorded.spec.user.as_str();
        let id = recorded.id;
        self.step(Event::UnusedIdFound { id, owner: IdOwner::named(user) });
        self.ids.insert(id, place);
        let maps = recorded.spec.maps;
        let live = JobInPlay {
            maps: MapsDone { left: maps, all: maps, last_end_ms: i64::MIN },
            maps_ended: vec![false; maps as usize],
            ..JobInPlay::default()
        };
        self.live.insert(place, live);
        let spec = self.spec(place);
        let caller = Caller::named(user);
        let timestamp_ms = self.now.wall_ms;
        let read = ReadSubmission {
            id,
            caller: caller.clone(),
            spec,
            splits: Arc::clone(&recorded.splits),
            credentials: Default::default(),
            signature: JobSignature::Verified { user: signer(user, MarketRole::User), timestamp_ms },
            token_secret: [0; 20],
            job_xml: Arc::default(),
        };
        let events = [
            Event::SubmissionRequested { id, caller },
            Event::SubmissionRead(Box::new(read)),
            Event::SystemDirWritten { id },
        ];
        for event in events {
            match self.step(event).reply {
                Reply::Refused(refusal) => return self.refuse(place, refusal.to_string()),
                Reply::Submission(SubmissionReply::Accepted(_)) => break,
                _ => {}
            }
        }
        if recorded.state == RunState::Killed {
            let after_ms = recorded.ending_ms.unwrap_or(recorded.finish_ms).saturating_sub(recorded.submit_ms);
            self.schedule_at(self.now.wall_ms.saturating_add(after_ms), PlayEvent::Kill(place));
        }
        for (change, (at_ms, _)) in recorded.deadline_changes.iter().enumerate() {
            self.schedule_at(*at_ms, PlayEvent::Deadline(place, change));
        }
    }

    /// As it was submitted; in the first queue where its own does not exist.
    fn spec(&mut self, place: usize) -> Arc<JobSpec> {
        let recorded = &self.recording.jobs[place];
        let config = &self.options.config;
        let needs_queue = !config.policy.keeps_queue(&recorded.spec.queue, &config.queues);
        let other = config.queues.first().filter(|_| needs_queue).map(|queue| queue.name.clone());
        let drops_order = !self.options.with_orders && recorded.spec.order.is_some();
        if other.is_none() && !drops_order {
            return Arc::clone(&recorded.spec);
        }
        let mut spec = JobSpec::clone(&recorded.spec);
        if let Some(queue) = other {
            spec.queue = queue;
            self.played.moved += 1;
        }
        if drops_order {
            spec.order = None;
        }
        Arc::new(spec)
    }

    fn refuse(&mut self, place: usize, why: String) {
        self.played.jobs[place].refusal = Some(why);
        self.live.remove(&place);
        self.left -= 1;
    }

    fn kill(&mut self, place: usize) {
        let id = self.recording.jobs[place].id;
        if self.live.contains_key(&place) {
            self.step(Event::KillJob { id, caller: Caller::named(ADMINISTRATOR) });
        }
    }

    fn change_deadline(&mut self, place: usize, change: usize) {
        let job = &self.recording.jobs[place];
        let Some((_, deadline)) = job.deadline_changes.get(change) else { return };
        let task_ms = |cost: Option<StatedCost>| match cost {
            Some(StatedCost::TaskMs(ms)) => Some(ms),
            // A change states no other costs: these are the job's own.
            Some(StatedCost::UsPerMb(_)) | None => None,
        };
        let change = deadline.as_ref().map_or(DeadlineChange::Clear, |deadline| {
            DeadlineChange::Set(NewDeadline {
                due: deadline.due,
                map_task_ms: task_ms(deadline.map),
                reduce_task_ms: task_ms(deadline.reduce),
                filter_millionths: deadline.filter_millionths,
            })
        });
        if self.live.contains_key(&place) {
            self.step(Event::SetDeadline { id: job.id, change, caller: Caller::named(ADMINISTRATOR) });
        }
    }

    fn note_facts(&mut self, facts: &[Fact]) {
        (self.journal)(facts);
        for fact in facts {
            match fact {
                Fact::Job(fact) => self.note_job_fact(fact),
                Fact::JobsCharged { jobs, .. } => {
                    for charged in jobs {
                        if let Some(place) = self.ids.get(&charged.job) {
                            self.played.jobs[*place].cost = charged.cost;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn note_job_fact(&mut self, fact: &JobFact) {
        let Some(place) = self.ids.get(&fact.job()).copied() else { return };
        let played = &mut self.played.jobs[place];
        match fact {
            JobFact::AttemptLaunched { attempt, role, slots, at_ms, .. } => {
                if *role == AttemptRole::Work {
                    played.first_launch_ms.get_or_insert(*at_ms);
                }
                self.launched.insert(*attempt, (*at_ms, *slots));
            }
            JobFact::AttemptEnded(ended) => {
                if let Some((launch_ms, slots)) = self.launched.remove(&ended.attempt) {
                    let held_ms = u64::try_from(self.now.wall_ms.saturating_sub(launch_ms)).unwrap_or(0);
                    played.slot_ms += held_ms * u64::from(slots);
                    let is_killed = matches!(ended.state, AttemptState::Killed | AttemptState::KilledUnclean);
                    // What ends with its job is no loss.
                    played.kills += u64::from(is_killed && played.end.is_none());
                }
                let task = ended.attempt.task;
                let is_map = task.kind == Kind::Map && ended.state == AttemptState::Succeeded;
                let live = self.live.get_mut(&place).filter(|_| is_map);
                let Some(live) = live else { return };
                let ended_before = usize::try_from(task.number).ok().and_then(|map| live.maps_ended.get_mut(map));
                // Setup and cleanup have numbers after the last map.
                if ended_before.is_some_and(|before| !std::mem::replace(before, true)) {
                    live.maps.left = live.maps.left.saturating_sub(1);
                    live.maps.last_end_ms = live.maps.last_end_ms.max(ended.finish_ms);
                }
            }
            JobFact::Ending { .. } => {
                if let Some(live) = self.live.get_mut(&place) {
                    live.is_ending = true;
                }
                self.hurry_trackers(place);
            }
            JobFact::Ended { state, finish_ms, .. } => {
                played.end = Some((*state, *finish_ms));
                self.live.remove(&place);
                self.left -= 1;
            }
            _ => {}
        }
    }

    fn change_market(&mut self, place: usize) {
        let Some((_, change)) = self.recording.market.as_ref().and_then(|market| market.changes.get(place)) else {
            return;
        };
        let operation = match change {
            MarketChange::Money(queue, amount) => {
                self.open_queue(queue);
                format!("addBudget={amount}&queue={queue}")
            }
            MarketChange::Bid(queue, rate) => {
                self.open_queue(queue);
                format!("setSpending={rate}&queue={queue}")
            }
            MarketChange::Order(_) | MarketChange::OrderTakenBack(_) if !self.options.with_orders => return,
            MarketChange::Order(Order { job, deadline_ms, max_rate, max_cost }) => {
                let max_cost = max_cost.map(|cost: Credits| format!("&maxCost={cost}")).unwrap_or_default();
                format!("bid={job}&deadline={deadline_ms}&maxRate={max_rate}{max_cost}")
            }
            MarketChange::OrderTakenBack(job) => {
                format!("unbid={job}")
            }
        };
        self.ask(&operation);
    }

    fn open_queue(&mut self, queue: &QueueName) {
        if self.engine.market().is_some_and(|market| market.account(queue.as_str()).is_none()) {
            self.ask(&format!("addQueue={queue}"));
        }
    }

    /// Asks the market as its administrator.
    fn ask(&mut self, operation: &str) {
        let raw = format!("{operation}&user={ADMINISTRATOR}&timestamp={}", self.now.wall_ms);
        let Ok(query) = ParsedQuery::parse(&raw) else { return };
        let verified = Some(signer(ADMINISTRATOR, MarketRole::Admin));
        self.step(Event::Market(Box::new(ServletRequest { verified, query })));
    }
}

/// How long a tracker of a long play may be silent while nothing ends there, ms; 0 in a short play.
fn longest_silence_ms(recording: &Recording) -> u64 {
    let lasts_ms = u64::try_from(recording.end_ms().saturating_sub(recording.start_ms)).unwrap_or(0);
    let all_ms = lasts_ms.saturating_mul(u64::try_from(recording.nodes()).unwrap_or(u64::MAX));
    (all_ms / IDLE_HEARTBEATS).min(LONGEST_SILENCE_MS)
}

fn signer(user: &str, role: MarketRole) -> VerifiedUser {
    VerifiedUser { user: user.to_owned(), role, key_id: KeyId(0) }
}
