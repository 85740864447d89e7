//! Beats of workers about their containers: in time, late, doubled, lost, or missing; and hostile ones.

use core::net::{IpAddr, Ipv4Addr};

use crate::api::BeatAnswer;
use crate::engine::{BeatRefusal, BeatReply, Effect, Event, Reply, Step, WorkerBeatEvent};
use crate::model::FactNumber;
use crate::sim::cuts::RunPart;
use crate::sim::daemon_run::LateAnswer;
use crate::sim::event_queue::SimEvent;
use crate::sim::laws::{Intent, Law, Violation};
use crate::sim::tracker::SimTracker;
use crate::sim::world::World;

use super::applications::changes_nothing;
use super::sim_worker::SimWorker;

/// How long the daemon holds a beat, ms.
const HELD_MS: u64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BeatFault {
    None,
    /// Its answer gets lost with the connection; the next one begins after so long, ms.
    LostAnswer(u64),
    /// It comes twice; only the second answer arrives.
    Doubled,
    /// It comes so much later, ms.
    Late(u64),
}

pub(in crate::sim) fn address_of(place: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, (place % 250 + 1) as u8))
}

impl World<'_> {
    pub(in crate::sim) fn run_worker(&mut self, place: usize) -> Result<(), Violation> {
        self.with_worker(place, |world, tracker, worker| {
            if world.now.mono_ms < worker.due_mono_ms {
                return Ok(None);
            }
            world.act(place, tracker, worker).map(Some)
        })
    }

    /// The daemon has something to say to a worker: the beat that it holds asks again.
    pub(in crate::sim) fn wake_worker(&mut self, place: usize) -> Result<(), Violation> {
        self.with_worker(place, |world, tracker, worker| {
            let is_connected = worker.daemon_run == world.daemon.number && !worker.must_connect;
            if worker.held_until_ms.is_none() || !is_connected || world.daemon.is_down() {
                return Ok(None);
            }
            world.ask_again(tracker, worker, false).map(Some)
        })
    }

    /// Lets a worker act, and schedules its next act.
    fn with_worker(
        &mut self,
        place: usize,
        act: impl FnOnce(&mut Self, &mut SimTracker, &mut SimWorker) -> Result<Option<u64>, Violation>,
    ) -> Result<(), Violation> {
        let Some(mut tracker) = self.trackers.get_mut(place).and_then(Option::take) else { return Ok(()) };
        let outcome = match tracker.worker.take() {
            None => Ok(None),
            Some(mut worker) => {
                let outcome = act(self, &mut tracker, &mut worker);
                if let Ok(Some(pause_ms)) = outcome {
                    let next_ms = worker.next_change_ms().max(self.now.mono_ms + 1);
                    worker.due_mono_ms = (self.now.mono_ms + pause_ms.max(1)).min(next_ms);
                    self.event_queue.schedule(worker.due_mono_ms, SimEvent::Worker(place));
                }
                tracker.worker = Some(worker);
                outcome
            }
        };
        self.trackers[place] = Some(tracker);
        outcome.map(drop)
    }

    /// Does what a worker does next; returns when it acts again, ms from now.
    fn act(&mut self, place: usize, tracker: &mut SimTracker, worker: &mut SimWorker) -> Result<u64, Violation> {
        worker.advance(self.now.mono_ms, self.now.wall_ms);
        if worker.daemon_run != self.daemon.number || self.daemon.is_down() {
            worker.lose_connection();
            worker.daemon_run = self.daemon.number;
        }
        if self.daemon.is_down() || !tracker.fake.is_registered {
            worker.lose_connection();
            return Ok(100 + worker.random.below(900));
        }
        if self.now.mono_ms < worker.silent_until_ms {
            return Ok(worker.silent_until_ms - self.now.mono_ms);
        }
        if let Some(delayed) = worker.delayed_answer.take() {
            if self.is_sent(delayed.wait_for) {
                return self.obey_beat(tracker, worker, &delayed.answer);
            }
            worker.delayed_answer = Some(delayed);
            return Ok(self.until_sent_ms());
        }
        match worker.held_until_ms {
            Some(until_ms) if self.now.mono_ms >= until_ms => self.ask_again(tracker, worker, true),
            Some(until_ms) if !worker.fake.has_news() => Ok(until_ms - self.now.mono_ms),
            _ => self.send_beat(place, tracker, worker),
        }
    }

    fn send_beat(&mut self, place: usize, tracker: &mut SimTracker, worker: &mut SimWorker) -> Result<u64, Violation> {
        let fault = self.draw_beat_fault(worker);
        if let BeatFault::Late(pause_ms) = fault {
            return Ok(pause_ms);
        }
        if worker.silent_until_ms > self.now.mono_ms {
            worker.lose_connection();
            return Ok(worker.silent_until_ms - self.now.mono_ms);
        }
        if std::mem::take(&mut worker.must_connect) {
            worker.fake.connect();
        }
        let beat = worker.fake.beat(&tracker.fake.name);
        let address = Some(address_of(place));
        worker.held_until_ms = None;
        if fault == BeatFault::Doubled {
            self.step_beat(WorkerBeatEvent::Came { beat: Box::new(beat.clone()), address })?;
        }
        let (is_first, complains) = (beat.is_full, beat.unhealthy.is_some());
        let step = self.step_beat(WorkerBeatEvent::Came { beat: Box::new(beat), address })?;
        if let (true, Reply::Beat(BeatReply::Refused(BeatRefusal::NoFirstBeat))) = (is_first, &step.reply) {
            return Err(self.violation(Law::Order, format!("a whole list of {} is no first beat", tracker.fake.name)));
        }
        worker.is_received |= !matches!(step.reply, Reply::Beat(BeatReply::Refused(_)));
        worker.said_unhealthy = complains;
        if let BeatFault::LostAnswer(pause_ms) = fault {
            worker.lose_connection();
            return Ok(pause_ms);
        }
        self.receive(tracker, worker, step)
    }

    fn ask_again(&mut self, tracker: &mut SimTracker, worker: &mut SimWorker, is_over: bool) -> Result<u64, Violation> {
        worker.held_until_ms = worker.held_until_ms.filter(|_| !is_over);
        let incarnation = worker.fake.incarnation;
        let asked = WorkerBeatEvent::Waited { tracker: tracker.fake.name.clone(), incarnation, is_over };
        let step = self.step_beat(asked)?;
        self.receive(tracker, worker, step)
    }

    fn step_beat(&mut self, event: WorkerBeatEvent) -> Result<Step, Violation> {
        self.step(Event::WorkerBeat(event), &Intent::Other)
    }

    fn receive(&mut self, tracker: &mut SimTracker, worker: &mut SimWorker, step: Step) -> Result<u64, Violation> {
        self.check_container_ends(worker, &tracker.fake.name, &step)?;
        let Reply::Beat(reply) = step.reply else {
            return Err(self.violation(Law::Order, "a beat has no answer".to_owned()));
        };
        match reply {
            BeatReply::Waits => {
                let until_ms = *worker.held_until_ms.get_or_insert(self.now.mono_ms + HELD_MS);
                Ok(until_ms.saturating_sub(self.now.mono_ms))
            }
            BeatReply::Answer(answer) if self.is_sent(step.wait_for) => self.obey_beat(tracker, worker, &answer),
            BeatReply::Answer(answer) => {
                worker.held_until_ms = None;
                worker.delayed_answer = Some(LateAnswer { wait_for: step.wait_for, answer });
                Ok(self.until_sent_ms())
            }
            // An ill tracker does not say what its worker's secret is.
            BeatReply::Refused(BeatRefusal::NotRegistered | BeatRefusal::NoFirstBeat | BeatRefusal::WrongSecret) => {
                worker.lose_connection();
                Ok(100 + worker.random.below(2_900))
            }
            BeatReply::Refused(refusal) => {
                Err(self.violation(Law::Order, format!("{} is refused: {refusal}", tracker.fake.name)))
            }
        }
    }

    pub(super) fn obey_beat(
        &mut self,
        tracker: &mut SimTracker,
        worker: &mut SimWorker,
        answer: &BeatAnswer,
    ) -> Result<u64, Violation> {
        worker.held_until_ms = None;
        let launched = worker.obey(answer, self.now.mono_ms, self.fault_model());
        for id in launched {
            let text = self.checker.cannot_launch(id, &tracker.fake.name, worker.fake.incarnation);
            let text = text.or_else(|| (!self.launched.insert(id)).then(|| "it was launched before".to_owned()));
            if let Some(text) = text {
                let text = format!("{} is given {id}, but {text}", tracker.fake.name);
                return Err(self.violation(Law::Lives, text));
            }
        }
        let room = self.room_violation(tracker, worker);
        room.map_or(Ok(()), |text| Err(self.violation(Law::Room, text)))?;
        Ok(1 + worker.random.below(20))
    }

    fn draw_beat_fault(&mut self, worker: &mut SimWorker) -> BeatFault {
        let (chance, pause) = (worker.random.below(1_000), worker.random.number());
        let below = |most_ms: u64| pause % most_ms.max(1);
        if !self.may_act() || !self.has(RunPart::WorkerFaults) {
            return BeatFault::None;
        }
        match chance {
            0..15 => BeatFault::LostAnswer(50 + below(4_000)),
            15..30 => BeatFault::Doubled,
            30..60 => BeatFault::Late(1 + below(3_000)),
            60..64 => {
                worker.silent_until_ms = self.now.mono_ms + below(2 * self.plan.engine.tracker_expiry_ms);
                BeatFault::None
            }
            64..72 => {
                worker.fake.unhealthy = Some("no room on its disks".to_owned());
                BeatFault::None
            }
            72..120 => {
                worker.fake.unhealthy = None;
                BeatFault::None
            }
            _ => BeatFault::None,
        }
    }

    /// Workers and applications that a step has something for ask soon.
    pub(in crate::sim) fn wake_those_with_news(&mut self, step: &Step) {
        if self.plan.containers.is_none() {
            return;
        }
        for effect in &step.effects {
            match effect {
                Effect::WorkerHasNews { tracker } => {
                    let place = self.plan.trackers.iter().position(|plan| *plan.name == **tracker);
                    if let Some(place) = place {
                        self.schedule_in(1, SimEvent::WorkerNews(place));
                    }
                }
                Effect::ApplicationHasNews(id) => {
                    if let Some(number) = self.application_numbers.get(id).copied() {
                        self.schedule_in(1, SimEvent::ApplicationNews(number));
                    }
                }
                _ => {}
            }
        }
    }

    /// A process that is no worker says a worker's name: it must be refused, and nothing changes.
    pub(super) fn forge_beat(&mut self, place: usize, chance: u64) -> Result<(), Violation> {
        let Some(Some(tracker)) = self.trackers.get(place) else { return Ok(()) };
        let Some(worker) = &tracker.worker else { return Ok(()) };
        let mut liar = worker.fake.clone();
        let mut beat = {
            liar.containers.clear();
            liar.connect();
            liar.beat(&tracker.fake.name)
        };
        let mut address = address_of(place);
        match chance % 3 {
            0 => beat.secret = "0".repeat(64),
            1 => address = address_of(place + 1),
            _ => beat.tracker = "tracker_h0:localhost/127.0.0.1:1".to_owned(),
        }
        let step = self.step_beat(WorkerBeatEvent::Came { beat: Box::new(beat), address: Some(address) })?;
        match step.reply {
            Reply::Beat(BeatReply::Refused(_)) if changes_nothing(&step) => Ok(()),
            reply => Err(self.violation(Law::Order, format!("a stranger's beat is answered by {reply:?}"))),
        }
    }

    /// The answer that a worker has received of a daemon that crashed, if it was durable.
    pub(in crate::sim) fn deliver_before_crash(
        &mut self,
        tracker: &mut SimTracker,
        durable: FactNumber,
        has_received: bool,
    ) -> Result<(), Violation> {
        let Some(mut worker) = tracker.worker.take() else { return Ok(()) };
        let delayed = worker.delayed_answer.take().filter(|delayed| has_received && delayed.wait_for <= durable);
        let obeyed = delayed.map_or(Ok(0), |delayed| self.obey_beat(tracker, &mut worker, &delayed.answer));
        worker.lose_connection();
        tracker.worker = Some(worker);
        obeyed.map(drop)
    }
}
