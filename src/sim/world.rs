//! The world of one run: everybody in it, the clock, and the one way by which anything reaches the engine.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::engine::{Caller, Engine, Event, Restored, Step};
use crate::market::Acl;
use crate::model::{AttemptId, FactNumber, JobId, Now};

use super::ADMINISTRATOR;
use super::agenda::{Agenda, Wake};
use super::attempt::Weather;
use super::cuts::{Part, STRETCHES};
use super::daemon_run::DaemonRun;
use super::journal::Journal;
use super::laws::{Intent, Judge, Law, Tally, Violation};
use super::plan::Plan;
use super::random::Random;
use super::run_options::RunOptions;
use super::tracker::SimTracker;
use super::user::{SentRequest, Submission, User};

/// Everything there is in a run.
pub(super) struct World<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) plan: Plan,
    pub(super) engine: Engine,
    pub(super) judge: Judge,
    pub(super) now: Now,
    pub(super) agenda: Agenda,
    /// None where a tracker is left out.
    pub(super) trackers: Vec<Option<SimTracker>>,
    pub(super) users: Vec<Option<User>>,
    pub(super) acl: Acl,
    pub(super) submissions: BTreeMap<u64, Submission>,
    pub(super) last_submission: u64,
    /// Submissions that a crash has cut off and that come again.
    pub(super) resubmissions: Vec<Submission>,
    /// Jobs whose acceptance was acknowledged to a client; some may have ended.
    pub(super) acknowledged: BTreeSet<JobId>,
    /// Attempts whose launch has reached a tracker. Never iterated.
    pub(super) delivered: FxHashSet<AttemptId>,
    /// Jobs that were accepted lately.
    pub(super) recent_jobs: Vec<JobId>,
    pub(super) administrator: Random,
    pub(super) administrator_sent: Vec<SentRequest>,
    pub(super) interventions: Random,
    pub(super) mishaps: Random,
    /// What befalls the JobTracker itself.
    pub(super) crashes: Random,
    pub(super) daemon: DaemonRun,
    pub(super) journal: &'a mut dyn Journal,
    /// Until then the store stands still, and this was its last fact.
    pub(super) store_stall: Option<(u64, FactNumber)>,
    /// No actor chooses anything any more, nothing goes wrong.
    pub(super) is_calm: bool,
    last_connection: u64,
    /// When the engine wants the timer, and when it rings.
    pub(super) timer: (Option<u64>, u64),
    tamper: &'a mut dyn FnMut(&mut Step),
}

/// Streams of chance, one an actor; trackers and users follow.
const ADMINISTRATOR_STREAM: u64 = 1;
const INTERVENTION_STREAM: u64 = 2;
const MISHAP_STREAM: u64 = 3;
const CRASH_STREAM: u64 = 4;
const TRACKER_STREAM: u64 = 1_000;
const CLIENT_STREAM: u64 = 2_000;
const BIDDER_STREAM: u64 = 3_000;

/// Longest time in which all must come to its end, and longest time without any progress beyond what the expiry of
/// trackers and launches takes, ms.
const LONGEST_END_MS: u64 = 4 * 3_600_000;
const LONGEST_PAUSE_MS: u64 = 120_000;

// === impl World ===

impl<'a> World<'a> {
    pub(super) fn new(
        options: &'a RunOptions,
        journal: &'a mut dyn Journal,
        tamper: &'a mut dyn FnMut(&mut Step),
    ) -> Self {
        let plan = Plan::new(options.seed, options.policy);
        let now = plan.start;
        let mut engine = Engine::new(plan.engine.clone(), Restored::default(), now);
        engine.seed_budgets(plan.budget_lines(), now);
        let stream = |actor: u64| Random::stream(options.seed, actor);
        let cuts = &options.cuts;
        let has = |part| cuts.has(part);
        let trackers = plan.trackers.iter().enumerate().map(|(place, tracker)| {
            let random = stream(TRACKER_STREAM + place as u64);
            // The first one has slots of both kinds: without it no job might end.
            (place == 0 || has(Part::Tracker(place))).then(|| SimTracker::new(tracker, random, place as u64))
        });
        let user = |(place, user): (usize, &super::plan::UserPlan)| {
            has(Part::User(place)).then(|| User {
                name: user.name.clone(),
                client: stream(CLIENT_STREAM + place as u64),
                bidder: stream(BIDDER_STREAM + place as u64),
                sent: Vec::new(),
                job_signature: None,
            })
        };
        let users = plan.users.iter().enumerate().map(user).collect();
        Self {
            options,
            judge: Judge::new(&plan),
            now,
            agenda: Agenda::default(),
            trackers: trackers.collect(),
            users,
            acl: acl(&plan),
            submissions: BTreeMap::new(),
            last_submission: 0,
            resubmissions: Vec::new(),
            acknowledged: BTreeSet::new(),
            delivered: FxHashSet::default(),
            recent_jobs: Vec::new(),
            administrator: stream(ADMINISTRATOR_STREAM),
            administrator_sent: Vec::new(),
            interventions: stream(INTERVENTION_STREAM),
            mishaps: stream(MISHAP_STREAM),
            crashes: stream(CRASH_STREAM),
            daemon: DaemonRun::first(plan.engine.identifier),
            journal,
            store_stall: None,
            is_calm: false,
            last_connection: 1_000,
            timer: (None, 0),
            tamper,
            engine,
            plan,
        }
    }

    pub(super) fn tally(&self) -> Tally {
        self.judge.tally()
    }

    /// From the start to the end, or to the first violation.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        let (first, facts) = self.engine.take_start_facts();
        self.judge.begin(first, &facts, &self.engine)?;
        self.keep_start_facts(facts);
        self.note_timer();
        self.wake_everybody();
        while self.tally().events < self.options.events && !self.is_cut_off() && self.advance()? {}
        self.come_to_an_end()
    }

    /// Whether a part takes place now.
    pub(super) fn has(&self, part: Part) -> bool {
        !self.is_calm && self.options.cuts.has(part)
    }

    /// Whether anybody may choose anything now.
    pub(super) fn may_choose(&self) -> bool {
        if self.daemon.is_down() {
            return false;
        }
        self.chooses()
    }

    /// Whether anything is chosen at all at this time of the run.
    pub(super) fn chooses(&self) -> bool {
        let stretch = self.tally().events.saturating_mul(STRETCHES) / self.options.events.max(1);
        self.has(Part::Stretch(stretch))
    }

    pub(super) fn weather(&self) -> Weather<'_> {
        Weather { seed: self.options.seed, plan: &self.plan, cuts: &self.options.cuts, is_calm: self.is_calm }
    }

    /// A number that no connection has had.
    pub(super) fn new_connection(&mut self) -> u64 {
        self.last_connection += 1;
        self.last_connection
    }

    pub(super) fn root(&self) -> Caller {
        Caller::named(ADMINISTRATOR)
    }

    pub(super) fn wake_in(&mut self, pause_ms: u64, wake: Wake) {
        self.agenda.enter(self.now.mono_ms + pause_ms.max(1), wake);
    }

    /// Does what one event entails, and judges it.
    pub(super) fn step(&mut self, event: Event, intent: &Intent) -> Result<Step, Violation> {
        let before = self.before_the_last();
        let (now, is_exclusion) = (self.daemon_now(), matches!(event, Event::HostsRead { .. }));
        self.judge.before(*intent == Intent::Timer, &self.engine, now);
        let mut step = self.engine.step(event, now);
        (self.tamper)(&mut step);
        self.judge.after(&step, intent, &self.engine, now)?;
        if !is_exclusion {
            self.judge_losses(&step)?;
        }
        self.keep_facts(&step, before);
        self.note_timer();
        Ok(step)
    }

    pub(super) fn ring(&mut self) -> Result<(), Violation> {
        let durable = self.durable();
        self.step(Event::Timer { durable }, &Intent::Timer).map(drop)
    }

    pub(super) fn violation(&self, law: Law, culprit: String) -> Violation {
        self.judge.violation(law, culprit)
    }

    fn is_cut_off(&self) -> bool {
        let age_ms = self.now.mono_ms - self.plan.start.mono_ms;
        self.options.cuts.until_ms.is_some_and(|until_ms| age_ms >= until_ms)
    }

    fn wake_everybody(&mut self) {
        for place in 0..self.trackers.len() {
            self.wake_in(1 + 37 * place as u64, Wake::Tracker(place));
        }
        for place in 0..self.users.len() {
            self.wake_in(50 + 20 * place as u64, Wake::Client(place));
            self.wake_in(70 + 20 * place as u64, Wake::Bidder(place));
        }
        let others = [Wake::Administrator, Wake::Intervention, Wake::ClockStep, Wake::StoreStall, Wake::EarlyTimer];
        others.into_iter().for_each(|wake| self.wake_in(1_000, wake));
        if self.has_crashes() {
            self.wake_in(1_500, Wake::Crash);
        }
    }

    /// Lets the next thing happen; false when there is none.
    fn advance(&mut self) -> Result<bool, Violation> {
        let timer_at = self.timer.0.map(|_| self.timer.1);
        let next_at = self.agenda.next_mono_ms();
        let rings = timer_at.is_some_and(|timer_at| next_at.is_none_or(|next_at| timer_at <= next_at));
        let Some(at_mono_ms) = (if rings { timer_at } else { next_at }) else { return Ok(false) };
        let passed_ms = at_mono_ms.saturating_sub(self.now.mono_ms);
        self.now.mono_ms += passed_ms;
        self.now.wall_ms += passed_ms.cast_signed();
        if rings {
            self.ring()?;
            return Ok(true);
        }
        let Some((_, wake)) = self.agenda.take() else { return Ok(false) };
        match wake {
            Wake::Tracker(place) => self.tracker_wakes(place)?,
            Wake::Client(place) => self.client_wakes(place)?,
            Wake::Bidder(place) => self.bidder_wakes(place)?,
            Wake::Submission(number) => self.continue_submission(number)?,
            Wake::Administrator => self.administrator_wakes()?,
            Wake::Intervention => self.intervene()?,
            Wake::ClockStep => self.clock_steps(),
            Wake::StoreStall => self.store_stalls(),
            Wake::EarlyTimer => self.early_timer()?,
            Wake::Crash => self.crash_comes()?,
            Wake::Fall => self.fall()?,
            Wake::Start => self.start()?,
            Wake::Resubmission => self.resubmit()?,
        }
        Ok(true)
    }

    /// Follows what the engine wants of the timer, which may ring late.
    pub(super) fn note_timer(&mut self) {
        let due = self.engine.next_timer_ms().filter(|due| *due < u64::MAX);
        let due = due.map(|due| due.wrapping_sub(self.daemon.ahead_ms));
        if due == self.timer.0 {
            return;
        }
        let late_ms = match self.has(Part::LateTimers) && self.mishaps.one_in(20) {
            true => self.mishaps.below(3_000),
            false => 0,
        };
        let at_mono_ms = due.unwrap_or(u64::MAX).max(self.now.mono_ms).saturating_add(late_ms);
        self.timer = (due, at_mono_ms);
    }

    /// No actor begins anything new and nothing goes wrong any more: every job must come to its end (law 5).
    fn come_to_an_end(&mut self) -> Result<(), Violation> {
        self.is_calm = true;
        self.store_stall = None;
        self.agenda.clear();
        self.end_crashes()?;
        self.end_interventions()?;
        for number in self.submissions.keys().copied().collect::<Vec<_>>() {
            self.continue_submission(number)?;
            self.agenda.clear();
        }
        for place in 0..self.trackers.len() {
            let now_mono_ms = self.now.mono_ms;
            if let Some(tracker) = &mut self.trackers[place] {
                tracker.recover(now_mono_ms);
            }
            self.wake_in(1 + 7 * place as u64, Wake::Tracker(place));
        }
        let began_mono_ms = self.now.mono_ms;
        let longest_pause_ms = LONGEST_PAUSE_MS + 4 * self.plan.engine.tracker_expiry_ms;
        let mut last_progress = (self.progress(), began_mono_ms);
        while !self.is_done() {
            if !self.advance()? {
                break;
            }
            let progress = self.progress();
            if progress != last_progress.0 {
                last_progress = (progress, self.now.mono_ms);
            }
            let pause_ms = self.now.mono_ms - last_progress.1;
            if pause_ms > longest_pause_ms || self.now.mono_ms - began_mono_ms > LONGEST_END_MS {
                let who = self.judge.oldest_live_job();
                let who = who.map_or("somebody is owed the news of an end, which".to_owned(), |job| job.to_string());
                let text = format!("{who} does not come to its end, nothing has happened for {pause_ms} ms");
                return Err(self.violation(Law::End, text));
            }
        }
        self.judge.finish(&self.engine)
    }

    fn is_done(&self) -> bool {
        self.judge.live_jobs() == 0 && self.engine.inspect().pending_kill_jobs() == 0
    }

    fn progress(&self) -> (usize, usize, u64) {
        (self.judge.live_jobs(), self.engine.inspect().pending_kill_jobs(), self.tally().attempts)
    }
}

/// Who may sign: the users and one administrator.
fn acl(plan: &Plan) -> Acl {
    let mut text = format!("{ADMINISTRATOR} admin {ADMINISTRATOR}-key\n");
    for user in &plan.users {
        text.push_str(&format!("{} user {}-key\n", user.name, user.name));
    }
    // Names and keys are plain words, so every line can be read; without it no request could be signed.
    Acl::parse(&text, "simulated").unwrap_or_default()
}
