//! Heartbeats of trackers: in time, late, repeated, or missing.

use crate::engine::{Event, Fact, HeartbeatAnswer, Reply, Step};
use crate::mapreduce::{JobFact, KillRequest};
use crate::model::{AttemptId, AttemptState, DEFAULT_RACK, Kind, PerKind};
use crate::wire::HeartbeatRequest;

use super::containers::address_of;
use super::cuts::RunPart;
use super::daemon_run::LateAnswer;
use super::event_queue::SimEvent;
use super::laws::{HeartbeatOutcome, Intent, Law, Violation};
use super::tracker::SimTracker;
use super::world::World;

enum TrackerFault {
    None,
    /// Its process ends; whether its connection is seen to close, and the pause until the next one starts, ms.
    Restart {
        is_seen: bool,
        pause_ms: u64,
    },
    Silence(u64),
    /// Its answer gets lost, and it repeats the heartbeat after so long, ms; on a new connection or not.
    LostAnswer {
        pause_ms: u64,
        reconnects: bool,
    },
}

impl SimTracker {
    pub(super) fn recover(&mut self, now_mono_ms: u64) {
        self.is_healthy = true;
        self.refuses_work = false;
        self.free_disk_bytes = None;
        self.fake.attempts.iter_mut().for_each(|attempt| attempt.plan.finish_soon(now_mono_ms));
        if let Some(worker) = &mut self.worker {
            worker.recover(now_mono_ms);
        }
    }

    /// An attempt that the step preempts although it was no longer at work when the tracker sent its heartbeat.
    fn preempted_after_work(&self, step: &Step) -> Option<AttemptId> {
        step.facts.iter().find_map(|fact| match fact {
            Fact::Job(JobFact::AttemptKillRequested { attempt: id, request: KillRequest::Preempt }) => {
                let attempt = self.fake.attempts.iter().find(|attempt| attempt.id == *id);
                let is_at_work = attempt
                    .is_some_and(|attempt| matches!(attempt.state, AttemptState::Unassigned | AttemptState::Running));
                (!is_at_work).then_some(*id)
            }
            _ => None,
        })
    }
}

impl World<'_> {
    pub(super) fn run_tracker(&mut self, place: usize) -> Result<(), Violation> {
        let Some(mut tracker) = self.trackers.get_mut(place).and_then(Option::take) else { return Ok(()) };
        let outcome = self.call(place, &mut tracker);
        self.trackers[place] = Some(tracker);
        let pause_ms = outcome?;
        self.schedule_in(pause_ms, SimEvent::Tracker(place));
        Ok(())
    }

    /// Sends a tracker's next heartbeat; returns when the tracker acts again, ms from now.
    fn call(&mut self, place: usize, tracker: &mut SimTracker) -> Result<u64, Violation> {
        if self.daemon.is_down() {
            return Ok(self.on_connection_refused(tracker));
        }
        if let Some(delayed) = tracker.delayed_answer.take() {
            return self.deliver_delayed_answer(tracker, delayed);
        }
        let fault = self.draw_fault(tracker);
        match fault {
            TrackerFault::Silence(pause_ms) => return Ok(pause_ms),
            TrackerFault::Restart { is_seen, pause_ms } => {
                self.restart_tracker(tracker, is_seen)?;
                return Ok(pause_ms);
            }
            TrackerFault::None | TrackerFault::LostAnswer { .. } => {}
        }
        // The first report after a restart may be as old as the outage: it gets no launches.
        let repeats = tracker.fake.unanswered.is_some() || tracker.last_daemon_run != self.daemon.number;
        let request = tracker.request(self.now.mono_ms, self.now.wall_ms);
        let may_wait = self.may_hold_back() || matches!(fault, TrackerFault::LostAnswer { .. });
        let kept = may_wait.then(|| request.clone());
        let killed = tracker.count_killed(&request);
        let has_repeated = std::mem::replace(&mut tracker.has_repeated, repeats);
        let knows_killed = !repeats && !has_repeated;
        let busy = PerKind::new(tracker.fake.busy(Kind::Map), tracker.fake.busy(Kind::Reduce));
        let takes_work = request.accept_new_tasks && request.status.health.healthy;
        let is_well = request.status.health.healthy && !tracker.refuses_work;
        let address = tracker.worker.as_ref().map(|_| address_of(place));
        let event = Event::Heartbeat { request, connection: tracker.connection, address };
        let step = self.step(event, &Intent::Other)?;
        self.check_losses_of(tracker, &step)?;
        self.check_containers_of(tracker, &step)?;
        tracker.last_call_mono_ms = self.now.mono_ms;
        if !matches!(step.reply, Reply::Heartbeat(_)) {
            // A stock tracker that is refused exits, and is started again.
            self.restart_tracker(tracker, true)?;
            return Ok(tracker.random.between(2_000, 15_000));
        }
        if let Some(id) = tracker.preempted_after_work(&step) {
            return Err(
                self.violation(Law::Preemption, format!("{id} is done or waits for its commit, and must leave"))
            );
        }
        if !repeats {
            let left = free_slots(tracker, busy, &step);
            self.check_idle_room(tracker, left, is_well)?;
            self.check_free_slots(
                tracker,
                if takes_work { left } else { PerKind::default() },
                (killed, knows_killed),
                &step,
            )?;
        }
        self.resolve_racks(&step)?;
        self.receive_heartbeat_answer(tracker, fault, kept, step)
    }

    /// The answer to a heartbeat is lost, delayed or applied; `kept`: the heartbeat, where it may be repeated.
    fn receive_heartbeat_answer(
        &mut self,
        tracker: &mut SimTracker,
        fault: TrackerFault,
        kept: Option<HeartbeatRequest>,
        step: Step,
    ) -> Result<u64, Violation> {
        if let TrackerFault::LostAnswer { pause_ms, reconnects } = fault {
            tracker.fake.unanswered = kept;
            if reconnects {
                self.step(Event::ConnectionClosed { connection: tracker.connection }, &Intent::Other)?;
                tracker.connection = self.new_connection();
            }
            return Ok(pause_ms);
        }
        let Reply::Heartbeat(answer) = step.reply else { return Ok(1) };
        if !self.is_sent(step.wait_for) {
            tracker.fake.unanswered = kept;
            tracker.delayed_answer = Some(LateAnswer { wait_for: step.wait_for, answer });
            return Ok(self.until_sent_ms());
        }
        self.apply_heartbeat_answer(tracker, &answer)?;
        Ok(self.pause_ms(tracker))
    }

    /// Starts a tracker again; `is_seen`: the JobTracker sees its connection close.
    fn restart_tracker(&mut self, tracker: &mut SimTracker, is_seen: bool) -> Result<(), Violation> {
        if is_seen {
            self.step(Event::ConnectionClosed { connection: tracker.connection }, &Intent::Other)?;
        }
        let connection = self.new_connection();
        tracker.restart(connection);
        Ok(())
    }

    /// Checks the slots that a heartbeat has left free; of `killed` ones the JobTracker knows, or not.
    fn check_free_slots(
        &mut self,
        tracker: &SimTracker,
        left: PerKind<u32>,
        (killed, knows_killed): (PerKind<u32>, bool),
        step: &Step,
    ) -> Result<(), Violation> {
        let free = match self.engine.is_in_safe_mode() {
            true => PerKind::default(),
            false => self.within_bag(tracker, left, step),
        };
        let SimTracker { fake, .. } = tracker;
        let outcome = HeartbeatOutcome { tracker: &fake.name, slots: fake.slots, free, killed, knows_killed };
        self.checker.after_heartbeat(outcome, step, &self.engine, self.daemon_now())
    }

    /// Delivers a delayed answer if the store has caught up.
    fn deliver_delayed_answer(
        &mut self,
        tracker: &mut SimTracker,
        delayed: LateAnswer<HeartbeatAnswer>,
    ) -> Result<u64, Violation> {
        if !self.is_sent(delayed.wait_for) {
            tracker.delayed_answer = Some(delayed);
            return Ok(self.until_sent_ms());
        }
        self.apply_heartbeat_answer(tracker, &delayed.answer)?;
        Ok(self.pause_ms(tracker))
    }

    pub(super) fn apply_heartbeat_answer(
        &mut self,
        tracker: &mut SimTracker,
        answer: &HeartbeatAnswer,
    ) -> Result<(), Violation> {
        self.check_reinit(tracker, answer)?;
        let launched = tracker.apply_answer(answer, self.now.mono_ms, self.fault_model());
        let launched = launched.map_err(|text| self.violation(Law::Order, text))?;
        tracker.last_daemon_run = self.daemon.number;
        self.check_room_of(tracker)?;
        match launched.into_iter().find(|id| !self.delivered.insert(*id)) {
            None => Ok(()),
            Some(id) => {
                Err(self.violation(Law::End, format!("{} is given {id}, which was launched before", tracker.fake.name)))
            }
        }
    }

    /// Resolves requested racks, after the heartbeat was checked against the racks that it was answered with.
    fn resolve_racks(&mut self, step: &Step) -> Result<(), Violation> {
        let asked = step.effects.iter().filter_map(|effect| match effect {
            crate::engine::Effect::ResolveRack { host } => Some(host.clone()),
            _ => None,
        });
        for host in asked.collect::<Vec<_>>() {
            // Four hosts share a rack; some racks are not known.
            let place: u64 = host.trim_start_matches('h').parse().unwrap_or(0);
            if !self.faults.one_in(4) {
                let rack = format!("/rack{}", place / 4);
                self.step(Event::RackResolved { host, rack }, &Intent::Other)?;
            }
        }
        if self.plan.containers.is_some() {
            // Containers wait for every answer, also to what was asked at the start.
            for host in self.engine.inspect().unresolved_hosts().iter().cloned().collect::<Vec<_>>() {
                self.step(Event::RackResolved { host, rack: DEFAULT_RACK.to_owned() }, &Intent::Other)?;
            }
        }
        Ok(())
    }

    fn draw_fault(&mut self, tracker: &mut SimTracker) -> TrackerFault {
        let random = &mut tracker.random;
        let expiry_ms = self.plan.engine.tracker_expiry_ms;
        // Drawn whether the part is left out or not: the rest of the run stays the same.
        let (chance, pause) = (random.below(10_000), random.number());
        let below = |most_ms: u64| pause % most_ms.max(1);
        if !self.may_act() {
            return TrackerFault::None;
        }
        match chance {
            0..10 if self.has(RunPart::Restarts) => {
                TrackerFault::Restart { is_seen: chance < 8, pause_ms: 500 + below(15_000) }
            }
            10..20 if self.has(RunPart::Silence) => TrackerFault::Silence(below(3 * expiry_ms)),
            20..30 if self.has(RunPart::IllTrackers) => {
                tracker.is_healthy = !tracker.is_healthy;
                TrackerFault::None
            }
            30..35 if self.has(RunPart::IllTrackers) => {
                tracker.refuses_work = !tracker.refuses_work;
                TrackerFault::None
            }
            35..45 if self.has(RunPart::IllTrackers) => {
                tracker.free_disk_bytes = [None, Some(150), Some(1 << 40)][(pause % 3) as usize];
                TrackerFault::None
            }
            45..60 => {
                // Ill trackers recover in the end, whatever is left out.
                tracker.is_healthy = true;
                tracker.refuses_work = false;
                tracker.free_disk_bytes = self.plan.free_disk_bytes;
                TrackerFault::None
            }
            100..300 if self.has(RunPart::LostAnswers) => {
                TrackerFault::LostAnswer { pause_ms: 50 + below(5_000), reconnects: chance < 140 }
            }
            _ => TrackerFault::None,
        }
    }

    fn pause_ms(&mut self, tracker: &mut SimTracker) -> u64 {
        let chance = tracker.random.below(400);
        let pause_ms = tracker.interval_ms + chance % 5;
        if chance < 4 && self.has(RunPart::SlowHeartbeats) { pause_ms * (4 + chance * 5) } else { pause_ms }
    }
}

/// Slots still free after a heartbeat: those the tracker reported, less the launches of the answer.
fn free_slots(tracker: &SimTracker, busy: PerKind<u32>, step: &Step) -> PerKind<u32> {
    let given = |kind: Kind| {
        let is_launch = |fact: &&Fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.task.kind == kind);
        step.facts.iter().filter(is_launch).count() as u32
    };
    let free = |kind: Kind| tracker.fake.slots[kind].saturating_sub(busy[kind]).saturating_sub(given(kind));
    PerKind::new(free(Kind::Map), free(Kind::Reduce))
}
