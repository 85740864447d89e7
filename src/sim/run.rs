//! One run and its result; and the smallest run that breaks the same law.

use crate::engine::Step;

use super::cuts::{Cuts, RunPart, STRETCHES};
use super::laws::{Tally, Violation};
use super::plan::Plan;
use super::run_options::{Journal, RunOptions};
use super::world::World;

/// The result of a run: its figures, and the law that it broke, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedRun {
    pub tally: Tally,
    pub violation: Option<Violation>,
}

impl SimulatedRun {
    /// Plays a run to its end or to the first violation. `journal` is an empty one; it records facts at crashes only.
    pub fn play(options: &RunOptions, journal: &mut dyn Journal) -> Self {
        Self::play_tampered(options, journal, |_| {})
    }

    /// The same, but each step passes through `tamper` before it is checked: to test that the checker notices.
    pub fn play_tampered(options: &RunOptions, journal: &mut dyn Journal, mut tamper: impl FnMut(&mut Step)) -> Self {
        let mut world = World::new(options, journal, &mut tamper);
        let violation = world.play().err();
        Self { tally: world.tally(), violation }
    }
}

/// A failing run that nothing more can be taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    pub options: RunOptions,
    pub violation: Violation,
    pub tries: usize,
}

/// Most passes over all parts: a part may become unnecessary once another is left out.
const MOST_ROUNDS: usize = 3;

/// Shrinks a run in which `play` finds a broken law; the rest breaks the same law.
pub fn shrink(
    options: &RunOptions,
    violation: Violation,
    mut play: impl FnMut(&RunOptions) -> Option<Violation>,
) -> Shrunk {
    let mut shrunk = Shrunk { options: options.clone(), violation, tries: 0 };
    shrunk.cut_off(&mut play);
    let parts = parts_of(options);
    for _ in 0..MOST_ROUNDS {
        let before = shrunk.options.clone();
        let mut size = parts.len();
        while size > 0 {
            for chunk in parts.chunks(size) {
                shrunk.leave_out(chunk, &mut play);
            }
            size /= 2;
        }
        shrunk.cut_off(&mut play);
        if shrunk.options == before {
            break;
        }
    }
    shrunk
}

/// All that may be left out of a run, in an order in which neighbours belong together. The first tracker stays: one
/// tracker must be able to run every kind of task.
fn parts_of(options: &RunOptions) -> Vec<RunPart> {
    let plan = Plan::new(options);
    let stretches = (0..STRETCHES).map(RunPart::Stretch);
    let users = (0..plan.users.len()).map(RunPart::User);
    RunPart::kinds().chain(stretches).chain((1..plan.trackers.len()).map(RunPart::Tracker)).chain(users).collect()
}

impl Shrunk {
    /// Keeps a smaller run if it breaks the same law.
    fn attempt(&mut self, cuts: Cuts, play: &mut impl FnMut(&RunOptions) -> Option<Violation>) -> bool {
        if cuts == self.options.cuts {
            return false;
        }
        let options = RunOptions { cuts, ..self.options.clone() };
        self.tries += 1;
        match play(&options).filter(|found| found.law == self.violation.law) {
            Some(violation) => {
                self.options = options;
                self.violation = violation;
                true
            }
            None => false,
        }
    }

    fn leave_out(&mut self, parts: &[RunPart], play: &mut impl FnMut(&RunOptions) -> Option<Violation>) {
        let mut cuts = self.options.cuts.clone();
        cuts.without.extend(parts);
        self.attempt(cuts, play);
    }

    /// Ends the run at the violation or, where that comes in the end, ever earlier.
    fn cut_off(&mut self, play: &mut impl FnMut(&RunOptions) -> Option<Violation>) {
        let longest_ms = self.options.cuts.until_ms.unwrap_or(u64::MAX).min(self.violation.at_ms + 1);
        let at = |until_ms: u64, cuts: &Cuts| Cuts { until_ms: Some(until_ms), ..cuts.clone() };
        self.attempt(at(longest_ms, &self.options.cuts), play);
        let mut step_ms = longest_ms / 2;
        while step_ms > longest_ms / 256 {
            let Some(until_ms) = self.options.cuts.until_ms else { return };
            if !self.attempt(at(until_ms.saturating_sub(step_ms), &self.options.cuts), play) {
                step_ms /= 2;
            }
            if until_ms <= step_ms {
                step_ms = until_ms / 2;
            }
        }
    }
}
