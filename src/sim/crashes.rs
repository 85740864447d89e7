//! The JobTracker itself crashes, at any moment and at moments that were chosen to hurt, and is started again.
//!
//! A crash cuts at a durable fact, always between two steps: the facts of a step are stored together. What comes after the
//! cut is gone, with everything that was to wait for it. What was durable may have been answered, or its answer was lost on the
//! way. The judge falls back to what it knew at the cut; what trackers and users received stays received.

use crate::engine::{Engine, Event, Fact, Reply, Step, SubmissionReply};
use crate::model::{FactNumber, Identifier, Now};

use super::agenda::Wake;
use super::cuts::Part;
use super::daemon_run::{AIMS, Aim, Fall, State};
use super::laws::{Intent, Judge, Law, Violation};
use super::random::Random;
use super::tracker::SimTracker;
use super::world::World;

/// Steps in which what a crash is aimed at may come.
const PATIENCE: u32 = 300;

/// What the clock that never goes back shows when a daemon starts, ms: as in production, what began earlier has a time.
const START_MONO_MS: u64 = 1 << 40;

// === impl World: the daemon's own life ===

impl World<'_> {
    /// Both clocks as the daemon reads them.
    pub(super) fn daemon_now(&self) -> Now {
        Now { mono_ms: self.now.mono_ms.wrapping_add(self.daemon.ahead_ms), wall_ms: self.now.wall_ms }
    }

    /// Whether this run has crashes at all.
    pub(super) fn has_crashes(&self) -> bool {
        self.plan.crash_pause_ms.is_some() && self.options.cuts.has(Part::Crashes)
    }

    /// The last fact that is durable.
    pub(super) fn durable(&self) -> FactNumber {
        match (&self.daemon.state, self.store_stall) {
            (State::Falling(fall), _) => fall.durable,
            (_, Some((until_mono_ms, durable))) if self.now.mono_ms < until_mono_ms => durable,
            _ => self.engine.last_fact(),
        }
    }

    /// Whether an answer that waits for a fact leaves now.
    pub(super) fn is_sent(&self, wait_for: FactNumber) -> bool {
        let is_mute = matches!(&self.daemon.state, State::Falling(fall) if fall.is_mute);
        !is_mute && wait_for <= self.durable()
    }

    /// Whether the store stands still.
    fn is_stalled(&self) -> bool {
        self.store_stall.is_some_and(|(until_mono_ms, _)| self.now.mono_ms < until_mono_ms)
    }

    /// Whether an answer may be held back.
    pub(super) fn may_hold_back(&self) -> bool {
        self.is_stalled() || !matches!(self.daemon.state, State::Up)
    }

    /// Until it is worth while to look again whether an answer leaves, ms.
    pub(super) fn until_sent_ms(&self) -> u64 {
        let until_mono_ms = match (&self.daemon.state, self.store_stall) {
            (State::Falling(fall), _) => fall.until_mono_ms,
            (_, Some((until_mono_ms, _))) => until_mono_ms,
            _ => 0,
        };
        until_mono_ms.saturating_sub(self.now.mono_ms) + 1
    }

    /// A step is about to be made: what is to be known of the moment before it, should it be the last one.
    pub(super) fn before_the_last(&self) -> Option<Box<Judge>> {
        matches!(self.daemon.state, State::Aimed { loses_step: true, .. }).then(|| Box::new(self.judge.clone()))
    }

    /// A step was made.
    pub(super) fn keep_facts(&mut self, step: &Step, before: Option<Box<Judge>>) {
        if !self.has_crashes() {
            return;
        }
        self.daemon.unrecorded.extend(step.facts.iter().cloned());
        let State::Aimed { aim, patience, .. } = &mut self.daemon.state else { return };
        *patience = patience.saturating_sub(1);
        if *patience > 0 && !aim.is_met(step) {
            return;
        }
        let (durable, judge) = match before {
            Some(judge) => (FactNumber(step.first_fact.0 - 1), *judge),
            None => (self.engine.last_fact(), self.judge.clone()),
        };
        let until_mono_ms = self.now.mono_ms;
        self.daemon.state =
            State::Falling(Box::new(Fall { durable, judge, is_mute: true, until_mono_ms, then_ms: None }));
        self.agenda.enter(until_mono_ms, Wake::Fall);
    }

    /// The facts of a start.
    pub(super) fn keep_start_facts(&mut self, facts: Vec<Fact>) {
        if self.has_crashes() {
            self.daemon.unrecorded.extend(facts);
        }
    }

    /// Something is to befall the daemon.
    pub(super) fn crash_comes(&mut self) -> Result<(), Violation> {
        let pause_ms = self.plan.crash_pause_ms.unwrap_or(u64::MAX / 4);
        let mut random = Random::stream(self.crashes.number(), 0);
        self.wake_in(random.between(pause_ms / 4, pause_ms * 2), Wake::Crash);
        let is_up = matches!(self.daemon.state, State::Up) && !self.is_stalled();
        if !is_up || !self.may_choose() || !self.has(Part::Crashes) {
            return Ok(());
        }
        let most_ms = [10, 500, 3_000][random.below(3) as usize];
        let (first_ms, then_ms) = (random.below(most_ms), random.below(most_ms));
        match random.below(8) {
            // A stop, or a crash in a quiet moment: all is durable and answered.
            0 => {
                self.fall_in(0, None);
                self.crash()
            }
            1 => {
                self.fall_in(first_ms, None);
                Ok(())
            }
            2 => {
                self.fall_in(first_ms, Some(then_ms));
                Ok(())
            }
            _ => {
                let aim = random.pick(&AIMS).copied().unwrap_or(Aim::Launch);
                let loses_step = random.one_in(2);
                self.daemon.state = State::Aimed { aim, loses_step, patience: PATIENCE };
                Ok(())
            }
        }
    }

    /// From now on nothing becomes durable any more, for so long.
    fn fall_in(&mut self, lasts_ms: u64, then_ms: Option<u64>) {
        let until_mono_ms = self.now.mono_ms + lasts_ms;
        let (durable, judge) = (self.engine.last_fact(), self.judge.clone());
        self.daemon.state = State::Falling(Box::new(Fall { durable, judge, is_mute: false, until_mono_ms, then_ms }));
        self.agenda.enter(until_mono_ms, Wake::Fall);
    }

    /// The next step of the daemon's crash.
    pub(super) fn fall(&mut self) -> Result<(), Violation> {
        let State::Falling(fall) = &mut self.daemon.state else { return Ok(()) };
        if self.now.mono_ms < fall.until_mono_ms {
            return Ok(());
        }
        let Some(then_ms) = fall.then_ms.take() else { return self.crash() };
        // A commit takes place, and its answers are lost.
        fall.durable = self.engine.last_fact();
        fall.judge = self.judge.clone();
        fall.is_mute = true;
        fall.until_mono_ms = self.now.mono_ms + then_ms;
        self.agenda.enter(fall.until_mono_ms, Wake::Fall);
        Ok(())
    }

    /// The daemon is gone, and what was not durable with it.
    fn crash(&mut self) -> Result<(), Violation> {
        let State::Falling(fall) = std::mem::replace(&mut self.daemon.state, State::Down) else { return Ok(()) };
        let Fall { durable, judge, .. } = *fall;
        let first = FactNumber(self.daemon.recorded.0 + 1);
        let kept = (durable.0 - self.daemon.recorded.0) as usize;
        let facts = std::mem::take(&mut self.daemon.unrecorded);
        let recorded = facts.get(..kept).map_or(Ok(()), |facts| self.journal.record(first, facts));
        recorded.map_err(|text| self.violation(Law::End, format!("facts cannot be kept: {text}")))?;
        self.daemon.recorded = durable;
        self.judge.fall_back(judge);
        self.timer = (None, 0);
        let mut random = Random::stream(self.crashes.number(), 1);
        for place in 0..self.trackers.len() {
            let is_told = random.one_in(2);
            let Some(mut tracker) = self.trackers[place].take() else { continue };
            // Of what was durable some answers had left.
            let held = tracker.held.take().filter(|held| is_told && held.wait_for <= durable);
            let obeyed = held.map_or(Ok(()), |held| self.obey(&mut tracker, &held.answer));
            tracker.connection = self.new_connection();
            self.trackers[place] = Some(tracker);
            obeyed?;
        }
        for submission in std::mem::take(&mut self.submissions).into_values() {
            if random.one_in(2) {
                self.resubmissions.push(submission);
            }
        }
        let longest_ms = match random.below(4) {
            0 => 100,
            1 | 2 => 10_000,
            _ => 2 * self.plan.engine.tracker_expiry_ms,
        };
        self.wake_in(random.below(longest_ms), Wake::Start);
        Ok(())
    }

    /// The next daemon starts from what is durable.
    pub(super) fn start(&mut self) -> Result<(), Violation> {
        if !self.daemon.is_down() {
            return Ok(());
        }
        let mut random = Random::stream(self.crashes.number(), 2);
        if random.one_in(4) && self.options.cuts.has(Part::ClockSteps) && !self.is_calm {
            let jump_ms = random.below(600_000).cast_signed();
            self.now.wall_ms += if random.one_in(2) { jump_ms } else { -jump_ms };
        }
        let daemon = &mut self.daemon;
        daemon.number += 1;
        daemon.start_mono_ms = self.now.mono_ms;
        daemon.ahead_ms = (START_MONO_MS + random.below(50)).wrapping_sub(self.now.mono_ms);
        // One of which nothing was durable leaves no trace, and its identifier is used again.
        if daemon.born <= daemon.recorded {
            daemon.identifier = Identifier::from_number(daemon.identifier.number() + 1);
        }
        daemon.born = FactNumber(daemon.recorded.0 + 1);
        let restored = self.journal.reopen();
        let restored = restored.map_err(|text| self.violation(Law::End, format!("a start fails: {text}")))?;
        if restored.last_fact != self.daemon.recorded {
            let text = format!("fact {} is the last to a start, not {:?}", restored.last_fact.0, self.daemon.recorded);
            return Err(self.violation(Law::End, text));
        }
        let config = crate::engine::EngineConfig { identifier: self.daemon.identifier, ..self.plan.engine.clone() };
        let now = self.daemon_now();
        self.engine = Engine::new(config, restored, now);
        let (first, facts) = self.engine.take_start_facts();
        self.daemon.state = State::Up;
        let falls_again = random.one_in(5) && self.may_choose() && self.has(Part::Crashes);
        if falls_again && random.one_in(2) {
            // Not even its start becomes durable.
            let until_mono_ms = self.now.mono_ms + random.below(300);
            let (durable, judge) = (self.daemon.recorded, self.judge.clone());
            self.daemon.state =
                State::Falling(Box::new(Fall { durable, judge, is_mute: false, until_mono_ms, then_ms: None }));
            self.agenda.enter(until_mono_ms, Wake::Fall);
        }
        self.judge.restart(first, &facts, &mut self.acknowledged, &self.engine, now, self.daemon.ahead_ms)?;
        self.keep_start_facts(facts);
        if falls_again && matches!(self.daemon.state, State::Up) {
            self.fall_in(random.below(1_000), None);
        }
        for _ in 0..self.resubmissions.len() {
            self.wake_in(random.below(5_000), Wake::Resubmission);
        }
        self.note_timer();
        Ok(())
    }

    /// No crash comes any more; one that is under way is over.
    pub(super) fn end_crashes(&mut self) -> Result<(), Violation> {
        self.resubmissions.clear();
        match self.daemon.state {
            State::Down => self.start(),
            _ => {
                self.daemon.state = State::Up;
                Ok(())
            }
        }
    }

    /// A user whose submission was cut off asks for its state, and submits again.
    pub(super) fn resubmit(&mut self) -> Result<(), Violation> {
        if self.daemon.is_down() {
            return Ok(());
        }
        let Some(submission) = self.resubmissions.pop() else { return Ok(()) };
        let Some(Some(user)) = self.users.get(submission.user) else { return Ok(()) };
        let caller = crate::engine::Caller::named(user.name.as_str());
        let step = self.step(Event::SubmissionRequested { id: submission.id, caller }, &Intent::Other)?;
        match step.reply {
            Reply::Submission(SubmissionReply::Accepted(_)) if self.is_sent(step.wait_for) => {
                // It may have been taken in, and be over, while its user was away.
                if self.judge.is_live(submission.id) {
                    self.acknowledged.insert(submission.id);
                }
                Ok(())
            }
            Reply::Submission(SubmissionReply::Accepted(_)) => Ok(()),
            Reply::Submission(_) => {
                let text = format!("{} was given out before a restart and is taken for a new job's", submission.id);
                Err(self.violation(Law::End, text))
            }
            _ => self.submit_anew(submission),
        }
    }

    /// A tracker finds the port closed: it keeps its heartbeat, and repeats exactly that one.
    pub(super) fn refused(&mut self, tracker: &mut SimTracker) -> u64 {
        let (chance, pause_ms) = (tracker.random.below(1_000), 900 + tracker.random.below(200));
        if chance < 5 && self.has(Part::Restarts) {
            let connection = self.new_connection();
            tracker.restart(connection);
            return 500 + 10 * pause_ms;
        }
        if tracker.fake.unanswered.is_none() {
            tracker.fake.unanswered = Some(tracker.request(self.now.mono_ms, self.now.wall_ms));
        }
        tracker.is_behind = true;
        pause_ms
    }
}
