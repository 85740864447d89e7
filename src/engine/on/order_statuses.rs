//! Deadline orders as queries show them.

use crate::api::{OrderState, OrderStatus};
use crate::engine::core::Engine;
use crate::engine::state::{MarketState, OrderStanding};
use crate::mapreduce::Job;
use crate::market::{Answer, Order, QueueInfo};
use crate::model::{PerKind, QueueName};
use crate::scheduler::constraint::{Overrun, Seconds};

impl Engine {
    /// The orders of a queue, by job, as queries show them.
    pub(super) fn order_statuses(&self, queue: &str) -> Vec<OrderStatus> {
        let Some(market) = &self.market else { return Vec::new() };
        market.accounts.orders_of(queue).map(|order| status(market, order)).collect()
    }

    pub(super) fn order_status(&self, job: &Job) -> Option<OrderStatus> {
        let market = self.market.as_ref()?;
        let order = market.accounts.order(job.spec.payer()?, job.id)?;
        Some(status(market, order))
    }

    /// How many orders stand: new since the last tick, on time, at risk, spent.
    pub(super) fn orders_by_state(&self) -> [u64; 4] {
        let mut states = [0; 4];
        let Some(market) = &self.market else { return states };
        for standing in market.standings.values() {
            match standing.state {
                OrderState::New => {}
                OrderState::OnTime => states[1] += 1,
                OrderState::AtRisk => states[2] += 1,
                OrderState::Spent => states[3] += 1,
            }
        }
        let all: u64 = market.accounts.orders().map(|(_, orders)| orders.count() as u64).sum();
        states[0] = all.saturating_sub(states.iter().sum());
        states
    }

    pub(super) fn answer_orders(&self, queue: &QueueName) -> Answer {
        match self.market().and_then(|market| market.account(queue.as_str())) {
            Some(account) => {
                Answer::Orders { info: QueueInfo::live(queue, account), orders: self.order_statuses(queue.as_str()) }
            }
            None => Answer::Frame,
        }
    }

    /// What a job's scheduling information says of its order; none: it has none.
    pub(super) fn report_order(&self, job: &Job) -> Option<String> {
        let market = self.market.as_ref().filter(|market| market.accounts.is_ruling())?;
        let order = market.accounts.order(job.spec.payer()?, job.id)?;
        let standing = market.standings.get(&job.id).copied().unwrap_or_default();
        let seconds = |ms: i64| Seconds { us: ms.saturating_mul(1_000) };
        let at_ms = standing.at_ms.max(job.submit_ms);
        let cost = order.max_cost.map(|cost| format!(", cost at most {cost}")).unwrap_or_default();
        // Once tasks run, the tick knows better.
        let overrun = (!job.has_begun() || job.running() == PerKind::default() && job.finished().map == 0)
            .then(|| self.order_overrun(job, order, at_ms))
            .flatten();
        let state = match (standing.state, overrun) {
            (OrderState::New, Some(_)) => OrderState::AtRisk,
            (state, _) => state,
        };
        let remark = match (overrun, standing.sufficient_rate) {
            (Some(overrun), _) => format!(" But {overrun}, at any rate."),
            (None, Some(rate)) => format!(" A rate of {rate} would do."),
            (None, None) => match standing.cost {
                Some(cost) if order.max_cost.is_some_and(|most| cost > most) => {
                    format!(" But the job would cost {cost}.")
                }
                Some(cost) => format!(" But the job would cost {cost}, more than its queue can pay."),
                None if state == OrderState::AtRisk => {
                    " No rate would do: it is too late, or the cluster too small.".to_owned()
                }
                None => String::new(),
            },
        };
        Some(format!(
            "Deadline {} s (left {} s, {}). Order: rate at most {}{cost}.{remark}",
            seconds(order.deadline_ms.saturating_sub(job.submit_ms)),
            seconds(order.deadline_ms.saturating_sub(at_ms)),
            state.name(),
            order.max_rate,
        ))
    }
}

impl Engine {
    /// How late a job none of which runs yet ends at least, whatever its order buys.
    fn order_overrun(&self, job: &Job, order: &Order, at_ms: i64) -> Option<Overrun> {
        let us = |ms: i64| ms.saturating_mul(1_000);
        let work = self.ordered_work(job, order);
        Overrun::of(&work, self.order_model(), us(at_ms), us(order.deadline_ms))
    }
}

fn status(market: &MarketState, order: &Order) -> OrderStatus {
    let Order { job, deadline_ms, max_rate, max_cost } = *order;
    let OrderStanding { state, sufficient_rate, cost, .. } = market.standings.get(&job).copied().unwrap_or_default();
    OrderStatus { job, deadline_ms, max_rate, max_cost, state, sufficient_rate, cost }
}
