//! Deadline orders: one as queries show it, and what one would buy for a job that is not submitted (`/scheduler/quote`).

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, PerKind, named};

/// A standing order for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStatus {
    pub(crate) job: JobId,
    /// When it must be done, epoch ms.
    pub(crate) deadline_ms: i64,
    /// The highest rate that it bids.
    pub(crate) max_rate: Credits,
    /// What the job may cost with it; absent: whatever it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_cost: Option<Credits>,
    /// How it stood at the last tick.
    pub(crate) state: OrderState,
    /// The rate that would have done then, where its own highest one would not; absent: no rate, or it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sufficient_rate: Option<Credits>,
    /// What the job would cost in all, where that is more than `max_cost`, or than its queue can pay; absent: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<Credits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum OrderState {
    /// It counts from the next tick.
    New,
    /// It buys what the job needs.
    OnTime,
    /// No rate that it may bid buys what the job needs, or its queue cannot pay for it.
    AtRisk,
    /// The job costs more than it may: an interval that could exceed that is not bought.
    Spent,
}

named!(OrderState { New = "NEW", OnTime = "ON_TIME", AtRisk = "AT_RISK", Spent = "SPENT" });

impl OrderState {
    /// How an order stands whose job still costs so much.
    #[must_use]
    pub(crate) fn at_cost(self, cost: Credits, max_cost: Option<Credits>, budget: Option<Credits>) -> Self {
        match self {
            Self::OnTime if budget.is_some_and(|budget| cost > budget) => Self::AtRisk,
            Self::OnTime if max_cost.is_some_and(|most| cost > most) => Self::Spent,
            state => state,
        }
    }
}

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
    pub(crate) fn is_beyond(&self, max_cost: Option<Credits>) -> bool {
        [max_cost, self.budget].into_iter().flatten().any(|most| self.cost > most)
    }
}
