//! What trackers really have, against what the JobTracker says is lost: law 5 over restarts.
//!
//! Work is lost with a tracker that ends, that is silent for too long or whose host is excluded. A restart of the
//! JobTracker loses none.

use crate::engine::{Fact, HeartbeatAnswer, Step};
use crate::mapreduce::{EndedAttempt, JobFact};
use crate::model::AttemptState;
use crate::wire::Action;

use super::attempt::is_worth;
use super::laws::{Law, Violation};
use super::tracker::SimTracker;
use super::world::World;

/// What the engine says of attempts that it gives up unheard.
const LOST_WITH: &str = "Lost task tracker: ";
const UNKNOWN_THERE: &str = " does not know of it any more";

// === impl World: losses ===

impl World<'_> {
    /// No tracker has what the facts of this step say is lost. Who calls at this moment is judged apart.
    pub(super) fn judge_losses(&self, step: &Step) -> Result<(), Violation> {
        if !self.judge.fallen().is_empty() {
            for tracker in self.trackers.iter().flatten() {
                self.judge_losses_of(tracker, step)?;
            }
        }
        Ok(())
    }

    /// One tracker does not have what the facts of this step say is lost.
    pub(super) fn judge_losses_of(&self, tracker: &SimTracker, step: &Step) -> Result<(), Violation> {
        let fallen = self.judge.fallen();
        if fallen.is_empty() || self.is_overdue(tracker) {
            return Ok(());
        }
        let mut lost = step.facts.iter().filter_map(claimed_loss);
        match lost.find(|lost| fallen.contains(&lost.attempt) && tracker.has(lost.attempt)) {
            None => Ok(()),
            Some(lost) => {
                let text =
                    format!("{} is given up, and {} has it: {}", lost.attempt, tracker.fake.name, lost.diagnostics);
                Err(self.violation(Law::End, text))
            }
        }
    }

    /// A tracker is ordered to reinitialize, and must not have anything that counts.
    pub(super) fn judge_new_start(&self, tracker: &SimTracker, answer: &HeartbeatAnswer) -> Result<(), Violation> {
        let HeartbeatAnswer::Fresh(response) = answer else { return Ok(()) };
        if !response.actions.contains(&Action::ReinitTracker) {
            return Ok(());
        }
        let at_work = tracker.fake.attempts.iter().filter(|attempt| is_worth(attempt)).map(|attempt| attempt.id);
        let lost = at_work
            .chain(tracker.fake.outputs.iter().copied())
            .find(|id| self.judge.counts_on(*id, &tracker.fake.name));
        match lost {
            None => Ok(()),
            Some(id) => {
                Err(self.violation(Law::End, format!("{} is ordered to reinitialize, and has {id}", tracker.fake.name)))
            }
        }
    }

    /// Whether a tracker has been silent for longer than it may, as far as this JobTracker can know.
    fn is_overdue(&self, tracker: &SimTracker) -> bool {
        let since_mono_ms = tracker.heard_mono_ms.max(self.daemon.start_mono_ms);
        self.now.mono_ms.saturating_sub(since_mono_ms) > self.plan.engine.tracker_expiry_ms
    }
}

/// An attempt that is said to be lost.
fn claimed_loss(fact: &Fact) -> Option<&EndedAttempt> {
    let Fact::Job(JobFact::AttemptEnded(ended)) = fact else { return None };
    let said = ended.diagnostics.lines().last()?;
    let is_lost = said.starts_with(LOST_WITH) || said.contains(UNKNOWN_THERE);
    (is_lost && ended.state != AttemptState::Succeeded).then_some(ended)
}
