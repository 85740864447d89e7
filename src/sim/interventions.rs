//! Disturbances of the JobTracker itself: safe mode, excluded hosts, drained workers, a clock that jumps, a store that stalls, timers
//! that fire early.

use std::collections::BTreeSet;

use crate::engine::{Event, HostLists, Reply, SchedulerWish, SwitchReply};

use super::ADMINISTRATOR;
use super::cuts::RunPart;
use super::event_queue::SimEvent;
use super::laws::{Intent, Law, Violation};
use super::plan_policy::policy_config;
use super::random::Random;
use super::run_options::PolicyChoice;
use super::world::World;

const HOUR_MS: u64 = 3_600_000;

impl World<'_> {
    /// An administrator turns safe mode, drains a worker or changes the lists of hosts; the change is soon reverted.
    pub(super) fn intervene(&mut self) -> Result<(), Violation> {
        let mut random = Random::stream(self.interventions.number(), 0);
        if self.daemon.is_down() {
            self.schedule_in(1_000, SimEvent::Intervention);
            return Ok(());
        }
        let was_normal = !self.engine.is_in_safe_mode();
        self.end_interventions()?;
        let (pause_ms, lasts_ms) = (random.between(5_000, 120_000), random.between(100, 15_000));
        if !was_normal || !self.may_act() || !self.has(RunPart::Interventions) {
            self.schedule_in(pause_ms, SimEvent::Intervention);
            return Ok(());
        }
        self.schedule_in(if random.one_in(2) { lasts_ms } else { pause_ms }, SimEvent::Intervention);
        let caller = self.root();
        let event = match random.below(4) {
            0 => Event::SetSafeMode { on: true, caller },
            1 => {
                let worker = self.engine.tracker_names().nth(random.below(8) as usize).map(ToString::to_string);
                let Some(worker) = worker else { return Ok(()) };
                Event::DrainWorker { worker, is_on: true, caller }
            }
            _ => {
                let excluded: BTreeSet<String> =
                    random.pick(&self.plan.trackers).map(|tracker| tracker.host.clone()).into_iter().collect();
                Event::HostsRead { hosts: HostLists { included: BTreeSet::new(), excluded }, caller }
            }
        };
        self.step(event, &Intent::Other).map(drop)
    }

    /// Ends safe mode, resumes drained workers and empties the lists of hosts.
    pub(super) fn end_interventions(&mut self) -> Result<(), Violation> {
        let caller = self.root();
        if self.engine.is_in_safe_mode() {
            self.step(Event::SetSafeMode { on: false, caller: caller.clone() }, &Intent::Other)?;
        }
        let drained: Vec<String> = self.engine.drained_workers().map(ToString::to_string).collect();
        for worker in drained {
            let resume = Event::DrainWorker { worker, is_on: false, caller: caller.clone() };
            self.step(resume, &Intent::Other)?;
        }
        self.step(Event::HostsRead { hosts: HostLists::default(), caller }, &Intent::Other).map(drop)
    }

    /// The wall clock jumps, either way. The other clock never does.
    pub(super) fn step_clock(&mut self) {
        // Rarely far back: until the clock has caught up no signature is accepted.
        let far_ms = [2_000, 2_000, 20_000, 20_000, 600_000, 2 * HOUR_MS][self.faults.below(6) as usize];
        let (jump_ms, goes_back) = (self.faults.below(far_ms).cast_signed(), self.faults.one_in(2));
        let pause_ms = self.faults.between(5_000, 200_000);
        self.schedule_in(pause_ms, SimEvent::ClockStep);
        if self.is_active_stretch() && self.has(RunPart::ClockSteps) {
            self.now.wall_ms += if goes_back { -jump_ms } else { jump_ms };
        }
    }

    pub(super) fn stall_store(&mut self) {
        let (lasts_ms, pause_ms) = (self.faults.between(10, 20_000), self.faults.between(1_000, 200_000));
        self.schedule_in(lasts_ms + pause_ms, SimEvent::StoreStall);
        if self.may_act() && self.has(RunPart::StoreStalls) && !self.may_hold_back() {
            self.store_stall = Some((self.now.mono_ms + lasts_ms, self.engine.last_fact()));
        }
    }

    pub(super) fn fire_early_timer(&mut self) -> Result<(), Violation> {
        let pause_ms = self.faults.between(100, 20_000);
        self.schedule_in(pause_ms, SimEvent::EarlyTimer);
        if self.may_act() && self.has(RunPart::LateTimers) { self.fire_timer() } else { Ok(()) }
    }

    /// An operator wants another scheduler, or the same with other settings.
    pub(super) fn switch_scheduler(&mut self) -> Result<(), Violation> {
        let Some(pause_ms) = self.plan.switch_pause_ms else { return Ok(()) };
        let mut random = Random::stream(self.switches.number(), 0);
        self.schedule_in(random.between(pause_ms / 4, pause_ms * 2), SimEvent::Switch);
        if !self.may_act() || !self.has(RunPart::Switches) {
            return Ok(());
        }
        let users: Vec<&str> = self.plan.users.iter().map(|user| user.name.as_str()).collect();
        let policy = policy_config(&mut random, PolicyChoice::Mixed, &users, self.options.seed % 2 == 1);
        // Names the settings, which a restart has to find again.
        let class = format!("scheduler-{}", self.checker.events());
        self.checker.offer_scheduler(&class, policy.clone());
        let wish = SchedulerWish {
            class,
            configured: String::new(),
            by: ADMINISTRATOR.to_owned(),
            policy,
            queues: self.plan.engine.queues.clone(),
            move_to: None,
            first_budgets: None,
        };
        // Another wish may wait for the market's next tick.
        let is_refused =
            self.engine.is_in_safe_mode() || self.engine.scheduler_status(self.daemon_now()).waiting.is_some();
        let step = self.step(Event::SchedulerWished(Box::new(wish)), &Intent::Other)?;
        match step.reply {
            Reply::Switch(SwitchReply::Done(_) | SwitchReply::Waits(_)) => Ok(()),
            _ if is_refused => Ok(()),
            reply => Err(self.violation(Law::Order, format!("a scheduler that has all queues is refused: {reply:?}"))),
        }
    }
}
