//! What a deadline order would buy for a job that is not submitted: the answer at `/scheduler/quote`.

use serde::{Deserialize, Serialize};

use super::order_status::OrderState;
use crate::model::{Credits, PerKind};

/// What an order would buy if nothing else changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderQuote {
    /// When the job must be done, epoch ms.
    pub deadline_ms: i64,
    /// Whether the order would keep the deadline.
    pub state: OrderState,
    /// The least maps at a time that keep it, then the least reduces.
    pub needed: PerKind<u32>,
    /// As many of them as the order would buy.
    pub bought: PerKind<u32>,
    /// The rate that buys them: the higher one of that for the maps and that for the reduces.
    pub rate: Credits,
    /// The rate that would do, where the order's highest one does not; absent: no rate, or it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sufficient_rate: Option<Credits>,
    /// What the tasks would cost at these rates for the time that they take.
    pub cost: Credits,
    /// When the job would be done, each task waiting as long as one may, epoch ms; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ms: Option<i64>,
}
