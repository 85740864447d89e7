//! Crashes of the JobTracker itself, at random and at chosen steps, and its restarts.
//!
//! A crash keeps all facts up to a durable one, always between two steps: the facts of a step are stored together.
//! Later facts are lost, with every answer that waits for them. The answer to a durable fact may have been sent, or
//! lost on the way. The law checker rolls back to that fact; what trackers and users have received stays received.

use crate::engine::{Engine, Event, Fact, HeartbeatAnswer, Reply, Step, SubmissionReply};
use crate::mapreduce::{EndedAttempt, JobFact};
use crate::model::{AttemptState, FactNumber, Identifier, Now};
use crate::wire::Action;

use super::attempt::is_work_to_lose;
use super::cuts::RunPart;
use super::daemon_run::{CONTAINER_TRIGGERS, CRASH_TRIGGERS, CrashTrigger, PendingCrash, ProcessState};
use super::event_queue::SimEvent;
use super::laws::{Intent, Law, LawChecker, Violation};
use super::random::Random;
use super::tracker::SimTracker;
use super::world::World;

/// Steps after which a crash no longer waits for its trigger.
const MAX_STEPS_TO_CRASH: u32 = 300;

/// The monotonic clock when a daemon starts, ms: as in production, earlier times can be expressed.
const START_MONO_MS: u64 = 1 << 40;

/// Diagnostics of attempts that the engine ends without a report.
const LOST_WITH: &str = "Lost task tracker: ";
const UNKNOWN_THERE: &str = " does not know of it any more";

impl World<'_> {
    /// Both clocks as the daemon reads them.
    pub(super) fn daemon_now(&self) -> Now {
        Now { mono_ms: self.now.mono_ms.wrapping_add(self.daemon.clock_offset_ms), wall_ms: self.now.wall_ms }
    }

    pub(super) fn has_crashes(&self) -> bool {
        self.plan.crash_pause_ms.is_some() && self.options.cuts.has(RunPart::Crashes)
    }

    pub(super) fn durable(&self) -> FactNumber {
        match (&self.daemon.state, self.store_stall) {
            (ProcessState::Crashing(pending), _) => pending.durable,
            (_, Some((until_mono_ms, durable))) if self.now.mono_ms < until_mono_ms => durable,
            _ => self.engine.last_fact(),
        }
    }

    pub(super) fn is_sent(&self, wait_for: FactNumber) -> bool {
        let drops_answers = matches!(&self.daemon.state, ProcessState::Crashing(pending) if pending.drops_answers);
        !drops_answers && wait_for <= self.durable()
    }

    fn is_stalled(&self) -> bool {
        self.store_stall.is_some_and(|(until_mono_ms, _)| self.now.mono_ms < until_mono_ms)
    }

    pub(super) fn may_hold_back(&self) -> bool {
        self.is_stalled() || !matches!(self.daemon.state, ProcessState::Up)
    }

    pub(super) fn until_sent_ms(&self) -> u64 {
        let until_mono_ms = match (&self.daemon.state, self.store_stall) {
            (ProcessState::Crashing(pending), _) => pending.until_mono_ms,
            (_, Some((until_mono_ms, _))) => until_mono_ms,
            _ => 0,
        };
        until_mono_ms.saturating_sub(self.now.mono_ms) + 1
    }

    /// A copy of the law checker before a step whose facts a crash may lose.
    pub(super) fn checker_before_step(&self) -> Option<Box<LawChecker>> {
        matches!(self.daemon.state, ProcessState::Armed { loses_step: true, .. })
            .then(|| Box::new(self.checker.clone()))
    }

    /// Collects the facts of a step, and begins a crash that it triggers.
    pub(super) fn collect_facts(&mut self, step: &Step, before: Option<Box<LawChecker>>) {
        if !self.has_crashes() {
            return;
        }
        self.daemon.unrecorded.extend(step.facts.iter().cloned());
        let ProcessState::Armed { trigger, steps_left, .. } = &mut self.daemon.state else { return };
        *steps_left = steps_left.saturating_sub(1);
        if *steps_left > 0 && !trigger.is_matched_by(step) {
            return;
        }
        let (durable, checker) = match before {
            Some(checker) => (FactNumber(step.first_fact.0 - 1), *checker),
            None => (self.engine.last_fact(), self.checker.clone()),
        };
        self.begin_crash((durable, checker), true, self.now.mono_ms, None);
    }

    pub(super) fn collect_start_facts(&mut self, facts: Vec<Fact>) {
        if self.has_crashes() {
            self.daemon.unrecorded.extend(facts);
        }
    }

    /// Plans a crash: now, after a stall of the store, or at a step of some kind.
    pub(super) fn plan_crash(&mut self) -> Result<(), Violation> {
        let pause_ms = self.plan.crash_pause_ms.unwrap_or(u64::MAX / 4);
        let mut random = Random::stream(self.crashes.number(), 0);
        self.schedule_in(random.between(pause_ms / 4, pause_ms * 2), SimEvent::Crash);
        let is_up = matches!(self.daemon.state, ProcessState::Up) && !self.is_stalled();
        if !is_up || !self.may_act() || !self.has(RunPart::Crashes) {
            return Ok(());
        }
        let most_ms = [10, 500, 3_000][random.below(3) as usize];
        let (first_ms, crash_delay_ms) = (random.below(most_ms), random.below(most_ms));
        match random.below(8) {
            // A stop, or a crash while idle: all is durable and answered.
            0 => {
                self.stop_commits(0, None);
                self.crash()
            }
            1 => {
                self.stop_commits(first_ms, None);
                Ok(())
            }
            2 => {
                self.stop_commits(first_ms, Some(crash_delay_ms));
                Ok(())
            }
            _ => {
                let trigger = random.pick(&CRASH_TRIGGERS).copied().unwrap_or(CrashTrigger::Launch);
                let loses_step = random.one_in(2);
                let trigger = match self.plan.containers.is_some() && random.one_in(2) {
                    true => random.pick(&CONTAINER_TRIGGERS).copied().unwrap_or(trigger),
                    false => trigger,
                };
                self.daemon.state = ProcessState::Armed { trigger, loses_step, steps_left: MAX_STEPS_TO_CRASH };
                Ok(())
            }
        }
    }

    /// Makes nothing durable any more; the daemon crashes after so long.
    fn stop_commits(&mut self, lasts_ms: u64, crash_delay_ms: Option<u64>) {
        let until_mono_ms = self.now.mono_ms + lasts_ms;
        self.begin_crash((self.engine.last_fact(), self.checker.clone()), false, until_mono_ms, crash_delay_ms);
    }

    /// Nothing after a fact becomes durable, to which this law checker belongs.
    fn begin_crash(
        &mut self,
        (durable, checker): (FactNumber, LawChecker),
        drops_answers: bool,
        until_mono_ms: u64,
        crash_delay_ms: Option<u64>,
    ) {
        let pending = PendingCrash { durable, checker, drops_answers, until_mono_ms, crash_delay_ms };
        self.daemon.state = ProcessState::Crashing(Box::new(pending));
        self.event_queue.schedule(until_mono_ms, SimEvent::CrashStep);
    }

    /// Advances the crash: a last commit without answers, then the end of the process.
    pub(super) fn advance_crash(&mut self) -> Result<(), Violation> {
        let ProcessState::Crashing(pending) = &mut self.daemon.state else { return Ok(()) };
        if self.now.mono_ms < pending.until_mono_ms {
            return Ok(());
        }
        let Some(crash_delay_ms) = pending.crash_delay_ms.take() else { return self.crash() };
        // A commit succeeds, and its answers are lost.
        pending.durable = self.engine.last_fact();
        pending.checker = self.checker.clone();
        pending.drops_answers = true;
        pending.until_mono_ms = self.now.mono_ms + crash_delay_ms;
        self.event_queue.schedule(pending.until_mono_ms, SimEvent::CrashStep);
        Ok(())
    }

    /// Ends the daemon; facts that are not durable are lost.
    fn crash(&mut self) -> Result<(), Violation> {
        let ProcessState::Crashing(pending) = std::mem::replace(&mut self.daemon.state, ProcessState::Down) else {
            return Ok(());
        };
        let PendingCrash { durable, checker, .. } = *pending;
        let first = FactNumber(self.daemon.recorded.0 + 1);
        let kept = (durable.0 - self.daemon.recorded.0) as usize;
        let facts = std::mem::take(&mut self.daemon.unrecorded);
        let recorded = facts.get(..kept).map_or(Ok(()), |facts| self.journal.record(first, facts));
        recorded.map_err(|text| self.violation(Law::End, format!("facts cannot be kept: {text}")))?;
        self.daemon.recorded = durable;
        self.checker.roll_back(checker);
        self.timer = (None, 0);
        let mut random = Random::stream(self.crashes.number(), 1);
        for place in 0..self.trackers.len() {
            let has_received = random.one_in(2);
            let Some(mut tracker) = self.trackers[place].take() else { continue };
            // Some answers to durable facts were sent.
            let delayed = tracker.delayed_answer.take().filter(|delayed| has_received && delayed.wait_for <= durable);
            let applied = delayed.map_or(Ok(()), |delayed| self.apply_heartbeat_answer(&mut tracker, &delayed.answer));
            tracker.connection = self.new_connection();
            let obeyed = self.deliver_before_crash(&mut tracker, durable, has_received);
            self.trackers[place] = Some(tracker);
            applied?;
            obeyed?;
        }
        for submission in std::mem::take(&mut self.submissions).into_values() {
            if random.one_in(2) {
                self.resubmissions.push(submission);
            }
        }
        self.end_waits_of_applications();
        let longest_ms = match random.below(4) {
            0 => 100,
            1 | 2 => 10_000,
            _ => 2 * self.plan.engine.tracker_expiry_ms,
        };
        self.schedule_in(random.below(longest_ms), SimEvent::Start);
        Ok(())
    }

    pub(super) fn start(&mut self) -> Result<(), Violation> {
        if !self.daemon.is_down() {
            return Ok(());
        }
        let mut random = Random::stream(self.crashes.number(), 2);
        if random.one_in(4) && self.options.cuts.has(RunPart::ClockSteps) && !self.is_draining {
            let jump_ms = random.below(600_000).cast_signed();
            self.now.wall_ms += if random.one_in(2) { jump_ms } else { -jump_ms };
        }
        let daemon = &mut self.daemon;
        daemon.number += 1;
        daemon.start_mono_ms = self.now.mono_ms;
        daemon.clock_offset_ms = (START_MONO_MS + random.below(50)).wrapping_sub(self.now.mono_ms);
        // A run without durable facts leaves no trace, and its identifier is used again.
        if daemon.identifier_fact <= daemon.recorded {
            daemon.identifier = Identifier::from_number(daemon.identifier.number() + 1);
        }
        daemon.identifier_fact = FactNumber(daemon.recorded.0 + 1);
        let restored = self.journal.reopen();
        let restored = restored.map_err(|text| self.violation(Law::End, format!("a start fails: {text}")))?;
        if restored.last_fact != self.daemon.recorded {
            let text = format!("fact {} is the last to a start, not {:?}", restored.last_fact.0, self.daemon.recorded);
            return Err(self.violation(Law::End, text));
        }
        let (policy, choice) = self.checker.scheduler();
        let identifier = self.daemon.identifier;
        let config = crate::engine::EngineConfig { identifier, policy, choice, ..self.plan.engine.clone() };
        let now = self.daemon_now();
        self.engine = Engine::new(config, restored, now);
        let (first, facts) = self.engine.take_start_facts();
        self.daemon.state = ProcessState::Up;
        let crashes_again = random.one_in(5) && self.may_act() && self.has(RunPart::Crashes);
        if crashes_again && random.one_in(2) {
            // Not even its start becomes durable.
            let until_mono_ms = self.now.mono_ms + random.below(300);
            self.begin_crash((self.daemon.recorded, self.checker.clone()), false, until_mono_ms, None);
        }
        self.checker.restart(first, &facts, &mut self.acknowledged, &self.engine, now, self.daemon.clock_offset_ms)?;
        self.check_what_was_said()?;
        self.collect_start_facts(facts);
        if crashes_again && matches!(self.daemon.state, ProcessState::Up) {
            self.stop_commits(random.below(1_000), None);
        }
        for _ in 0..self.resubmissions.len() {
            self.schedule_in(random.below(5_000), SimEvent::Resubmission);
        }
        self.update_timer();
        Ok(())
    }

    /// Ends a crash in progress; no other follows.
    pub(super) fn end_crashes(&mut self) -> Result<(), Violation> {
        self.resubmissions.clear();
        match self.daemon.state {
            ProcessState::Down => self.start(),
            _ => {
                self.daemon.state = ProcessState::Up;
                Ok(())
            }
        }
    }

    /// Repeats an interrupted submission, unless the JobTracker has accepted it.
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
                // The job may have been accepted, and have ended, before the crash.
                if self.checker.is_live(submission.id) {
                    self.acknowledged.insert(submission.id);
                }
                Ok(())
            }
            Reply::Submission(SubmissionReply::Accepted(_)) => Ok(()),
            Reply::Submission(_) => {
                let text = format!("{} was given out before a restart and is taken for a new job's", submission.id);
                Err(self.violation(Law::End, text))
            }
            _ => self.submit_again(submission),
        }
    }

    /// A tracker that cannot connect keeps its heartbeat, and repeats exactly that one.
    pub(super) fn on_connection_refused(&mut self, tracker: &mut SimTracker) -> u64 {
        let (chance, pause_ms) = (tracker.random.below(1_000), 900 + tracker.random.below(200));
        if chance < 5 && self.has(RunPart::Restarts) {
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

    /// Checks that no tracker has an attempt that this step declares lost. The sender of the heartbeat is checked apart.
    pub(super) fn check_losses(&self, step: &Step) -> Result<(), Violation> {
        if !self.checker.lost_attempts().is_empty() {
            for tracker in self.trackers.iter().flatten() {
                self.check_losses_of(tracker, step)?;
            }
        }
        Ok(())
    }

    /// Checks that one tracker has no attempt that this step declares lost.
    pub(super) fn check_losses_of(&self, tracker: &SimTracker, step: &Step) -> Result<(), Violation> {
        let lost_attempts = self.checker.lost_attempts();
        if lost_attempts.is_empty() || self.is_overdue(tracker) {
            return Ok(());
        }
        let mut lost = step.facts.iter().filter_map(claimed_loss);
        match lost.find(|lost| lost_attempts.contains(&lost.attempt) && tracker.has(lost.attempt)) {
            None => Ok(()),
            Some(lost) => {
                let text =
                    format!("{} is given up, and {} has it: {}", lost.attempt, tracker.fake.name, lost.diagnostics);
                Err(self.violation(Law::End, text))
            }
        }
    }

    /// Checks that a tracker that is ordered to reinitialize has no attempt or output that a job needs.
    pub(super) fn check_reinit(&self, tracker: &SimTracker, answer: &HeartbeatAnswer) -> Result<(), Violation> {
        let HeartbeatAnswer::Fresh(response) = answer else { return Ok(()) };
        if !response.actions.contains(&Action::ReinitTracker) {
            return Ok(());
        }
        let at_work = tracker.fake.attempts.iter().filter(|attempt| is_work_to_lose(attempt)).map(|attempt| attempt.id);
        let lost =
            at_work.chain(tracker.fake.outputs.iter().copied()).find(|id| self.checker.needs(*id, &tracker.fake.name));
        match lost {
            None => Ok(()),
            Some(id) => {
                Err(self.violation(Law::End, format!("{} is ordered to reinitialize, and has {id}", tracker.fake.name)))
            }
        }
    }

    /// Whether a tracker has been silent for longer than the expiry interval, as far as this JobTracker can know.
    fn is_overdue(&self, tracker: &SimTracker) -> bool {
        let since_mono_ms = tracker.last_call_mono_ms.max(self.daemon.start_mono_ms);
        self.now.mono_ms.saturating_sub(since_mono_ms) > self.plan.engine.tracker_expiry_ms
    }
}

fn claimed_loss(fact: &Fact) -> Option<&EndedAttempt> {
    let Fact::Job(JobFact::AttemptEnded(ended)) = fact else { return None };
    let cause = ended.diagnostics.lines().last()?;
    let is_lost = cause.starts_with(LOST_WITH) || cause.contains(UNKNOWN_THERE);
    (is_lost && ended.state != AttemptState::Succeeded).then_some(ended)
}
