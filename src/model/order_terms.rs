//! What a deadline order may bid and cost.

use super::Credits;

/// What the order for a job's deadline may bid, and what the job may cost with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct OrderTerms {
    /// The highest rate that it bids.
    pub(crate) max_rate: Credits,
    /// What the job may cost with it; none: whatever it does.
    pub(crate) max_cost: Option<Credits>,
}
