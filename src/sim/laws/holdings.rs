//! What the queues hold, and what they owe for it: slots of attempts and of containers within what was bought (resource
//! requests, section 10, Charge).

use crate::market::Interval;
use crate::model::{Credits, PerKind, PerPool};

use super::attempts::AttemptModel;
use super::containers::ContainerBooks;

/// Attempts and containers by the facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings<'a> {
    pub(super) attempts: &'a AttemptModel,
    pub(super) containers: &'a ContainerBooks,
}

// === impl Holdings ===

impl Holdings<'_> {
    /// Whether attempts or containers of an account hold anything, charged or not.
    pub(super) fn has_any(&self, account: &str) -> bool {
        self.attempts.owed(account) != PerKind::default() || self.containers.has_any(account)
    }
}

/// What slots cost at the rate of an interval.
pub(super) fn cost(interval: &Interval, slots: PerPool<u32>) -> Credits {
    let slots = i128::from(slots.map) + i128::from(slots.reduce) + i128::from(slots.container);
    Credits::from_units(interval.share.rate().units() * slots)
}
