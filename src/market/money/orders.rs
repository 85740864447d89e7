//! The orders that stand.

use crate::model::{JobId, QueueName};

use super::fact::MarketFact;
use super::order::{Order, OrderEnd};
use super::state::Market;

/// Most orders of one queue: each costs every tick some time.
pub(crate) const MAX_ORDERS_OF_QUEUE: usize = 50;

impl Market {
    /// Whether a queue has as many orders as it may, not counting one for this job.
    pub(crate) fn has_all_orders(&self, queue: &str, job: JobId) -> bool {
        self.orders_of(queue).filter(|order| order.job != job).count() >= MAX_ORDERS_OF_QUEUE
    }

    /// The queues with orders, by name, each with its orders, by job.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (&QueueName, impl Iterator<Item = &Order>)> {
        self.orders.iter().map(|(queue, orders)| (queue, orders.values()))
    }

    pub(crate) fn orders_of(&self, queue: &str) -> impl Iterator<Item = &Order> {
        self.orders.get(queue).into_iter().flat_map(|orders| orders.values())
    }

    pub(crate) fn order(&self, queue: &str, job: JobId) -> Option<&Order> {
        self.orders.get(queue)?.get(&job)
    }

    /// Lets an order stand, instead of an earlier one for its job.
    pub(crate) fn set_order(&mut self, queue: QueueName, order: Order) -> MarketFact {
        let fact = MarketFact::OrderSet { queue, order };
        self.apply(&fact);
        fact
    }

    /// Ends the order for a job of a queue; none: there is none.
    pub(crate) fn end_order(&mut self, queue: &str, job: JobId, end: OrderEnd) -> Option<MarketFact> {
        let (queue, orders) = self.orders.get_key_value(queue)?;
        let fact = orders.contains_key(&job).then(|| MarketFact::OrderEnded { queue: queue.clone(), job, end })?;
        self.apply(&fact);
        Some(fact)
    }

    pub(super) fn forget_order(&mut self, queue: &QueueName, job: JobId) {
        if let Some(orders) = self.orders.get_mut(queue) {
            orders.remove(&job);
            if orders.is_empty() {
                self.orders.remove(queue);
            }
        }
    }
}
