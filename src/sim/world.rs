//! The world of one run: its actors, the clock, and the only path of events to the engine.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::engine::{Caller, Engine, Event, Restored, Step};
use crate::market::Acl;
use crate::model::{AttemptId, ContainerId, FactNumber, JobId, Now};

use super::ADMINISTRATOR;
use super::adversaries::{self, JobShape};
use super::attempt::FaultModel;
use super::containers::{ApplicationNumbers, SimApplication, SimWorker};
use super::cuts::{RunPart, STRETCHES};
use super::daemon_run::DaemonRun;
use super::event_queue::{EventQueue, SimEvent};
use super::laws::{Intent, Law, LawChecker, Tally, Violation};
use super::plan::{Plan, TrackerPlan};
use super::random::Random;
use super::run_options::{Journal, RunOptions};
use super::tracker::SimTracker;
use super::user::{SentRequest, SimSubmission, SimUser};
use super::user_plan::UserPlan;

pub(super) struct World<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) plan: Plan,
    pub(super) engine: Engine,
    pub(super) checker: LawChecker,
    pub(super) now: Now,
    pub(super) event_queue: EventQueue,
    /// None where a tracker is left out.
    pub(super) trackers: Vec<Option<SimTracker>>,
    pub(super) users: Vec<Option<SimUser>>,
    pub(super) acl: Acl,
    pub(super) submissions: BTreeMap<u64, SimSubmission>,
    pub(super) last_submission: u64,
    /// Submissions that a crash interrupted and that are repeated.
    pub(super) resubmissions: Vec<SimSubmission>,
    /// Jobs whose acceptance was acknowledged to a client; some may have ended.
    pub(super) acknowledged: BTreeSet<JobId>,
    /// Attempts whose launch has reached a tracker. Never iterated.
    pub(super) delivered: FxHashSet<AttemptId>,
    /// What tasks of players' jobs do.
    pub(super) job_shapes: BTreeMap<JobId, JobShape>,
    pub(super) recent_jobs: Vec<JobId>,
    pub(super) administrator: Random,
    pub(super) administrator_sent: Vec<SentRequest>,
    /// Chance of the administrator who gives allowances and moves money between queues.
    pub(super) treasurer: Random,
    pub(super) interventions: Random,
    pub(super) faults: Random,
    /// Chance of the JobTracker's own crashes.
    pub(super) crashes: Random,
    /// Chance of the operator who switches the scheduler.
    pub(super) switches: Random,
    /// Chance of users who submit applications.
    pub(super) submitters: Random,
    pub(super) applications: BTreeMap<u64, SimApplication>,
    pub(super) application_numbers: ApplicationNumbers,
    pub(super) last_application: u64,
    /// Containers whose launch has reached a worker.
    pub(super) launched: BTreeSet<ContainerId>,
    pub(super) daemon: DaemonRun,
    pub(super) journal: &'a mut dyn Journal,
    /// While the store stalls: until when, and its last durable fact.
    pub(super) store_stall: Option<(u64, FactNumber)>,
    /// Actors start nothing new and no fault happens; jobs run to their end.
    pub(super) is_draining: bool,
    last_connection: u64,
    /// When the engine's timer is due, and when it fires.
    pub(super) timer: (Option<u64>, u64),
    tamper: &'a mut dyn FnMut(&mut Step),
}

/// Random streams, one for each actor; trackers and users follow.
const ADMINISTRATOR_STREAM: u64 = 1;
const INTERVENTION_STREAM: u64 = 2;
const FAULT_STREAM: u64 = 3;
const CRASH_STREAM: u64 = 4;
const SWITCH_STREAM: u64 = 5;
const TREASURER_STREAM: u64 = 6;
const SUBMITTER_STREAM: u64 = 7;
const TRACKER_STREAM: u64 = 1_000;
const CLIENT_STREAM: u64 = 2_000;
const BIDDER_STREAM: u64 = 3_000;
const WORKER_STREAM: u64 = 4_000;

/// Longest time in which all jobs must end, and longest time without progress beyond what the expiry of trackers and launches takes, ms.
const LONGEST_END_MS: u64 = 4 * 3_600_000;
const LONGEST_PAUSE_MS: u64 = 120_000;

impl<'a> World<'a> {
    pub(super) fn new(
        options: &'a RunOptions,
        journal: &'a mut dyn Journal,
        tamper: &'a mut dyn FnMut(&mut Step),
    ) -> Self {
        let plan = Plan::new(options);
        let now = plan.start;
        let mut engine = Engine::new(plan.engine.clone(), Restored::default(), now);
        engine.seed_budgets(plan.budget_lines(), now);
        let stream = |actor: u64| Random::stream(options.seed, actor);
        Self {
            options,
            checker: LawChecker::new(&plan, options.events),
            now,
            event_queue: EventQueue::default(),
            trackers: trackers(&plan, options),
            users: users(&plan, options),
            acl: acl(&plan),
            submissions: BTreeMap::new(),
            last_submission: 0,
            resubmissions: Vec::new(),
            acknowledged: BTreeSet::new(),
            delivered: FxHashSet::default(),
            job_shapes: BTreeMap::new(),
            recent_jobs: Vec::new(),
            administrator: stream(ADMINISTRATOR_STREAM),
            administrator_sent: Vec::new(),
            treasurer: stream(TREASURER_STREAM),
            interventions: stream(INTERVENTION_STREAM),
            faults: stream(FAULT_STREAM),
            crashes: stream(CRASH_STREAM),
            switches: stream(SWITCH_STREAM),
            submitters: stream(SUBMITTER_STREAM),
            applications: BTreeMap::new(),
            application_numbers: ApplicationNumbers::new(),
            last_application: 0,
            launched: BTreeSet::new(),
            daemon: DaemonRun::first(plan.engine.identifier),
            journal,
            store_stall: None,
            is_draining: false,
            last_connection: 1_000,
            timer: (None, 0),
            tamper,
            engine,
            plan,
        }
    }

    pub(super) fn tally(&self) -> Tally {
        self.checker.tally()
    }

    /// From the start to the end, or to the first violation.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        let (first, facts) = self.engine.take_start_facts();
        self.checker.begin(first, &facts, &self.engine)?;
        self.collect_start_facts(facts);
        self.update_timer();
        self.schedule_actors();
        while self.checker.events() < self.options.events && !self.is_time_up() && self.advance()? {}
        self.drain()
    }

    pub(super) fn has(&self, part: RunPart) -> bool {
        !self.is_draining && self.options.cuts.has(part)
    }

    pub(super) fn may_act(&self) -> bool {
        if self.daemon.is_down() {
            return false;
        }
        self.is_active_stretch()
    }

    /// Whether actors act in this stretch of the run.
    pub(super) fn is_active_stretch(&self) -> bool {
        let stretch = self.checker.events().saturating_mul(STRETCHES) / self.options.events.max(1);
        self.has(RunPart::Stretch(stretch))
    }

    pub(super) fn fault_model(&self) -> FaultModel<'_> {
        FaultModel {
            seed: self.options.seed,
            plan: &self.plan,
            cuts: &self.options.cuts,
            shapes: &self.job_shapes,
            is_draining: self.is_draining,
        }
    }

    pub(super) fn new_connection(&mut self) -> u64 {
        self.last_connection += 1;
        self.last_connection
    }

    pub(super) fn root(&self) -> Caller {
        Caller::named(ADMINISTRATOR)
    }

    pub(super) fn schedule_in(&mut self, pause_ms: u64, event: SimEvent) {
        self.event_queue.schedule(self.now.mono_ms + pause_ms.max(1), event);
    }

    /// Applies an event to the engine and checks the step against the laws.
    pub(super) fn step(&mut self, event: Event, intent: &Intent) -> Result<Step, Violation> {
        let before = self.checker_before_step();
        let (now, is_exclusion) = (self.daemon_now(), matches!(event, Event::HostsRead { .. }));
        self.checker.before_step(*intent == Intent::Timer, &self.engine, now);
        let mut step = self.engine.step(event, now);
        (self.tamper)(&mut step);
        self.checker.after_step(&step, intent, &self.engine, now)?;
        if !is_exclusion {
            self.check_losses(&step)?;
        }
        self.check_containers_of_step(&step)?;
        self.wake_those_with_news(&step);
        self.collect_facts(&step, before);
        self.update_timer();
        Ok(step)
    }

    pub(super) fn fire_timer(&mut self) -> Result<(), Violation> {
        let durable = self.durable();
        self.step(Event::Timer { durable }, &Intent::Timer).map(drop)
    }

    pub(super) fn violation(&self, law: Law, culprit: String) -> Violation {
        self.checker.violation(law, culprit)
    }

    fn is_time_up(&self) -> bool {
        let age_ms = self.now.mono_ms - self.plan.start.mono_ms;
        self.options.cuts.until_ms.is_some_and(|until_ms| age_ms >= until_ms)
    }

    fn schedule_actors(&mut self) {
        for place in 0..self.trackers.len() {
            self.schedule_in(1 + 37 * place as u64, SimEvent::Tracker(place));
        }
        for place in 0..self.users.len() {
            if self.plan.users[place].scheme.is_some() {
                self.schedule_in(60 + 20 * place as u64, SimEvent::Player(place));
                continue;
            }
            self.schedule_in(50 + 20 * place as u64, SimEvent::Client(place));
            self.schedule_in(70 + 20 * place as u64, SimEvent::Bidder(place));
        }
        let others = [
            SimEvent::Administrator,
            SimEvent::Intervention,
            SimEvent::ClockStep,
            SimEvent::StoreStall,
            SimEvent::EarlyTimer,
        ];
        others.into_iter().for_each(|event| self.schedule_in(1_000, event));
        if self.plan.switch_pause_ms.is_some() {
            self.schedule_in(1_250, SimEvent::Switch);
        }
        if self.plan.bidding_interval_ms().is_some() {
            self.schedule_in(1_750, SimEvent::Treasurer);
        }
        if self.has_crashes() {
            self.schedule_in(1_500, SimEvent::Crash);
        }
        if self.plan.containers.is_some() {
            self.schedule_in(300, SimEvent::ApplicationSubmission);
            for place in 0..self.trackers.len() {
                self.schedule_in(90 + 11 * place as u64, SimEvent::Worker(place));
            }
        }
    }

    /// Processes the next event; false when there is none.
    fn advance(&mut self) -> Result<bool, Violation> {
        let timer_at = self.timer.0.map(|_| self.timer.1);
        let next_at = self.event_queue.next_mono_ms();
        let timer_fires = timer_at.is_some_and(|timer_at| next_at.is_none_or(|next_at| timer_at <= next_at));
        let Some(at_mono_ms) = (if timer_fires { timer_at } else { next_at }) else { return Ok(false) };
        let passed_ms = at_mono_ms.saturating_sub(self.now.mono_ms);
        self.now.mono_ms += passed_ms;
        self.now.wall_ms += passed_ms.cast_signed();
        if timer_fires {
            self.fire_timer()?;
            return Ok(true);
        }
        let Some((_, event)) = self.event_queue.take() else { return Ok(false) };
        match event {
            SimEvent::Tracker(place) => self.run_tracker(place)?,
            SimEvent::Client(place) => self.run_client(place)?,
            SimEvent::Bidder(place) => self.run_bidder(place)?,
            SimEvent::Submission(number) => self.continue_submission(number)?,
            SimEvent::Administrator => self.run_administrator()?,
            SimEvent::Intervention => self.intervene()?,
            SimEvent::ClockStep => self.step_clock(),
            SimEvent::StoreStall => self.stall_store(),
            SimEvent::EarlyTimer => self.fire_early_timer()?,
            SimEvent::Crash => self.plan_crash()?,
            SimEvent::CrashStep => self.advance_crash()?,
            SimEvent::Start => self.start()?,
            SimEvent::Resubmission => self.resubmit()?,
            SimEvent::Switch => self.switch_scheduler()?,
            SimEvent::Treasurer => self.run_treasurer()?,
            SimEvent::Worker(place) => self.run_worker(place)?,
            SimEvent::WorkerNews(place) => self.wake_worker(place)?,
            SimEvent::Application(number) => self.run_application(number)?,
            SimEvent::ApplicationNews(number) => self.wake_application(number)?,
            SimEvent::ApplicationSubmission => self.submit_some_application()?,
            SimEvent::Player(place) => self.run_player(place)?,
        }
        Ok(true)
    }

    /// Follows the engine's timer, which may fire late.
    pub(super) fn update_timer(&mut self) {
        let due = self.engine.next_timer_ms().filter(|due| *due < u64::MAX);
        let due = due.map(|due| due.wrapping_sub(self.daemon.clock_offset_ms));
        if due == self.timer.0 {
            return;
        }
        let late_ms = match self.has(RunPart::LateTimers) && self.faults.one_in(20) {
            true => self.faults.below(3_000),
            false => 0,
        };
        let at_mono_ms = due.unwrap_or(u64::MAX).max(self.now.mono_ms).saturating_add(late_ms);
        self.timer = (due, at_mono_ms);
    }

    /// Actors start nothing new and no fault happens: every job must end (law 5).
    fn drain(&mut self) -> Result<(), Violation> {
        self.is_draining = true;
        self.store_stall = None;
        self.event_queue.clear();
        self.end_crashes()?;
        self.end_interventions()?;
        for number in self.submissions.keys().copied().collect::<Vec<_>>() {
            self.continue_submission(number)?;
            self.event_queue.clear();
        }
        for place in 0..self.trackers.len() {
            let now_mono_ms = self.now.mono_ms;
            if let Some(tracker) = &mut self.trackers[place] {
                tracker.recover(now_mono_ms);
            }
            self.schedule_in(1 + 7 * place as u64, SimEvent::Tracker(place));
        }
        self.drain_containers();
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
                let job = self.checker.oldest_live_job().map(|job| job.to_string());
                let culprit = job.or_else(|| self.checker.oldest_application());
                let culprit = culprit.unwrap_or_else(|| "a pending KILL_JOB".to_owned());
                let text = format!("{culprit} does not end, nothing has happened for {pause_ms} ms");
                return Err(self.violation(Law::End, text));
            }
        }
        self.checker.finish(&self.engine)
    }

    fn is_done(&self) -> bool {
        self.checker.live_jobs() == 0
            && self.engine.inspect().pending_kill_jobs() == 0
            && self.checker.applications_left() == (0, 0)
            && self.applications.is_empty()
    }

    fn progress(&self) -> (usize, usize, u64) {
        (self.checker.live_jobs(), self.engine.inspect().pending_kill_jobs(), self.checker.work_done())
    }
}

fn trackers(plan: &Plan, options: &RunOptions) -> Vec<Option<SimTracker>> {
    let stream = |actor: u64| Random::stream(options.seed, actor);
    let tracker = |(place, tracker): (usize, &TrackerPlan)| {
        let worker = plan.containers.as_ref().and_then(|containers| {
            let random = stream(WORKER_STREAM + place as u64);
            Some(SimWorker::new(containers.bags[place]?, containers.settings.slot, random, place as u64))
        });
        // The first one has slots of both kinds: without it no job might end.
        (place == 0 || options.cuts.has(RunPart::Tracker(place))).then(|| SimTracker {
            worker,
            free_disk_bytes: plan.free_disk_bytes,
            ..SimTracker::new(tracker, stream(TRACKER_STREAM + place as u64), place as u64)
        })
    };
    plan.trackers.iter().enumerate().map(tracker).collect()
}

fn users(plan: &Plan, options: &RunOptions) -> Vec<Option<SimUser>> {
    let user = |(place, user): (usize, &UserPlan)| {
        let stream = |actors: u64| Random::stream(options.seed, actors + place as u64);
        options.cuts.has(RunPart::User(place)).then(|| SimUser {
            name: user.name.clone(),
            client: stream(CLIENT_STREAM),
            bidder: stream(BIDDER_STREAM),
            player: stream(adversaries::STREAM),
            jobs: Vec::new(),
            sent: Vec::new(),
            job_signature: None,
        })
    };
    plan.users.iter().enumerate().map(user).collect()
}

fn acl(plan: &Plan) -> Acl {
    let mut text = format!("{ADMINISTRATOR} admin {ADMINISTRATOR}-key\n");
    for user in &plan.users {
        text.push_str(&format!("{} user {}-key\n", user.name, user.name));
    }
    // Names and keys are plain words, so every line can be read; without it no request could be signed.
    Acl::parse(&text, "simulated").unwrap_or_default()
}
