//! How an order stood at the last tick.

use crate::api::OrderState;
use crate::model::Credits;

/// How an order stood at the last tick. Not durable: the next tick finds it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderStanding {
    pub(crate) state: OrderState,
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    /// The rate that would have done where its own highest one did not.
    pub(crate) sufficient_rate: Option<Credits>,
    /// What its job would cost in all, where that is more than it may, or than its queue can pay.
    pub(crate) cost: Option<Credits>,
}

impl Default for OrderStanding {
    fn default() -> Self {
        Self { state: OrderState::New, at_ms: 0, sufficient_rate: None, cost: None }
    }
}
