//! The market of a cluster that has one.

use crate::market::Market;

use super::job_costs::JobCosts;

/// Accounts and costs of jobs.
#[derive(Debug)]
pub struct MarketState {
    pub accounts: Market,
    pub costs: JobCosts,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`](super::effect::Effect::WriteBudgetImage).
    pub budgets_changed: bool,
}

// === impl MarketState ===

impl MarketState {
    /// A market without costs.
    pub fn new(accounts: Market) -> Self {
        Self { accounts, costs: JobCosts::default(), budgets_changed: false }
    }
}
