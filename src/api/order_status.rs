//! A deadline order as queries show it.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId};

/// A standing order for a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStatus {
    /// The job.
    pub job: JobId,
    /// When it must be done, epoch ms.
    pub deadline_ms: i64,
    /// The highest rate that it bids.
    pub max_rate: Credits,
    /// What the job may cost with it; absent: whatever it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Credits>,
    /// How it stood at the last tick.
    pub state: OrderState,
    /// The rate that would have done then, where its own highest one would not; absent: no rate, or it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sufficient_rate: Option<Credits>,
}

/// How an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OrderState {
    /// It counts from the next tick.
    New,
    /// It buys what the job needs.
    OnTime,
    /// No rate that it may bid buys what the job needs.
    AtRisk,
    /// The interval could cost more than the job may: it does not count.
    Spent,
}

// === impl OrderState ===

impl OrderState {
    /// As texts name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::OnTime => "ON_TIME",
            Self::AtRisk => "AT_RISK",
            Self::Spent => "SPENT",
        }
    }
}
