//! Deadline orders as queries show them.

use crate::api::OrderStatus;
use crate::engine::core::Engine;
use crate::market::{Answer, Order, QueueInfo};
use crate::model::QueueName;

// === impl Engine: orders in answers ===

impl Engine {
    /// The orders of a queue, by job, as queries show them.
    pub(super) fn order_statuses(&self, queue: &str) -> Vec<OrderStatus> {
        let Some(market) = &self.market else { return Vec::new() };
        let status = |order: &Order| {
            let standing = market.standings.get(&order.job).copied().unwrap_or_default();
            OrderStatus {
                job: order.job,
                deadline_ms: order.deadline_ms,
                max_rate: order.max_rate,
                max_cost: order.max_cost,
                state: standing.state,
                sufficient_rate: standing.sufficient_rate,
            }
        };
        market.accounts.orders_of(queue).map(status).collect()
    }

    /// A queue with its orders.
    pub(super) fn answer_orders(&self, queue: &QueueName) -> Answer {
        match self.market().and_then(|market| market.account(queue.as_str())) {
            Some(account) => {
                Answer::Orders { info: QueueInfo::live(queue, account), orders: self.order_statuses(queue.as_str()) }
            }
            None => Answer::Frame,
        }
    }
}
