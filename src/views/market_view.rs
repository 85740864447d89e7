//! The market as facts have it, as far as it is shown: the last tick, and a replica that answers what a rate would buy.

use std::sync::Arc;

use crate::engine::{ClusterSnapshot, QueueSnapshot};
use crate::market::{Account, Bidding, Market, MarketConfig, MarketFact, Order, QueueUse};
use crate::model::{Credits, PerKind, PerPool, QueueName};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MarketView {
    tick: Option<LastTick>,
    replica: Option<Replica>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastTick {
    /// Its number; the first is 1.
    pub(crate) number: u64,
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    /// Length of the interval that it opened, ms.
    pub(crate) interval_ms: u64,
    pub(crate) price: Credits,
}

/// The market that its own facts make, without what nothing here shows: stamps of signatures, allowances, top-ups.
#[derive(Clone, Debug)]
struct Replica(Arc<Market>);

impl PartialEq for Replica {
    /// How queues have used what they were sold is left out: a restart forgets it.
    fn eq(&self, other: &Self) -> bool {
        let shown = |Self(market): &Self| {
            let orders: Vec<(QueueName, Order)> =
                orders(market).map(|(queue, order)| (queue.clone(), *order)).collect();
            let intervals: Vec<_> = market.queues().map(|queue| interval_text(market, queue)).collect();
            (market.budget_lines(), market.tick_number(), market.price(), orders, intervals)
        };
        shown(self) == shown(other)
    }
}

fn interval_text(market: &Market, queue: &QueueName) -> String {
    format!("{:?}", market.account(queue.as_str()).and_then(|account| account.interval()))
}

fn orders(market: &Market) -> impl Iterator<Item = (&QueueName, &Order)> {
    market.orders().flat_map(|(queue, orders)| orders.map(move |order| (queue, order)))
}

impl MarketView {
    pub(super) fn apply(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Tick(tick) => {
                let (number, at_ms) = (tick.number, tick.wall_ms);
                self.tick = Some(LastTick { number, at_ms, interval_ms: tick.interval_ms, price: tick.price });
            }
            MarketFact::Account { .. }
            | MarketFact::AccountRemoved { .. }
            | MarketFact::OrderSet { .. }
            | MarketFact::OrderEnded { .. } => {}
            // The ledger is in `state.db`, and what is held comes with each delta.
            MarketFact::Metered(_)
            | MarketFact::Ledger(_)
            | MarketFact::Stamp(_)
            | MarketFact::StampsForgotten(_)
            | MarketFact::AllowanceSet { .. }
            | MarketFact::AllowanceEnded { .. }
            | MarketFact::TopUpTaken(_) => return,
        }
        let empty = || Replica(Arc::new(Market::new(MarketConfig::default(), 0)));
        let Replica(market) = self.replica.get_or_insert_with(empty);
        Arc::make_mut(market).apply(fact);
    }

    pub(crate) fn tick(&self) -> Option<LastTick> {
        self.tick
    }

    /// The rate that a queue's owner has set for the next tick.
    pub(crate) fn bid(&self, queue: &str) -> Option<Credits> {
        self.account(queue).map(Account::bid)
    }

    pub(crate) fn account(&self, queue: &str) -> Option<&Account> {
        let Replica(market) = self.replica.as_ref()?;
        market.account(queue)
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = (&QueueName, &Account)> {
        let markets = self.replica.iter().map(|Replica(market)| market);
        markets.flat_map(|market| market.queues().filter_map(|queue| Some((queue, market.account(queue.as_str())?))))
    }

    /// Deadline orders that stand, by queue and job.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (&QueueName, &Order)> {
        self.replica.iter().flat_map(|Replica(market)| orders(market))
    }

    /// What a queue competes with at the next tick, by the tick's own code, with the use of the last delta; none before the
    /// first tick and of an unknown queue. `container_slots` are those for containers beside map and reduce slots. What the owner
    /// alone knows is taken as the simplest: what is held now is held for all of the open interval, and what waits could run, on
    /// a slot each.
    pub(crate) fn bidding(
        &self,
        queue: &QueueName,
        overview: &ClusterSnapshot,
        container_slots: u32,
    ) -> Option<Bidding> {
        let (Replica(market), tick) = (self.replica.as_ref()?, self.tick?);
        let usage: Vec<QueueUse> = overview.queues.iter().filter_map(use_of).collect();
        let slots = PerPool::new(overview.slots.map, overview.slots.reduce, container_slots);
        let mut market = (**market).clone();
        let charged: Vec<MarketFact> = usage.iter().filter_map(|queue_use| charged(&market, queue_use)).collect();
        charged.iter().for_each(|fact| market.apply(fact));
        market.bidding(queue, &usage, slots, tick.interval_ms)
    }
}

/// The account of a queue once the open interval is charged; none: nothing is.
fn charged(market: &Market, queue_use: &QueueUse) -> Option<MarketFact> {
    let QueueUse { queue, running, containers, .. } = queue_use;
    let account = market.account(queue.as_str())?;
    let interval = account.interval()?;
    let quota = interval.quota;
    let containers = containers.held.min(quota.left_for_containers(*running));
    let held = [running.map.min(quota.map), running.reduce.min(quota.reduce), containers].map(u64::from).iter().sum();
    let balance = account.balance();
    let charge = interval.share.rate().checked_mul(held).map_or(balance, |charge| charge.min(balance));
    let balance = balance.checked_sub(charge)?;
    Some(MarketFact::Account { queue: queue.clone(), balance, rate: account.bid() })
}

/// What a queue uses and wants; none of an idle one.
fn use_of(queue: &QueueSnapshot) -> Option<QueueUse> {
    let QueueSnapshot { running, waiting, containers, .. } = queue;
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let pending = waiting.map.saturating_add(waiting.reduce);
    if *running == PerKind::default() && pending == 0 && !containers.has_any() {
        return None;
    }
    let later = PerKind::new(
        running.map.saturating_add(narrow(waiting.map)),
        running.reduce.saturating_add(narrow(waiting.reduce)),
    );
    let container = containers.held.saturating_add(narrow(containers.wanted));
    Some(QueueUse {
        queue: queue.name.parse().ok()?,
        running: *running,
        pending,
        containers: *containers,
        want: PerPool::new(later.map, later.reduce, container),
        later,
    })
}
