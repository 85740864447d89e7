//! One run, and its result.

use crate::engine::Step;

use super::laws::{Tally, Violation};
use super::run_options::{Journal, RunOptions};
use super::world::World;

/// The result of a run: its figures, and the law that it broke, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub tally: Tally,
    pub violation: Option<Violation>,
}

impl Run {
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
