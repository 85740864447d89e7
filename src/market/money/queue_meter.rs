//! What one queue, and one job or application, has held in the open interval: the parts of the meter.

use crate::model::{Credits, PerPool, Pool, QueueName};

use super::allocation::{DivisionPart, total, within};
use super::interval::{Interval, amount};
use super::metered::{Grace, HeldChange, MeteredUse, SlotHolder};

/// A job or application; and the container of it in whose grace slots are held.
pub(super) type HolderKey = (SlotHolder, Option<u64>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub holder: SlotHolder,
    pub queue: QueueName,
    pub order: u64,
    pub grace: Option<Grace>,
    pub held: PerPool<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct QueueMeter {
    pub(super) rate: Credits,
    pub(super) quota: PerPool<u32>,
    pub(super) payable: u64,
    pub(super) held: PerPool<u32>,
    /// Slots that others were sold and do not hold, counted as sold to its containers.
    pub(super) part: u32,
    /// What was given back in the interval and is not charged, slot-milliseconds.
    pub(super) given_back_ms: u64,
    /// Up to when containers last ran beyond the quota, ms of the interval: what they held then was not all counted.
    pub(super) beyond_until_ms: u64,
    pub(super) has_graces: bool,
    /// Up to when the sums go.
    pub(super) summed_ms: u64,
    pub(super) sums: MeteredUse,
    /// Those that hold slots or have held some in the interval, by the order of their submission.
    pub(super) holders: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct HolderMeter {
    pub(super) holder: SlotHolder,
    pub(super) grace: Option<Grace>,
    pub(super) queue: u32,
    pub(super) order: u64,
    pub(super) held: PerPool<u32>,
    pub(super) summed_ms: u64,
    pub(super) slot_ms: PerPool<u64>,
}

impl QueueMeter {
    pub(super) fn sell(&mut self, interval: &Interval) {
        (self.rate, self.quota, self.payable) = (interval.share.rate(), interval.quota, interval.payable());
    }

    pub(super) fn within(&self) -> PerPool<u32> {
        within(self.held, self.quota)
    }

    pub(super) fn unheld(&self) -> u64 {
        total(self.quota).saturating_sub(total(self.within()))
    }

    pub(super) fn beyond(&self) -> u32 {
        self.held.container.saturating_sub(self.quota.left_for_containers(self.held.slots()))
    }

    /// What it takes part with where slots that are sold and not held are divided; none: no containers run beyond what it
    /// was sold, or it pays for nothing.
    pub(super) fn part_wanted(&self) -> Option<DivisionPart> {
        let beyond = Some(self.beyond()).filter(|beyond| self.rate > Credits::ZERO && *beyond > 0)?;
        let payable = self.payable.saturating_sub(total(self.within()));
        Some(DivisionPart { rate: self.rate, most: u32::try_from(payable).unwrap_or(u32::MAX).min(beyond) })
    }

    pub(super) fn give_back(&mut self, slot_ms: u64) {
        self.given_back_ms = self.given_back_ms.saturating_add(slot_ms);
        self.sums.within_ms.container = self.sums.within_ms.container.saturating_sub(slot_ms);
    }

    pub(super) fn sum_up_to(&mut self, at_ms: u64) {
        if at_ms > self.summed_ms {
            if self.beyond() > 0 {
                self.beyond_until_ms = at_ms;
            }
            self.sums = self.sums_up_to(at_ms);
            self.summed_ms = at_ms;
        }
    }

    pub(super) fn sums_up_to(&self, at_ms: u64) -> MeteredUse {
        let time_ms = at_ms.saturating_sub(self.summed_ms);
        let MeteredUse { within_ms, beyond_ms } = self.sums;
        let beyond_ms = beyond_ms.saturating_add(time_ms.saturating_mul(self.part.into()));
        MeteredUse { within_ms: added(within_ms, self.within(), time_ms), beyond_ms }
    }
}

impl HolderMeter {
    pub(super) fn key(&self) -> HolderKey {
        (self.holder, self.grace.map(|grace| grace.container))
    }

    pub(super) fn sum_up_to(&mut self, at_ms: u64) {
        if at_ms > self.summed_ms {
            self.slot_ms = self.slot_ms_up_to(at_ms);
            if let Some(grace) = self.grace.as_mut().filter(|_| self.held.container > 0) {
                grace.left_ms = grace.left_ms.saturating_sub(at_ms - self.summed_ms);
            }
            self.summed_ms = at_ms;
        }
    }

    /// The most that it may cost in an interval of that length, rounded up; none: it is not held in a grace.
    pub(super) fn most_in_grace(&self, length_ms: u64) -> Option<Credits> {
        let grace = self.grace?;
        let most_ms = self.slot_ms_up_to(length_ms).container;
        let most = amount(grace.rate, most_ms, length_ms);
        Some(Credits::from_units(most.units().saturating_add(i128::from(most_ms > 0))))
    }

    pub(super) fn slot_ms_up_to(&self, at_ms: u64) -> PerPool<u64> {
        let most_ms = self.grace.map_or(u64::MAX, |grace| grace.left_ms);
        added(self.slot_ms, self.held, at_ms.saturating_sub(self.summed_ms).min(most_ms))
    }
}

impl Holding {
    pub(super) fn key(&self) -> HolderKey {
        (self.holder, self.grace.map(|grace| grace.container))
    }

    /// As a change at the beginning of the interval.
    pub(super) fn since_before(&self) -> HeldChange {
        let Holding { holder, queue, order, grace, held } = self.clone();
        HeldChange { holder, queue, order, grace, before: PerPool::default(), after: held, given_back_ms: 0 }
    }
}

impl HeldChange {
    pub(super) fn key(&self) -> HolderKey {
        (self.holder, self.grace.map(|grace| grace.container))
    }
}

/// Sums with slots that were held for so long.
fn added(slot_ms: PerPool<u64>, held: PerPool<u32>, time_ms: u64) -> PerPool<u64> {
    let sum = |pool: Pool| slot_ms[pool].saturating_add(time_ms.saturating_mul(held[pool].into()));
    PerPool::new(sum(Pool::Map), sum(Pool::Reduce), sum(Pool::Container))
}
