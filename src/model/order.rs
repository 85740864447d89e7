//! Deadline orders: what one may bid and cost, and the classes in which groups that buy slots are served.

use serde::{Deserialize, Serialize};

use super::Credits;

/// A group's class under a policy that sells slots, in the order in which groups are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderClass {
    /// It holds fewer slots than it has bought.
    UnderQuota,
    /// It pays and holds at least the slots that it has bought.
    Funded,
    /// It pays nothing.
    Unfunded,
}

/// What the order for a job's deadline may bid, and what the job may cost with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OrderTerms {
    /// The highest rate that it bids.
    pub(crate) max_rate: Credits,
    /// What the job may cost with it; none: whatever it does.
    pub(crate) max_cost: Option<Credits>,
}
