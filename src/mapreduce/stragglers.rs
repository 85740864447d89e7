//! Candidates for speculative attempts, by progress.

use std::collections::BTreeSet;

/// Candidates of a kind: tasks with one running attempt that does not wait for its commit.
#[derive(Debug, Default)]
pub(super) struct Stragglers {
    /// By progress, millionths, and number: slowest first.
    by_progress: BTreeSet<(u32, u32)>,
    is_slot_requested: bool,
}

impl Stragglers {
    /// Changes the progress of a task, millionths; none: it is no candidate.
    pub(super) fn move_task(&mut self, number: u32, from: Option<u32>, to: Option<u32>) {
        from.map(|progress| self.by_progress.remove(&(progress, number)));
        to.map(|progress| self.by_progress.insert((progress, number)));
    }

    /// The tasks with at most that progress, slowest first.
    pub(super) fn up_to(&self, millionths: u32) -> impl Iterator<Item = u32> {
        self.by_progress.range(..=(millionths, u32::MAX)).map(|(_, number)| *number)
    }

    pub(super) fn is_slot_requested(&self) -> bool {
        self.is_slot_requested
    }

    pub(super) fn set_slot_requested(&mut self, requested: bool) -> bool {
        std::mem::replace(&mut self.is_slot_requested, requested)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_progress.len()
    }
}
