//! Compares the attempts that trackers have with those that the JobTracker declares lost: law 5 over restarts.
//!
//! Work is lost with a tracker that ends, that is silent for too long or whose host is excluded. A restart of the JobTracker loses none.

use crate::engine::{Fact, HeartbeatAnswer, Step};
use crate::mapreduce::{EndedAttempt, JobFact};
use crate::model::AttemptState;
use crate::wire::Action;

use super::attempt::is_work_to_lose;
use super::laws::{Law, Violation};
use super::tracker::SimTracker;
use super::world::World;

/// Diagnostics of attempts that the engine ends without a report.
const LOST_WITH: &str = "Lost task tracker: ";
const UNKNOWN_THERE: &str = " does not know of it any more";

impl World<'_> {
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
