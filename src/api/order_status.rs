//! A deadline order as queries show it.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId};

/// A standing order for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStatus {
    /// The job.
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

/// How an order stands.
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

impl OrderState {
    /// As texts name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::OnTime => "ON_TIME",
            Self::AtRisk => "AT_RISK",
            Self::Spent => "SPENT",
        }
    }

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
