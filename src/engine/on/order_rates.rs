//! The rates of orders: before each tick, queue by queue in the order of names, against the bids so far.

use std::collections::BTreeMap;

use crate::api::OrderState;
use crate::engine::core::Engine;
use crate::engine::state::{JobCosts, OrderStanding};
use crate::market::{LaidCharge, OpenBids, Order};
use crate::model::{Credits, JobId, Kind, Now, PerKind, QueueName};
use crate::scheduler::AppId;

use super::order_need::OrderNeed;

/// Orders that could cost too much are left out one by one so often, then all at once.
const ROUNDS_ONE_BY_ONE: u32 = 4;

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

impl OpenOrder {
    fn rank(&self) -> (i64, (i64, AppId)) {
        (self.order.deadline_ms, self.place)
    }
}

impl Engine {
    /// The orders that may count in the next interval.
    pub(super) fn open_orders(&self, now: Now) -> Vec<QueueOrders> {
        let Some(market) = self.ruling_market() else { return Vec::new() };
        let open = |order: &Order| {
            let job = self.jobs.get(order.job).filter(|job| !job.is_over() && !job.is_paused())?;
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
    laid: &[LaidCharge],
    at_ms: i64,
) -> BTreeMap<JobId, OrderStanding> {
    bids.expect_orders(queues.iter().map(|queue| queue.orders.len()).sum());
    let laid = laid_on_capped(queues, laid);
    let mut standings = BTreeMap::new();
    for QueueOrders { queue, orders } in queues {
        // An idle queue buys nothing.
        let Some(place) = bids.place(queue.as_str()) else { continue };
        let mut counting: Vec<&OpenOrder> = orders.iter().collect();
        for round in 1.. {
            let found = find_rate(&counting, bids, place, at_ms);
            let is_spent = |open: &OpenOrder| {
                let Some(most) = open.order.max_cost else { return false };
                let job = open.order.job;
                let cost = costs.units_of(job) + laid.get(&job).copied().unwrap_or(0);
                // Only what is beyond the owner's own bid is bought by an order.
                found.by.is_some() && cost + most_cost_units(open, &found, bids, place) > most.units()
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

/// What this tick charges the jobs of orders with a limit, units.
fn laid_on_capped(queues: &[QueueOrders], laid: &[LaidCharge]) -> BTreeMap<JobId, i128> {
    let open = queues.iter().flat_map(|queue| &queue.orders).filter(|open| open.order.max_cost.is_some());
    let mut sums: BTreeMap<JobId, i128> = open.map(|open| (open.order.job, 0)).collect();
    for charge in laid {
        if let Some(sum) = charge.holder.job().and_then(|job| sums.get_mut(&job)) {
            *sum += charge.amount.units();
        }
    }
    sums
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
