//! Trackers call: in time, late, twice, or not at all.

use crate::engine::{Event, Fact, HeartbeatAnswer, Reply, Step};
use crate::mapreduce::{JobFact, KillRequest};
use crate::model::{AttemptId, AttemptState, Kind, PerKind};

use super::agenda::Wake;
use super::cuts::Part;
use super::daemon_run::DelayedAnswer;
use super::laws::{Beat, Intent, Law, Violation};
use super::tracker::SimTracker;
use super::world::World;

/// What befalls a tracker before it calls.
enum Mishap {
    None,
    /// Its process ends; whether its connection is seen to close, and the pause until the next one starts, ms.
    Restart {
        is_seen: bool,
        pause_ms: u64,
    },
    /// It says nothing for so long, ms.
    Silence(u64),
    /// Its answer gets lost, and it calls again after so long, ms; on a new connection or not.
    LostAnswer {
        pause_ms: u64,
        reconnects: bool,
    },
}

// === impl SimTracker ===

impl SimTracker {
    /// Whatever was wrong with it is over.
    pub(super) fn recover(&mut self, now_mono_ms: u64) {
        self.is_healthy = true;
        self.refuses_work = false;
        self.free_disk_bytes = None;
        self.fake.attempts.iter_mut().for_each(|attempt| attempt.plan.calm_down(now_mono_ms));
    }

    /// An attempt that must leave to another queue, although it was not at work any more when the tracker called.
    fn done_but_preempted(&self, step: &Step) -> Option<AttemptId> {
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

// === impl World: trackers ===

impl World<'_> {
    pub(super) fn tracker_wakes(&mut self, place: usize) -> Result<(), Violation> {
        let Some(mut tracker) = self.trackers.get_mut(place).and_then(Option::take) else { return Ok(()) };
        let outcome = self.call(&mut tracker);
        self.trackers[place] = Some(tracker);
        let pause_ms = outcome?;
        self.wake_in(pause_ms, Wake::Tracker(place));
        Ok(())
    }

    /// Lets a tracker do what it does next; returns when it acts again, ms from now.
    fn call(&mut self, tracker: &mut SimTracker) -> Result<u64, Violation> {
        if self.daemon.is_down() {
            return Ok(self.refused(tracker));
        }
        if let Some(held) = tracker.held.take() {
            return self.look_for_answer(tracker, held);
        }
        let mishap = self.mishap(tracker);
        match mishap {
            Mishap::Silence(pause_ms) => return Ok(pause_ms),
            Mishap::Restart { is_seen, pause_ms } => {
                if is_seen {
                    self.step(Event::ConnectionClosed { connection: tracker.connection }, &Intent::Other)?;
                }
                let connection = self.new_connection();
                tracker.restart(connection);
                return Ok(pause_ms);
            }
            Mishap::None | Mishap::LostAnswer { .. } => {}
        }
        // The first report after a restart may be as old as the outage: nothing is given out for it.
        let repeats = tracker.fake.unanswered.is_some() || tracker.known_to != self.daemon.number;
        let request = tracker.request(self.now.mono_ms, self.now.wall_ms);
        let may_wait = self.may_hold_back() || matches!(mishap, Mishap::LostAnswer { .. });
        let kept = may_wait.then(|| request.clone());
        let busy = PerKind::new(tracker.fake.busy(Kind::Map), tracker.fake.busy(Kind::Reduce));
        let takes_work = request.accept_new_tasks && request.status.health.healthy;
        let event = Event::Heartbeat { request, connection: tracker.connection };
        let step = self.step(event, &Intent::Other)?;
        self.judge_losses_of(tracker, &step)?;
        tracker.heard_mono_ms = self.now.mono_ms;
        let Reply::Heartbeat(answer) = &step.reply else {
            // A stock tracker that is refused ends; somebody starts it again.
            self.step(Event::ConnectionClosed { connection: tracker.connection }, &Intent::Other)?;
            let connection = self.new_connection();
            tracker.restart(connection);
            return Ok(tracker.random.between(2_000, 15_000));
        };
        let preempted = tracker.done_but_preempted(&step);
        if let Some(id) = preempted {
            return Err(
                self.violation(Law::Preemption, format!("{id} is done or waits for its commit, and must leave"))
            );
        }
        if !repeats {
            let free = match takes_work && !self.engine.is_in_safe_mode() {
                true => free_slots(tracker, busy, &step),
                false => PerKind::default(),
            };
            self.judge.after_beat(Beat { tracker: &tracker.fake.name, free }, &step, &self.engine)?;
        }
        self.resolve_racks(&step)?;
        if let Mishap::LostAnswer { pause_ms, reconnects } = mishap {
            tracker.fake.unanswered = kept;
            if reconnects {
                self.step(Event::ConnectionClosed { connection: tracker.connection }, &Intent::Other)?;
                tracker.connection = self.new_connection();
            }
            return Ok(pause_ms);
        }
        if !self.is_sent(step.wait_for) {
            tracker.fake.unanswered = kept;
            let Reply::Heartbeat(answer) = step.reply else { return Ok(1) };
            tracker.held = Some(DelayedAnswer { wait_for: step.wait_for, answer });
            return Ok(self.until_sent_ms());
        }
        self.obey(tracker, answer)?;
        Ok(self.pause_ms(tracker))
    }

    /// An answer was held back: here it is, or not yet.
    fn look_for_answer(
        &mut self,
        tracker: &mut SimTracker,
        held: DelayedAnswer<HeartbeatAnswer>,
    ) -> Result<u64, Violation> {
        if !self.is_sent(held.wait_for) {
            tracker.held = Some(held);
            return Ok(self.until_sent_ms());
        }
        self.obey(tracker, &held.answer)?;
        Ok(self.pause_ms(tracker))
    }

    /// A tracker has been answered.
    pub(super) fn obey(&mut self, tracker: &mut SimTracker, answer: &HeartbeatAnswer) -> Result<(), Violation> {
        self.judge_new_start(tracker, answer)?;
        let obeyed = tracker.obey(answer, self.now.mono_ms, self.weather());
        let obeyed = obeyed.map_err(|text| self.violation(Law::Order, text))?;
        tracker.known_to = self.daemon.number;
        match obeyed.launched.into_iter().find(|id| !self.delivered.insert(*id)) {
            None => Ok(()),
            Some(id) => {
                Err(self.violation(Law::End, format!("{} is given {id}, which was given before", tracker.fake.name)))
            }
        }
    }

    /// Resolves requested racks, after the heartbeat was checked against the racks that it was answered with.
    fn resolve_racks(&mut self, step: &Step) -> Result<(), Violation> {
        let racks = step.effects.iter().filter_map(|effect| match effect {
            crate::engine::Effect::ResolveRack { host } => Some(host.clone()),
            _ => None,
        });
        for host in racks.collect::<Vec<_>>() {
            // Four hosts stand in a rack; some answers never come.
            let place: u64 = host.trim_start_matches('h').parse().unwrap_or(0);
            if !self.mishaps.one_in(4) {
                let rack = format!("/rack{}", place / 4);
                self.step(Event::RackResolved { host, rack }, &Intent::Other)?;
            }
        }
        Ok(())
    }

    fn mishap(&mut self, tracker: &mut SimTracker) -> Mishap {
        let random = &mut tracker.random;
        let expiry_ms = self.plan.engine.tracker_expiry_ms;
        // Drawn whether it is cut or not: the rest of a run continues as it did.
        let (chance, pause) = (random.below(10_000), random.number());
        let below = |most_ms: u64| pause % most_ms.max(1);
        if !self.may_choose() {
            return Mishap::None;
        }
        match chance {
            0..10 if self.has(Part::Restarts) => Mishap::Restart { is_seen: chance < 8, pause_ms: 500 + below(15_000) },
            10..20 if self.has(Part::Silence) => Mishap::Silence(below(3 * expiry_ms)),
            20..30 if self.has(Part::IllTrackers) => {
                tracker.is_healthy = !tracker.is_healthy;
                Mishap::None
            }
            30..35 if self.has(Part::IllTrackers) => {
                tracker.refuses_work = !tracker.refuses_work;
                Mishap::None
            }
            35..45 if self.has(Part::IllTrackers) => {
                tracker.free_disk_bytes = [None, Some(150), Some(1 << 40)][(pause % 3) as usize];
                Mishap::None
            }
            45..60 => {
                // Ill trackers get well in the end, whatever is left out.
                tracker.is_healthy = true;
                tracker.refuses_work = false;
                tracker.free_disk_bytes = None;
                Mishap::None
            }
            100..300 if self.has(Part::LostAnswers) => {
                Mishap::LostAnswer { pause_ms: 50 + below(5_000), reconnects: chance < 140 }
            }
            _ => Mishap::None,
        }
    }

    fn pause_ms(&mut self, tracker: &mut SimTracker) -> u64 {
        let chance = tracker.random.below(400);
        let pause_ms = tracker.interval_ms + chance % 5;
        if chance < 4 && self.has(Part::SlowHeartbeats) { pause_ms * (4 + chance * 5) } else { pause_ms }
    }
}

/// Slots that are left when a heartbeat has been answered: as the tracker reported them, less what it was given.
fn free_slots(tracker: &SimTracker, busy: PerKind<u32>, step: &Step) -> PerKind<u32> {
    let given = |kind: Kind| {
        let is_launch = |fact: &&Fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.task.kind == kind);
        step.facts.iter().filter(is_launch).count() as u32
    };
    let free = |kind: Kind| tracker.fake.slots[kind].saturating_sub(busy[kind]).saturating_sub(given(kind));
    PerKind::new(free(Kind::Map), free(Kind::Reduce))
}
