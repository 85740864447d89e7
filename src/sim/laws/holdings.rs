//! What the queues hold, and what they owe for it: slots of attempts and of containers within what was bought (resource
//! requests, section 10, Charge).

use std::collections::BTreeMap;

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

/// What all queues hold at a moment: slots of running maps and reduces, and of containers, launched or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment<'a>(BTreeMap<&'a str, PerPool<u32>>);

// === impl Moment ===

impl<'a> Moment<'a> {
    pub(super) fn held(&self, queue: &str) -> PerPool<u32> {
        self.0.get(queue).copied().unwrap_or_default()
    }

    /// A setup or cleanup that is charged as a map.
    pub(super) fn add_map(&mut self, account: Option<&'a str>, slots: u32) {
        if let Some(account) = account {
            self.0.entry(account).or_default().map += slots;
        }
    }
}

// === impl Holdings: a moment ===

impl<'a> Holdings<'a> {
    pub(super) fn moment(&self) -> Moment<'a> {
        let mut moment = Moment::default();
        for (account, _, _, slots) in self.attempts.held_by_jobs() {
            let held = moment.0.entry(account).or_default();
            (held.map, held.reduce) = (held.map + slots.map, held.reduce + slots.reduce);
        }
        for (queue, _, _, slots) in self.containers.held_by_applications() {
            moment.0.entry(queue).or_default().container += slots;
        }
        moment
    }
}
