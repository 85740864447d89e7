//! Candidates for a second attempt.

use std::collections::BTreeSet;

/// Candidates of a kind: tasks with one running attempt that does not wait for its commit.
#[derive(Debug, Default)]
pub(super) struct Stragglers {
    /// By progress, millionths, and number: slowest first.
    pub(super) by_progress: BTreeSet<(u32, u32)>,
    /// Whether a slot has been requested.
    pub(super) is_slot_requested: bool,
}

#[cfg(test)]
impl Stragglers {
    pub(super) fn len(&self) -> usize {
        self.by_progress.len()
    }

    pub(super) fn is_slot_requested(&self) -> bool {
        self.is_slot_requested
    }
}
