//! What a deadline order would buy for a job that is not submitted: the answer at `/scheduler/quote`.

use serde::{Deserialize, Serialize};

use super::order_status::OrderState;
use crate::model::{Credits, PerKind};

/// What an order would buy if nothing else changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderQuote {
    /// When the job must be done, epoch ms.
    pub(crate) deadline_ms: i64,
    /// Whether the order would keep the deadline.
    pub(crate) state: OrderState,
    /// The least maps at a time that keep it, then the least reduces.
    pub(crate) needed: PerKind<u32>,
    /// As many of them as the order would buy.
    pub(crate) bought: PerKind<u32>,
    /// The rate that buys them: the higher one of that for the maps and that for the reduces.
    pub(crate) rate: Credits,
    /// The rate that would do, where the order's highest one does not; absent: no rate, or it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sufficient_rate: Option<Credits>,
    /// What the tasks would cost at these rates for the time that they take.
    pub(crate) cost: Credits,
    /// What the queue has to pay it with, after the charge for the current interval; absent: an older server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<Credits>,
    /// When the job would be done, each task waiting as long as one may, epoch ms; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end_ms: Option<i64>,
}

impl OrderQuote {
    /// The quote of an order whose job may cost that much: one that costs more stops before its job is done.
    #[must_use]
    pub(crate) fn within(self, max_cost: Option<Credits>) -> Self {
        let state = self.state.at_cost(self.cost, max_cost, self.budget);
        let end_ms = self.end_ms.filter(|_| !self.is_beyond(max_cost));
        Self { state, end_ms, ..self }
    }

    /// Whether it costs more than the job may, or than the queue can pay.
    #[must_use]
    pub(crate) fn is_beyond(&self, max_cost: Option<Credits>) -> bool {
        [max_cost, self.budget].into_iter().flatten().any(|most| self.cost > most)
    }
}
