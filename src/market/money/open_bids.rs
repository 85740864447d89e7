//! The bids of a tick while orders may still raise them.

use crate::model::{Credits, JobId, Kind, PerKind, QueueName};

use super::allocation::{Bid, NANO, allocate, uncut_quota};
use super::interval::Charge;

/// The bids of the active queues, each with its owner's rate or that of one of its orders.
#[derive(Debug)]
pub struct OpenBids<'a> {
    slots: PerKind<u32>,
    /// By name.
    queues: Vec<(&'a QueueName, Charge)>,
    pub(super) bids: Vec<Bid>,
    /// The order whose rate a queue bids.
    pub(super) by_order: Vec<Option<JobId>>,
}

// === impl OpenBids ===

impl<'a> OpenBids<'a> {
    pub(super) fn new(slots: PerKind<u32>) -> Self {
        Self { slots, queues: Vec::new(), bids: Vec::new(), by_order: Vec::new() }
    }

    /// Adds the next queue by name, after its charge for the interval that closes.
    pub(super) fn push(&mut self, queue: &'a QueueName, charge: Charge, bid: Bid) {
        self.queues.push((queue, charge));
        self.bids.push(bid);
        self.by_order.push(None);
    }

    /// The slots that are sold.
    pub fn slots(&self) -> PerKind<u32> {
        self.slots
    }

    /// The place of a queue; none if it is idle.
    pub fn place(&self, queue: &str) -> Option<usize> {
        self.queues.binary_search_by(|(name, _)| name.as_str().cmp(queue)).ok()
    }

    /// What the queue at a place pays for the interval that closes.
    pub fn charge(&self, place: usize) -> Charge {
        self.queues[place].1
    }

    /// The rate that the queue at a place bids so far.
    pub fn rate(&self, place: usize) -> Credits {
        self.bids[place].rate
    }

    /// The slots that a rate would buy for the queue at a place.
    pub fn quota(&self, place: usize, rate: Credits) -> PerKind<u32> {
        let mut bids = self.bids.clone();
        bids[place].rate = rate;
        allocate(&bids, self.slots).1[place].quota
    }

    /// The least rate for which the queue at a place is sold as many slots of each kind, whether it can pay them or not;
    /// none: no rate is.
    pub fn least_rate(&self, place: usize, needed: PerKind<u32>) -> Option<Credits> {
        let rates = Kind::ALL.map(|kind| self.least_rate_of(place, kind, needed[kind]));
        rates.into_iter().try_fold(Credits::ZERO, |most, rate| Some(most.max(rate?)))
    }

    fn least_rate_of(&self, place: usize, kind: Kind, needed: u32) -> Option<Credits> {
        if needed == 0 {
            return Some(Credits::ZERO);
        }
        if needed > self.slots[kind] {
            return None;
        }
        let mut bids = self.bids.clone();
        let mut is_enough = |units: i128| {
            bids[place].rate = Credits::from_units(units);
            uncut_quota(&bids, place, kind, self.slots[kind]) >= needed
        };
        let (mut too_little, mut enough) = self.bracket(place, kind, needed);
        // What rounding left from many intervals may move the bounds.
        if too_little > 0 && is_enough(too_little) {
            too_little = 0;
        }
        if !is_enough(enough) {
            enough = Credits::MAX.units();
            if !is_enough(enough) {
                return None;
            }
        }
        while enough - too_little > 1 {
            let middle = too_little + (enough - too_little) / 2;
            if is_enough(middle) {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Some(Credits::from_units(enough))
    }

    /// Rates between which the least one lies: a claim of fewer than one slot less gets too few, one of all gets enough.
    fn bracket(&self, place: usize, kind: Kind, needed: u32) -> (i128, i128) {
        let others = self.bids.iter().enumerate().filter(|(index, bid)| *index != place && bid.is_funded());
        let others: i128 = others.map(|(_, bid)| bid.rate.units()).sum();
        // The rate that claims so many billionths of a slot.
        let claims = |nanos: i128| {
            let all = i128::from(self.slots[kind]) * NANO;
            let nanos = nanos - self.bids[place].remainder[kind].nanos();
            (nanos < all).then(|| others.checked_mul(nanos.max(0))).flatten().map(|product| product / (all - nanos))
        };
        let most = Credits::MAX.units();
        let needed = i128::from(needed) * NANO;
        let too_little = claims(needed - NANO).map_or(0, |rate| (rate - 1).clamp(0, most - 1));
        let enough = claims(needed).map_or(most, |rate| (rate + 1).clamp(1, most));
        (too_little, enough.max(too_little + 1))
    }

    /// Lets the queue at a place bid the rate of an order, if that is higher than what it bids.
    pub fn raise(&mut self, place: usize, rate: Credits, order: JobId) {
        if rate > self.bids[place].rate {
            self.bids[place].rate = rate;
            self.by_order[place] = Some(order);
        }
    }

    /// What the queue at a place has after the charge for the interval that closes.
    pub fn balance(&self, place: usize) -> Credits {
        self.bids[place].balance
    }
}

#[cfg(test)]
#[path = "../tests/open_bids.rs"]
mod tests;
