//! The market of a cluster that has one.

use std::collections::BTreeMap;

use crate::market::Market;
use crate::model::JobId;

use super::job_costs::JobCosts;
use super::order_standing::OrderStanding;

/// Accounts and costs of jobs.
#[derive(Debug)]
pub struct MarketState {
    pub accounts: Market,
    pub costs: JobCosts,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`](super::effect::Effect::WriteBudgetImage).
    pub budgets_changed: bool,
    /// Orders that the last tick has looked at.
    pub standings: BTreeMap<JobId, OrderStanding>,
}

// === impl MarketState ===

impl MarketState {
    /// A market without costs.
    pub fn new(accounts: Market) -> Self {
        Self { accounts, costs: JobCosts::default(), budgets_changed: false, standings: BTreeMap::new() }
    }
}
