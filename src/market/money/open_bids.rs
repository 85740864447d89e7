//! The bids of a tick while orders may still raise them.

use crate::model::{Credits, JobId, Kind, PerKind, PerPool, Pool, QueueName};

use super::allocation::{Bid, NANO, allocate, cut_to_affordable, total, uncut_quota};

/// Looks at bids that the search for the least rates of all orders may take: each takes forty, and a tick must not last.
const MOST_LOOKS: usize = 5_000;

/// The bids of the active queues, each with its owner's rate or that of one of its orders.
#[derive(Debug)]
pub(crate) struct OpenBids<'a> {
    slots: PerPool<u32>,
    queues: Vec<&'a QueueName>,
    pub(super) bids: Vec<Bid>,
    /// The order whose rate a queue bids, with the bid of its owner.
    by_order: Vec<Option<(JobId, Credits)>>,
    /// The sum of the rates that count, units.
    funded_units: i128,
    /// Rates are those that surely do, not the least.
    is_in_closed_form: bool,
}

impl<'a> OpenBids<'a> {
    pub(super) fn new(slots: PerPool<u32>) -> Self {
        Self {
            slots,
            queues: Vec::new(),
            bids: Vec::new(),
            by_order: Vec::new(),
            funded_units: 0,
            is_in_closed_form: false,
        }
    }

    /// So many orders will ask for rates and quotas. If looking at each bid for each order is too much work, rates
    /// are from now on those that claim whole slots, which cost up to a slot's worth more than the least, and quotas
    /// are what claims surely get as long as the balance pays them.
    pub(crate) fn expect_orders(&mut self, orders: usize) {
        self.is_in_closed_form = orders.saturating_mul(self.bids.len()) > MOST_LOOKS;
    }

    /// Adds the next queue by name.
    pub(super) fn push(&mut self, queue: &'a QueueName, bid: Bid) {
        self.funded_units += funded_units(&bid);
        self.queues.push(queue);
        self.bids.push(bid);
        self.by_order.push(None);
    }

    pub(crate) fn place(&self, queue: &str) -> Option<usize> {
        self.queues.binary_search_by(|name| name.as_str().cmp(queue)).ok()
    }

    pub(crate) fn rate(&self, place: usize) -> Credits {
        self.bids[place].rate
    }

    /// The map and reduce slots that a rate would buy for the queue at a place: no container takes any of them.
    pub(crate) fn quota(&self, place: usize, rate: Credits) -> PerKind<u32> {
        if self.is_in_closed_form {
            return self.sure_quota(place, rate);
        }
        let mut bids = self.bids.clone();
        bids[place].rate = rate;
        allocate(&bids, self.slots).1[place].quota.slots()
    }

    /// The least rate for which the queue at a place is sold as many slots of each kind, whether it can pay them or not; none: no rate is.
    pub(crate) fn least_rate(&self, place: usize, needed: PerKind<u32>) -> Option<Credits> {
        let rates = Kind::ALL.map(|kind| match needed[kind] {
            0 => Some(Credits::ZERO),
            needed if needed > self.slots[kind] => None,
            needed if self.is_in_closed_form => {
                let (_, enough) = self.bracket(place, kind, needed);
                Some(Credits::from_units(enough))
            }
            needed => self.least_rate_of(place, kind, needed),
        });
        rates.into_iter().try_fold(Credits::ZERO, |most, rate| Some(most.max(rate?)))
    }

    fn least_rate_of(&self, place: usize, kind: Kind, needed: u32) -> Option<Credits> {
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
        let others = self.others_units(place);
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

    /// What the others bid that can pay it, units.
    fn others_units(&self, place: usize) -> i128 {
        self.funded_units - funded_units(&self.bids[place])
    }

    /// The whole slots that a rate claims, as far as the queue at a place can pay them.
    fn sure_quota(&self, place: usize, rate: Credits) -> PerKind<u32> {
        let bid = Bid { rate, ..self.bids[place] };
        let price = self.others_units(place) + rate.units();
        if !bid.is_funded() {
            return PerKind::default();
        }
        let whole = |kind: Kind| {
            let product = rate.units() * i128::from(self.slots[kind]);
            let part = (product % price) * NANO + bid.remainder[kind].nanos() * price;
            let whole = product / price + part.div_euclid(price * NANO);
            let most = self.slots[kind].min(bid.most(kind.into()).saturating_add(bid.most(Pool::Container)));
            u32::try_from(whole.max(0)).unwrap_or(u32::MAX).min(most)
        };
        let quota = PerPool::new(whole(Kind::Map), whole(Kind::Reduce), 0);
        cut_to_affordable(quota, bid.running, bid.balance.units() / rate.units()).slots()
    }

    /// Lets the queue at a place bid the rate of an order, if that is higher than what it bids.
    pub(crate) fn raise(&mut self, place: usize, rate: Credits, order: JobId) {
        if rate > self.bids[place].rate {
            self.funded_units -= funded_units(&self.bids[place]);
            let own_rate = std::mem::replace(&mut self.bids[place].rate, rate);
            self.funded_units += funded_units(&self.bids[place]);
            let own_rate = self.by_order[place].map_or(own_rate, |(_, own_rate)| own_rate);
            self.by_order[place] = Some((order, own_rate));
        }
    }

    /// The order that has raised the bid at a place, and the bid of its owner.
    pub(super) fn order_at(&self, place: usize) -> (Option<JobId>, Option<Credits>) {
        self.by_order[place].unzip()
    }

    /// The slots that the queue at a place can pay over a whole interval.
    pub(super) fn affordable_slots(&self, place: usize) -> u32 {
        self.bids[place].affordable()
    }

    /// The most slots that the queue at a place pays for at a rate that buys it this: containers may count as sold too
    /// where others do not hold what they were sold.
    pub(crate) fn most_charged(&self, place: usize, rate: Credits, quota: PerKind<u32>) -> u64 {
        let bid = Bid { rate, ..self.bids[place] };
        if !bid.containers.has_any() {
            return u64::from(quota.map) + u64::from(quota.reduce);
        }
        u64::from(bid.affordable()).min(total(self.slots))
    }

    /// What the queue at a place has after the charge for the interval that closes.
    pub(crate) fn balance(&self, place: usize) -> Credits {
        self.bids[place].balance
    }
}

/// The rate of a bid that its queue can pay, units.
fn funded_units(bid: &Bid) -> i128 {
    if bid.is_funded() { bid.rate.units() } else { 0 }
}

#[cfg(test)]
#[path = "../tests/open_bids.rs"]
mod tests;
