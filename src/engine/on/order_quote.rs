//! Quotes of deadline orders: what the next tick would buy for a job that might be submitted. Read-only.

use crate::api::{OrderQuote, OrderState};
use crate::engine::core::Engine;
use crate::market::{ContainerUse, MarketError, Order, QueueUse};
use crate::model::{Credits, JobId, Kind, Now, PerKind, QueueName};
use crate::scheduler::AppId;
use crate::scheduler::constraint::{JobWork, Model};

use super::market_queries::{queue_usage, sold_slots};
use super::order_need::{OrderNeed, need_of_new};
use super::order_rates::{OpenOrder, QueueOrders, raise_bids};
use super::what_if::DeadlineQuestion;

/// The place of a job that is not there: behind all that are.
const LAST: (i64, AppId) = (i64::MAX, AppId::new(u32::MAX));

/// What an order buys for the tasks of one kind.
struct Bought {
    slots: u32,
    rate: Credits,
    state: OrderState,
    sufficient_rate: Option<Credits>,
}

impl Engine {
    /// What an order of the queue would buy for a job that is submitted now, its maps first and then its reduces, by the
    /// tick's own code and the present bids, orders and usage.
    ///
    /// # Errors
    /// [`MarketError`] where the order could not be placed.
    pub fn quote_order(
        &self,
        queue: &QueueName,
        max_rate: Credits,
        question: &DeadlineQuestion,
        now: Now,
    ) -> Result<OrderQuote, MarketError> {
        if self.ruling_market().is_none() {
            return Err(MarketError::NotRuling);
        }
        let now_us = now.wall_ms.saturating_mul(1_000);
        let deadline_us = question.deadline.due_us(now.wall_ms);
        let deadline_ms = deadline_us.div_euclid(1_000);
        let job = JobId { identifier: self.config.identifier, number: 0 };
        let order = Order { job, deadline_ms, max_rate, max_cost: None };
        self.check_terms(queue, &order, now.wall_ms)?;
        let (work, model) = (self.asked_work(question), self.order_model());
        let need = need_of_new(&work, model, now_us, deadline_us);
        let maps_end_us = maps_end_us(&work, model, now_us, need.slots.map).unwrap_or(deadline_us);
        let least_reduces = model.least_reduces(&JobWork { maps: 0, ..work }, maps_end_us, deadline_us);
        let needed = PerKind::new(need.slots.map, least_reduces);
        let buy = |kind: Kind| {
            let mut slots = PerKind::default();
            slots[kind] = needed[kind];
            self.buy(queue, OpenOrder { order, place: LAST, need: OrderNeed { slots, ..need } }, kind, now)
        };
        let phases = PerKind::new(buy(Kind::Map), buy(Kind::Reduce));
        let bought = PerKind::new(phases.map.slots, phases.reduce.slots);
        let each = Kind::ALL.map(|kind| &phases[kind]);
        let short: Vec<_> = each.iter().filter(|phase| phase.state != OrderState::OnTime).collect();
        let sufficient_rate = short.iter().map(|phase| phase.sufficient_rate).collect::<Option<Vec<_>>>();
        // Each reduce holds its slot while it copies.
        let reduce_us = work.reduce_us.saturating_add(work.copy_us.saturating_mul(work.reduces.into()));
        let costs = [(phases.map.rate, work.map_us), (phases.reduce.rate, reduce_us)];
        let cost_units = costs.map(|(rate, slots_us)| self.cost_units(rate, slots_us)).iter().sum::<i128>();
        Ok(OrderQuote {
            deadline_ms,
            state: if short.is_empty() { OrderState::OnTime } else { OrderState::AtRisk },
            needed,
            bought,
            rate: phases.map.rate.max(phases.reduce.rate),
            sufficient_rate: sufficient_rate.and_then(|rates| rates.into_iter().max()),
            cost: Credits::from_units(cost_units.min(Credits::MAX.units())),
            end_ms: end_us(&work, model, now_us, bought).map(|end_us| -(-end_us).div_euclid(1_000)),
        })
    }

    /// What one more order buys at the next tick for the tasks of one kind.
    fn buy(&self, queue: &QueueName, open: OpenOrder, kind: Kind, now: Now) -> Bought {
        let nothing = Bought { slots: 0, rate: Credits::ZERO, state: OrderState::AtRisk, sufficient_rate: None };
        let Some(market) = &self.market else { return nothing };
        let (job, needed) = (open.order.job, open.need.slots[kind]);
        let mut orders = self.open_orders(now);
        let earlier = QueueOrders::add(&mut orders, queue, open)[kind];
        let (mut usage, _) = queue_usage(market, &self.cluster.scheduler, &self.applications);
        match usage.binary_search_by(|queue_use| queue_use.queue.cmp(queue)) {
            // The job that is asked about waits with the others.
            Ok(place) => usage[place].want = QueueUse::wants_all(&usage[place].containers),
            Err(place) => {
                let (running, later, containers) = (PerKind::default(), PerKind::default(), ContainerUse::default());
                let want = QueueUse::wants_all(&containers);
                usage.insert(place, QueueUse { queue: queue.clone(), running, pending: 1, containers, want, later });
            }
        }
        let (mut bids, laid) = market.accounts.open_bids(&usage, sold_slots(&self.cluster.scheduler));
        let standings = raise_bids(&orders, &mut bids, &market.costs, &laid, now.wall_ms);
        let (Some(place), Some(standing)) = (bids.place(queue.as_str()), standings.get(&job)) else { return nothing };
        let rate = bids.rate(place);
        let slots = bids.quota(place, rate)[kind].saturating_sub(earlier).min(needed);
        Bought { slots, rate, state: standing.state, sufficient_rate: standing.sufficient_rate }
    }

    /// What one slot costs for so long at a rate, rounded up, units.
    fn cost_units(&self, rate: Credits, slot_us: u64) -> i128 {
        let interval_us = i128::from(self.alloc_interval_ms().max(1)) * 1_000;
        let product = rate.units().checked_mul(slot_us.into());
        product.map_or(Credits::MAX.units(), |product| (product + interval_us - 1) / interval_us)
    }
}

/// When the last map ends on so many slots; none: never.
fn maps_end_us(work: &JobWork, model: Model, start_us: i64, slots: u32) -> Option<i64> {
    after_rounds(start_us, work.maps, slots, model.map_round_us(work))
}

/// When the job ends on so many slots; none: never.
fn end_us(work: &JobWork, model: Model, start_us: i64, slots: PerKind<u32>) -> Option<i64> {
    let copied_us = maps_end_us(work, model, start_us, slots.map)?.saturating_add_unsigned(work.copy_us);
    after_rounds(copied_us, work.reduces, slots.reduce, model.reduce_round_us(work))
}

fn after_rounds(start_us: i64, tasks: u32, slots: u32, round_us: u64) -> Option<i64> {
    match (tasks, slots) {
        (0, _) => Some(start_us),
        (_, 0) => None,
        (tasks, slots) => Some(start_us.saturating_add_unsigned(round_us.saturating_mul(tasks.div_ceil(slots).into()))),
    }
}
