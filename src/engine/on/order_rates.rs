//! The rates of orders: before each tick, queue by queue in the order of names, against the bids so far.

use std::collections::BTreeMap;

use crate::api::OrderState;
use crate::engine::core::Engine;
use crate::engine::state::{JobCosts, OrderStanding};
use crate::market::{OpenBids, Order};
use crate::model::{Credits, JobId, Kind, Now, PerKind, QueueName};
use crate::scheduler::{AppId, Scheduler};

use super::order_need::OrderNeed;

/// Orders that could cost too much are left out one by one so often, then all at once.
const ROUNDS_ONE_BY_ONE: u32 = 4;

/// An order with what its job needs.
pub(super) struct OpenOrder {
    pub(super) order: Order,
    /// Its job's place among those of its queue: submission time, epoch ms, and app.
    pub(super) place: (i64, AppId),
    pub(super) need: OrderNeed,
}

/// The orders of one queue, the earliest deadline first.
pub(super) struct QueueOrders {
    queue: QueueName,
    orders: Vec<OpenOrder>,
}

// === impl QueueOrders ===

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
}

// === impl OpenOrder ===

impl OpenOrder {
    fn rank(&self) -> (i64, (i64, AppId)) {
        (self.order.deadline_ms, self.place)
    }
}

// === impl Engine: open orders ===

impl Engine {
    /// The orders that may count in the next interval.
    pub(super) fn open_orders(&self, now: Now) -> Vec<QueueOrders> {
        let Some(market) = self.ruling_market() else { return Vec::new() };
        let open = |order: &Order| {
            let job = self.jobs.get(order.job).filter(|job| !job.is_over())?;
            Some(OpenOrder { order: *order, place: (job.submit_ms, job.app), need: self.order_need(job, order, now) })
        };
        let queues = market.orders().map(|(queue, orders)| {
            let mut orders: Vec<OpenOrder> = orders.filter_map(open).collect();
            orders.sort_by_key(OpenOrder::rank);
            QueueOrders { queue: queue.clone(), orders }
        });
        queues.filter(|queue| !queue.orders.is_empty()).collect()
    }
}

/// Lets queues bid for their orders; returns how each order stands.
pub(super) fn raise_bids(
    queues: &[QueueOrders],
    bids: &mut OpenBids<'_>,
    costs: &JobCosts,
    scheduler: &Scheduler,
    at_ms: i64,
) -> BTreeMap<JobId, OrderStanding> {
    bids.expect_orders(queues.iter().map(|queue| queue.orders.len()).sum());
    let mut standings = BTreeMap::new();
    for QueueOrders { queue, orders } in queues {
        // An idle queue buys nothing.
        let Some(place) = bids.place(queue.as_str()) else { continue };
        let charge = bids.charge(place);
        let mut counting: Vec<&OpenOrder> = orders.iter().collect();
        for round in 1.. {
            let found = find_rate(&counting, bids, place, at_ms);
            let is_spent = |open: &OpenOrder| {
                let Some(most) = open.order.max_cost else { return false };
                let cost = costs.after(queue.as_str(), open.place, &charge, scheduler);
                let most_slots = |kind: Kind| i128::from(found.quota[kind].min(open.need.most[kind]));
                let slots: i128 = Kind::ALL.map(most_slots).iter().sum();
                // Only what is beyond the owner's own bid is bought by an order.
                found.by.is_some() && cost.units() + found.rate.units() * slots > most.units()
            };
            let (mut spent, rest): (Vec<&OpenOrder>, Vec<&OpenOrder>) =
                counting.iter().copied().partition(|open| is_spent(open));
            if spent.is_empty() {
                standings.extend(found.standings);
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
            let standing = OrderStanding { state: OrderState::Spent, at_ms, sufficient_rate: None };
            standings.extend(spent.iter().map(|open| (open.order.job, standing)));
        }
    }
    standings
}

/// What a queue bids for its orders.
struct FoundRate {
    rate: Credits,
    /// What that buys.
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
        found.standings.push((open.order.job, OrderStanding { state, at_ms, sufficient_rate }));
    }
    found
}

fn added(one: PerKind<u32>, other: PerKind<u32>) -> PerKind<u32> {
    PerKind::new(one.map.saturating_add(other.map), one.reduce.saturating_add(other.reduce))
}

fn is_within(needed: PerKind<u32>, quota: PerKind<u32>) -> bool {
    Kind::ALL.into_iter().all(|kind| needed[kind] <= quota[kind])
}
