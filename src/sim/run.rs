//! One run: a seed, a number of events, and what is left out.

use crate::engine::Step;

use super::cuts::Cuts;
use super::journal::Journal;
use super::laws::{Tally, Violation};
use super::plan::PolicyChoice;
use super::world::World;

/// What decides a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// The one source of chance.
    pub seed: u64,
    /// After so many events no actor chooses anything any more, and what is under way comes to its end.
    pub events: u64,
    /// Which scheduler.
    pub policy: PolicyChoice,
    /// What is left out.
    pub cuts: Cuts,
}

/// What a run has come to: its figures, and the law that it broke, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The figures, up to the end or the violation.
    pub tally: Tally,
    /// What was found.
    pub violation: Option<Violation>,
}

// === impl Run ===

impl Run {
    /// Plays a run to its end or to the first violation. `journal` is an empty one; it hears only of crashes.
    pub fn play(options: &RunOptions, journal: &mut dyn Journal) -> Self {
        Self::play_tampered(options, journal, |_| {})
    }

    /// The same, but what the engine says passes through `tamper` before it is judged: to see that the judge notices.
    pub fn play_tampered(options: &RunOptions, journal: &mut dyn Journal, mut tamper: impl FnMut(&mut Step)) -> Self {
        let mut world = World::new(options, journal, &mut tamper);
        let violation = world.play().err();
        Self { tally: world.tally(), violation }
    }
}

// === impl RunOptions ===

/// The arguments of `jobtracker simulate` that play this run again.
impl std::fmt::Display for RunOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, events, policy, cuts } = self;
        let policy = match policy {
            PolicyChoice::Fifo => " --policy fifo",
            PolicyChoice::Dynamic => "",
        };
        write!(formatter, "--seed {seed} --events {events}{policy}{cuts}")
    }
}
