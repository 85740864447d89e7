//! The rates of orders: before each tick, queue by queue in the order of names, against the bids so far.

use std::collections::BTreeMap;

use crate::api::OrderState;
use crate::engine::core::Engine;
use crate::engine::state::{JobCosts, OrderStanding};
use crate::market::{LaidCharge, OpenBids, Order};
use crate::model::{Credits, JobId, Kind, Now, PerKind, QueueName};
use crate::scheduler::AppId;

use super::order_statuses::{OrderNeed, OrderWork};

/// Orders that could cost too much are left out one by one so often, then all at once.
const ROUNDS_ONE_BY_ONE: u32 = 4;

#[derive(Clone, Copy)]
pub(super) struct OpenOrder {
    pub(super) order: Order,
    /// Its job's place among those of its queue: submission time, epoch ms, and app.
    pub(super) place: (i64, AppId),
    pub(super) need: OrderNeed,
    pub(super) work: OrderWork,
}

/// The orders of one queue, the earliest deadline first.
pub(super) struct QueueOrders {
    queue: QueueName,
    orders: Vec<OpenOrder>,
}

impl QueueOrders {
    /// Adds an order of a queue; returns what the orders before it need.
    pub(super) fn add(all: &mut Vec<QueueOrders>, queue: &QueueName, open: OpenOrder) -> PerKind<u32> {
        let place = match all.binary_search_by(|orders| orders.queue.cmp(queue)) {
            Ok(place) => place,
            Err(place) => {
                all.insert(place, QueueOrders { queue: queue.clone(), orders: Vec::new() });
                place
            }
        };
        let orders = &mut all[place].orders;
        let place = orders.partition_point(|other| other.rank() < open.rank());
        orders.insert(place, open);
        orders[..place].iter().fold(PerKind::default(), |needed, other| added(needed, other.need.slots))
    }

    pub(super) fn remove(&mut self, job: JobId) {
        self.orders.retain(|open| open.order.job != job);
    }
}

impl OpenOrder {
    fn rank(&self) -> (i64, (i64, AppId)) {
        (self.order.deadline_ms, self.place)
    }
}

impl Engine {
    /// The orders that may count in the next interval.
    pub(super) fn open_orders(&self, now: Now) -> Vec<QueueOrders> {
        let Some(market) = self.ruling_market() else { return Vec::new() };
        let queues = market.orders().map(|(queue, orders)| {
            let mut orders: Vec<OpenOrder> = orders.filter_map(|order| self.open_order(order, now)).collect();
            orders.sort_by_key(OpenOrder::rank);
            QueueOrders { queue: queue.clone(), orders }
        });
        queues.filter(|queue| !queue.orders.is_empty()).collect()
    }

    /// An order with what its job needs now; none: it does not count.
    pub(super) fn open_order(&self, order: &Order, now: Now) -> Option<OpenOrder> {
        let job = self.jobs.get(order.job).filter(|job| !job.is_over() && !job.is_paused())?;
        let (need, (_, work)) = (self.order_need(job, order, now), self.order_work(job, order));
        Some(OpenOrder { order: *order, place: (job.submit_ms, job.app), need, work })
    }
}

/// Lets queues bid for their orders; returns how each order stands.
pub(super) fn raise_bids(
    queues: &[QueueOrders],
    bids: &mut OpenBids<'_>,
    charges: &OrderCharges<'_>,
    at_ms: i64,
) -> BTreeMap<JobId, OrderStanding> {
    bids.expect_orders(queues.iter().map(|queue| queue.orders.len()).sum());
    let charged = charges.on_orders(queues);
    let mut standings = BTreeMap::new();
    for QueueOrders { queue, orders } in queues {
        // An idle queue buys nothing.
        let Some(place) = bids.place(queue.as_str()) else { continue };
        let mut counting: Vec<&OpenOrder> = orders.iter().collect();
        for round in 1.. {
            let found = find_rate(&counting, bids, place, at_ms);
            let is_spent = |open: &OpenOrder| {
                let Some(most) = open.order.max_cost else { return false };
                let Charged { cost_units, .. } = charged[&open.order.job];
                // Only what is beyond the owner's own bid is bought by an order.
                found.by.is_some() && cost_units + most_cost_units(open, &found, bids, place) > most.units()
            };
            let (mut spent, rest): (Vec<&OpenOrder>, Vec<&OpenOrder>) =
                counting.iter().copied().partition(|open| is_spent(open));
            if spent.is_empty() {
                let balance = bids.balance(place);
                for (open, (job, standing)) in counting.iter().zip(&found.standings) {
                    let cost_units = charges.cost_in_all(open, &charged[job], found.rate);
                    let costs = (cost_units, charged[job].cost_units);
                    standings.insert(*job, at_cost(*standing, costs, open.order.max_cost, balance));
                }
                if let Some(job) = found.by {
                    bids.raise(place, found.rate, job);
                }
                break;
            }
            // Without the first of them the others may count again; but a tick must not take for ever.
            if round < ROUNDS_ONE_BY_ONE {
                spent.truncate(1);
                let first = spent[0].order.job;
                counting.retain(|open| open.order.job != first);
            } else {
                counting = rest;
            }
            let standing = OrderStanding { state: OrderState::Spent, at_ms, sufficient_rate: None, cost: None };
            standings.extend(spent.iter().map(|open| {
                let job = open.order.job;
                let cost = charges.cost_in_all(open, &charged[&job], found.rate);
                (job, OrderStanding { cost: Some(Credits::from_units(cost.min(Credits::MAX.units()))), ..standing })
            }));
        }
    }
    standings
}

/// What jobs were charged up to the last tick, and what this one lays on them.
pub(super) struct OrderCharges<'a> {
    pub(super) costs: &'a JobCosts,
    pub(super) laid: &'a [LaidCharge],
    /// Time between two ticks.
    pub(super) interval_ms: u64,
}

/// What a job was charged, this tick included.
#[derive(Clone, Copy, Default)]
struct Charged {
    cost_units: i128,
    slot_ms: PerKind<u64>,
}

impl OrderCharges<'_> {
    fn on_orders(&self, queues: &[QueueOrders]) -> BTreeMap<JobId, Charged> {
        let open = queues.iter().flat_map(|queue| &queue.orders);
        let mut charged: BTreeMap<JobId, Charged> = open
            .map(|open| {
                let (cost_units, slot_ms) = self.costs.used_by(open.order.job);
                (open.order.job, Charged { cost_units, slot_ms })
            })
            .collect();
        for charge in self.laid {
            if let Some(charged) = charge.holder.job().and_then(|job| charged.get_mut(&job)) {
                let PerKind { map, reduce } = charge.slot_ms.slots();
                charged.cost_units += charge.amount.units();
                let used = charged.slot_ms;
                charged.slot_ms = PerKind::new(used.map.saturating_add(map), used.reduce.saturating_add(reduce));
            }
        }
        charged
    }

    /// What a job costs in all if what is left of it is paid at a rate, units.
    fn cost_in_all(&self, open: &OpenOrder, charged: &Charged, rate: Credits) -> i128 {
        let left_us = open.work.left_us(charged.slot_ms);
        let left_us = left_us.map.saturating_add(left_us.reduce);
        charged.cost_units.saturating_add(slot_cost_units(rate, left_us, self.interval_ms))
    }
}

/// How an order stands whose job costs that much in all, of which so much was charged, units.
fn at_cost(
    standing: OrderStanding,
    (cost_units, charged_units): (i128, i128),
    max_cost: Option<Credits>,
    balance: Credits,
) -> OrderStanding {
    let credits = |units: i128| Credits::from_units(units.min(Credits::MAX.units()));
    let cost = credits(cost_units - charged_units);
    let max_cost = max_cost.map(|most| credits(most.units() - charged_units));
    let is_beyond = cost > balance || max_cost.is_some_and(|most| cost > most);
    let state = standing.state.at_cost(cost, max_cost, Some(balance));
    OrderStanding { state, cost: is_beyond.then(|| credits(cost_units)), ..standing }
}

/// What one slot costs for so long at a rate, rounded up, units.
pub(super) fn slot_cost_units(rate: Credits, slot_us: u64, interval_ms: u64) -> i128 {
    let interval_us = i128::from(interval_ms.max(1)) * 1_000;
    let product = rate.units().checked_mul(slot_us.into());
    product.map_or(Credits::MAX.units(), |product| (product + interval_us - 1) / interval_us)
}

/// The most that a job costs in the next interval, units: its part at the owner's bid, and what its own order adds to the
/// rate for all slots of the queue.
fn most_cost_units(open: &OpenOrder, found: &FoundRate, bids: &OpenBids<'_>, place: usize) -> i128 {
    let own_rate = bids.rate(place);
    let sum = |slots: PerKind<u32>| i128::from(slots.map) + i128::from(slots.reduce);
    let sold = i128::from(bids.most_charged(place, found.rate, found.quota));
    // A charge is laid on all that its queue's work has held, of whatever kind.
    let own = sold.min(sum(open.need.most));
    let added = if found.by == Some(open.order.job) { found.rate.units() - own_rate.units() } else { 0 };
    own_rate.units() * own + added.max(0) * sold
}

struct FoundRate {
    rate: Credits,
    quota: PerKind<u32>,
    /// The order that sets it; none: the owner's bid does.
    by: Option<JobId>,
    standings: Vec<(JobId, OrderStanding)>,
}

/// The least rate that buys what the orders need, each as far as its highest rate goes.
fn find_rate(orders: &[&OpenOrder], bids: &OpenBids<'_>, place: usize, at_ms: i64) -> FoundRate {
    let rate = bids.rate(place);
    let mut found = FoundRate { rate, quota: bids.quota(place, rate), by: None, standings: Vec::new() };
    let mut needed = PerKind::<u32>::default();
    for open in orders {
        needed = added(needed, open.need.slots);
        let mut sufficient_rate = None;
        if !is_within(needed, found.quota) {
            let least = bids.least_rate(place, needed);
            let most = open.order.max_rate.min(bids.balance(place));
            let rate = least.unwrap_or(most).min(most);
            if rate > found.rate {
                (found.rate, found.quota, found.by) = (rate, bids.quota(place, rate), Some(open.order.job));
            }
            sufficient_rate = least.filter(|least| *least > open.order.max_rate);
        }
        let is_bought = is_within(needed, found.quota);
        let state = if is_bought && open.need.is_feasible { OrderState::OnTime } else { OrderState::AtRisk };
        let sufficient_rate = sufficient_rate.filter(|_| !is_bought);
        found.standings.push((open.order.job, OrderStanding { state, at_ms, sufficient_rate, cost: None }));
    }
    found
}

fn added(one: PerKind<u32>, other: PerKind<u32>) -> PerKind<u32> {
    PerKind::new(one.map.saturating_add(other.map), one.reduce.saturating_add(other.reduce))
}

fn is_within(needed: PerKind<u32>, quota: PerKind<u32>) -> bool {
    Kind::ALL.into_iter().all(|kind| needed[kind] <= quota[kind])
}
