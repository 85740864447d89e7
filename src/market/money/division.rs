//! Slots that are sold and not held, divided among the queues with containers beyond their quotas in proportion to their
//! rates, none more than it can use: one slot after the other goes to the queue that has least of its proportion, by
//! Webster's method. What a slot more or less changes does not depend on how the others were divided, so a change of a few
//! slots moves a few slots: O(log n) each, however many queues take part.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Credits, QueueName};

use super::allocation::{DivisionPart, divide_slots};

/// What has been divided so far, among queues by their place in the meter.
#[derive(Clone, Debug, Default)]
pub(super) struct Division {
    shares: BTreeMap<u32, DividedSlots>,
    /// The next slot of each queue that can use more.
    next: BTreeSet<DivisionClaim>,
    /// The last slot of each queue that has any.
    last: BTreeSet<DivisionClaim>,
    given: u64,
    /// Queues whose share may have changed since it was asked for.
    changed: Vec<u32>,
}

#[derive(Clone, Debug)]
struct DividedSlots {
    queue: QueueName,
    part: DivisionPart,
    slots: u32,
}

/// The claim of a queue to a slot: the n-th counts as n - 1/2 slots, and the least for the rate comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DivisionClaim {
    half_slots: u64,
    rate: Credits,
    queue: QueueName,
    place: u32,
}

impl Ord for DivisionClaim {
    fn cmp(&self, other: &Self) -> Ordering {
        // Twice the slots times any rate is within the range: see the allocation.
        let weight = |of: &Self, by: &Self| i128::from(of.half_slots) * by.rate.units();
        weight(self, other).cmp(&weight(other, self)).then_with(|| self.queue.cmp(&other.queue))
    }
}

impl PartialOrd for DivisionClaim {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl DividedSlots {
    fn claim(&self, place: u32, slot: u32) -> DivisionClaim {
        let half_slots = 2 * u64::from(slot) + 1;
        DivisionClaim { half_slots, rate: self.part.rate, queue: self.queue.clone(), place }
    }

    fn next(&self, place: u32) -> Option<DivisionClaim> {
        (self.slots < self.part.most && self.part.rate > Credits::ZERO).then(|| self.claim(place, self.slots))
    }

    fn last(&self, place: u32) -> Option<DivisionClaim> {
        self.slots.checked_sub(1).map(|slot| self.claim(place, slot))
    }
}

impl Division {
    /// Divides so many slots among queues, by place and name.
    pub(super) fn new(slots: u64, queues: Vec<(u32, QueueName, DivisionPart)>) -> Self {
        let mut division = Self::default();
        let parts: Vec<DivisionPart> = queues.iter().map(|(.., part)| *part).collect();
        // Close to it, so that few slots are left to move.
        let divided = divide_slots(u32::try_from(slots).unwrap_or(u32::MAX), &parts);
        for ((place, queue, part), slots) in queues.into_iter().zip(divided) {
            division.given += u64::from(slots);
            division.enter(place, DividedSlots { queue, part, slots });
        }
        division.divide(slots);
        division
    }

    /// A queue takes part from now on with this, or with nothing; [`Self::divide`] follows.
    pub(super) fn set(&mut self, place: u32, queue: &QueueName, part: Option<DivisionPart>) {
        let before = self.leave(place);
        let slots = before.as_ref().map_or(0, |before| before.slots);
        let kept = part.filter(|part| part.rate > Credits::ZERO).map_or(0, |part| part.most.min(slots));
        self.given -= u64::from(slots - kept);
        match part {
            Some(part) => self.enter(place, DividedSlots { queue: queue.clone(), part, slots: kept }),
            None if before.is_some() => self.changed.push(place),
            None => {}
        }
    }

    pub(super) fn divide(&mut self, slots: u64) {
        loop {
            match self.given.cmp(&slots) {
                Ordering::Greater => self.take_last(),
                Ordering::Less if self.next.is_empty() => return,
                Ordering::Less => self.give_next(),
                Ordering::Equal if self.next.first() < self.last.last() && !self.next.is_empty() => {
                    self.take_last();
                    self.give_next();
                }
                Ordering::Equal => return,
            }
        }
    }

    /// The queues whose share may have changed since the last call, and their slots.
    pub(super) fn take_changed(&mut self) -> Vec<(u32, u32)> {
        let mut places = std::mem::take(&mut self.changed);
        places.sort_unstable();
        places.dedup();
        let slots = |place: u32| self.shares.get(&place).map_or(0, |share| share.slots);
        places.into_iter().map(|place| (place, slots(place))).collect()
    }

    fn give_next(&mut self) {
        if let Some(claim) = self.next.first().cloned() {
            self.change(claim.place, |slots| slots.saturating_add(1));
        }
    }

    fn take_last(&mut self) {
        match self.last.last().cloned() {
            Some(claim) => self.change(claim.place, |slots| slots.saturating_sub(1)),
            None => self.given = 0,
        }
    }

    fn change(&mut self, place: u32, changed: impl FnOnce(u32) -> u32) {
        if let Some(mut share) = self.leave(place) {
            let before = share.slots;
            share.slots = changed(before);
            self.given = self.given + u64::from(share.slots) - u64::from(before);
            self.enter(place, share);
        }
    }

    fn enter(&mut self, place: u32, share: DividedSlots) {
        self.next.extend(share.next(place));
        self.last.extend(share.last(place));
        self.shares.insert(place, share);
        self.changed.push(place);
    }

    fn leave(&mut self, place: u32) -> Option<DividedSlots> {
        let share = self.shares.remove(&place)?;
        if let Some(claim) = share.next(place) {
            self.next.remove(&claim);
        }
        if let Some(claim) = share.last(place) {
            self.last.remove(&claim);
        }
        Some(share)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(place: u32) -> QueueName {
        QueueName::new(&format!("q{place:03}")).unwrap()
    }

    fn part(rate: u32, most: u32) -> DivisionPart {
        DivisionPart { rate: Credits::from_units(rate.into()), most }
    }

    fn shares(division: &Division, queues: u32) -> Vec<u32> {
        (0..queues).map(|place| division.shares.get(&place).map_or(0, |share| share.slots)).collect()
    }

    fn divided(slots: u64, parts: &[(u32, u32)]) -> Vec<u32> {
        let queues = (0..).zip(parts).map(|(place, (rate, most))| (place, name(place), part(*rate, *most)));
        shares(&Division::new(slots, queues.collect()), parts.len() as u32)
    }

    #[test]
    fn slots_are_divided_by_rate_and_none_gets_more_than_it_can_use() {
        assert_eq!(divided(10, &[(900, 1), (2, 99), (1, 99)]), [1, 6, 3]);
        assert_eq!(divided(10, &[(1, 2), (1, 3)]), [2, 3], "no queue can use the rest");
        assert_eq!(divided(2, &[(1, 9), (1, 9), (1, 9)]), [1, 1, 0], "ties go to the first");
        assert_eq!(divided(7, &[(0, 9), (1, 9)]), [0, 7]);
        assert_eq!(divided(7, &[]), [0_u32; 0]);
    }

    /// What one step moves, and not how many take part, is what it costs.
    #[test]
    fn a_slot_more_or_less_moves_one_slot_of_ten_thousand_queues() {
        let queues = (0..10_000).map(|place| (place, name(place), part(place % 97 + 1, 40)));
        let mut division = Division::new(100_000, queues.collect());
        division.take_changed();
        for slots in [100_001, 100_000, 99_999] {
            division.divide(slots);
            assert_eq!(division.take_changed().len(), 1);
        }
        division.set(5_000, &name(5_000), Some(part(5_000 % 97 + 1, 1)));
        division.divide(99_999);
        assert!(division.take_changed().len() < 60, "those that its slots went to");
        assert_eq!(division.given, 99_999);
    }

    proptest! {
        #[test]
        fn changes_lead_to_what_dividing_from_the_start_gives(
            changes in prop::collection::vec((0..6_u32, 0..9_u32, prop::option::of(0..12_u32), 0..40_u64), 1..30)
        ) {
            let mut division = Division::new(0, Vec::new());
            let mut parts = vec![(0, 0); 6];
            let mut seen = vec![0; 6];
            for (place, rate, most, slots) in changes {
                division.set(place, &name(place), most.map(|most| part(rate, most)));
                division.divide(slots);
                parts[place as usize] = (rate, most.unwrap_or(0));
                let found = shares(&division, 6);
                prop_assert_eq!(&found, &divided(slots, &parts));
                division.take_changed().into_iter().for_each(|(place, slots)| seen[place as usize] = slots);
                prop_assert_eq!(&found, &seen, "all changes are reported");
                prop_assert_eq!(found.iter().map(|slots| u64::from(*slots)).sum::<u64>(), division.given);
            }
        }
    }
}
