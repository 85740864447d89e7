//! Quotes: what a rate would buy at the next tick, computed without changing anything; and the live status of queues.
//!
//! Law: if the quoted rate were set and the tick came at once, it would grant exactly what was quoted.

use std::collections::BTreeMap;

use crate::api::QueueStatus;
use crate::model::{Credits, PerPool, QueueName};

use super::allocation::{Bid, ContainerUse, allocate, cost, is_funded, within};
use super::meter::AT_END;
use super::share::Share;
use super::state::Market;
use super::tick::QueueUse;

/// The bids of the active queues as the next tick would find them, with one queue marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bidding {
    queue: QueueName,
    /// By name of the queue.
    bids: Vec<Bid>,
    place: usize,
    slots: PerPool<u32>,
    interval_ms: u64,
}

/// What a rate would buy for a queue at the next tick if nothing else changed until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub(crate) queue: QueueName,
    pub(crate) rate: Credits,
    /// Whether it could pay for one slot; without that it gets neither share nor quota.
    pub(crate) is_funded: bool,
    pub(crate) price: Credits,
    pub(crate) share: Share,
    pub(crate) quota: PerPool<u32>,
    /// Its balance after the charge for the open interval.
    pub(crate) balance: Credits,
    pub(crate) running: PerPool<u32>,
    /// Seconds that the balance lasts with the whole quota in use; none if nothing would be charged.
    pub(crate) full_use_lasts_s: Option<u64>,
    /// Seconds that it lasts with the present use, as far as it is within the quota; none if nothing would be charged.
    pub(crate) present_use_lasts_s: Option<u64>,
}

impl Market {
    /// The bids that `queue` competes with; an idle queue is treated as if it could use all slots. `usage`
    /// and `slots` are the present ones, as for a tick. None if the queue does not exist.
    pub fn bidding(
        &self,
        queue: &QueueName,
        usage: &[QueueUse],
        slots: PerPool<u32>,
        interval_ms: u64,
    ) -> Option<Bidding> {
        self.account(queue.as_str())?;
        let containers = ContainerUse { wanted: 1, ..ContainerUse::default() };
        let waiting =
            QueueUse { pending: 1, containers, want: QueueUse::wants_all(&containers), ..QueueUse::idle(queue) };
        let mut uses: BTreeMap<&QueueName, &QueueUse> = usage.iter().rev().map(|one| (&one.queue, one)).collect();
        uses.entry(queue).or_insert(&waiting);
        let (mut bids, mut place) = (Vec::with_capacity(uses.len()), 0);
        for (name, queue_use) in uses {
            let Some(account) = self.account(name.as_str()) else { continue };
            let metered = self.meter.use_of(name, AT_END);
            let (.., balance) = self.charges_of(self.meter.place_of(name), account, metered, AT_END);
            let past = self.past_use(account, metered, queue_use);
            let mut bid = account.to_bid(balance, queue_use, past);
            if name == queue {
                place = bids.len();
                bid = bid.or_else(|| account.to_bid(balance, &waiting, past));
            }
            let Some(bid) = bid else { continue };
            // What other queues' orders will bid is not known yet: most likely what they bid now.
            let ordered = account.interval().filter(|interval| interval.by_order.is_some() && name != queue);
            let rate = ordered.map_or(bid.rate, |interval| bid.rate.max(interval.share.rate()));
            bids.push(Bid { rate, ..bid });
        }
        Some(Bidding { queue: queue.clone(), bids, place, slots, interval_ms })
    }
}

impl Bidding {
    pub(crate) fn balance(&self) -> Credits {
        self.bids[self.place].balance
    }

    pub(crate) fn is_funded(&self, rate: Credits) -> bool {
        is_funded(self.balance(), rate)
    }

    /// The quote for `rate`; 0 to 10^12.
    pub fn quote(&self, rate: Credits) -> Quote {
        let mut bids = self.bids.clone();
        let bid = &mut bids[self.place];
        bid.rate = rate;
        let Bid { balance, running, containers, .. } = *bid;
        let (price, grants) = allocate(&bids, self.slots);
        let grant = grants[self.place];
        let held = PerPool::new(running.map, running.reduce, containers.held);
        let lasts = |slots: PerPool<u32>| lasts_s(balance, cost(grant.share.rate(), slots), self.interval_ms);
        Quote {
            queue: self.queue.clone(),
            rate,
            is_funded: self.is_funded(rate),
            price,
            share: grant.share,
            quota: grant.quota,
            balance,
            running: held,
            full_use_lasts_s: lasts(grant.quota),
            present_use_lasts_s: lasts(within(held, grant.quota)),
        }
    }

    /// The quote for the smallest rate whose quota is enough, as each larger quota must be too; none if the queue can afford no
    /// such rate. Takes as long as about eighty quotes.
    pub(crate) fn least_rate(&self, is_enough: impl Fn(PerPool<u32>) -> bool) -> Option<Quote> {
        let mut bids = self.bids.clone();
        // If the balance is ignored, a higher rate never buys less.
        let mut buys_enough = |units: i128| {
            let rate = Credits::from_units(units);
            let bid = &mut bids[self.place];
            (bid.rate, bid.balance) = (rate, cost(rate, self.slots).max(rate));
            is_enough(allocate(&bids, self.slots).1[self.place].quota)
        };
        let most = self.balance().min(Credits::MAX).units();
        if most <= 0 || !buys_enough(most) {
            return None;
        }
        let (mut too_little, mut enough) = (0, most);
        while enough - too_little > 1 {
            let middle = too_little + (enough - too_little) / 2;
            if buys_enough(middle) {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Some(self.quote(Credits::from_units(enough))).filter(|quote| is_enough(quote.quota))
    }
}

/// Seconds until a balance is spent at a cost for each interval; none if nothing is charged. The actual time is longer,
/// because a quota is cut to what the balance can pay.
pub(crate) fn lasts_s(balance: Credits, cost: Credits, interval_ms: u64) -> Option<u64> {
    if cost <= Credits::ZERO {
        return None;
    }
    // A balance is at most 10^24 units.
    let ms = balance.units().saturating_mul(i128::from(interval_ms)) / cost.units();
    Some(u64::try_from(ms / 1000).unwrap_or(u64::MAX))
}

impl Market {
    /// The live status of each of `queues`, given what runs and waits. Queues that do not exist are left out.
    pub fn live_queue_status<'a>(
        &self,
        queues: impl IntoIterator<Item = &'a QueueName>,
        usage: &[QueueUse],
        interval_ms: u64,
    ) -> Vec<QueueStatus> {
        let usage: BTreeMap<_, _> = usage.iter().map(|queue_use| (&queue_use.queue, queue_use)).collect();
        let status = |queue: &'a QueueName| {
            let account = self.account(queue.as_str())?;
            let interval = account.interval().copied().unwrap_or_default();
            let queue_use = usage.get(queue);
            let (rate, budget) = (interval.share.rate(), account.balance());
            let held = queue_use.map(|queue_use| queue_use.held()).unwrap_or_default();
            Some(QueueStatus {
                queue: queue.clone(),
                budget,
                bid: account.bid(),
                rate,
                share: interval.share.to_string(),
                quota: interval.quota,
                running: held,
                pending: queue_use.map_or(0, |queue_use| queue_use.waiting()),
                cannot_run: None,
                allowance: None,
                orders: Vec::new(),
                lasts_s: lasts_s(budget, cost(rate, within(held, interval.quota)), interval_ms),
            })
        };
        queues.into_iter().filter_map(status).collect()
    }
}

#[cfg(test)]
#[path = "../tests/quotes.rs"]
mod tests;
