//! What a deadline order must be to stand.

use crate::engine::core::Engine;
use crate::market::{Account, MAX_ORDERS_OF_QUEUE, Order, OrderError};
use crate::model::QueueName;

impl Engine {
    pub(super) fn check_terms(&self, queue: &QueueName, order: &Order, now_ms: i64) -> Result<(), OrderError> {
        let Order { deadline_ms, max_rate, .. } = *order;
        if deadline_ms <= now_ms {
            return Err(OrderError::Passed { deadline_ms, now_ms });
        }
        let Some(market) = self.market() else { return Ok(()) };
        if market.has_all_orders(queue.as_str(), order.job) {
            return Err(OrderError::TooManyOrders { queue: queue.clone(), most: MAX_ORDERS_OF_QUEUE });
        }
        let bid = market.account(queue.as_str()).map(Account::bid);
        match bid.filter(|bid| max_rate < *bid) {
            Some(bid) => Err(OrderError::MaxRateBelowBid { queue: queue.clone(), max_rate, bid }),
            None => Ok(()),
        }
    }
}
