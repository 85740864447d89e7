//! The market of a cluster that has one.

use crate::market::Market;

use super::job_costs::JobCosts;

/// Accounts, costs of jobs, and the time of the next tick.
#[derive(Debug)]
pub struct MarketState {
    pub accounts: Market,
    pub costs: JobCosts,
    pub next_tick_mono_ms: u64,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`](super::effect::Effect::WriteBudgetImage).
    pub budgets_changed: bool,
}

// === impl MarketState ===

impl MarketState {
    /// A market whose first tick is not scheduled yet.
    pub fn new(accounts: Market) -> Self {
        Self { accounts, costs: JobCosts::default(), next_tick_mono_ms: u64::MAX, budgets_changed: false }
    }
}
