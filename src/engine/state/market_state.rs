//! The market of a cluster that has one.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::market::{Market, SlotHolder};
use crate::model::JobId;
use crate::scheduler::{AppId, UsageChange};

use super::job_costs::JobCosts;
use super::long_housekeeping::LongHousekeeping;
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
    pub housekeeping: LongHousekeeping,
    /// What apps of the scheduler are to the meter. A job that was forgotten may still hold slots.
    pub holders: FxHashMap<AppId, SlotHolder>,
    /// Empty between two steps: kept for its room.
    pub usage_changes: Vec<UsageChange>,
}

// === impl MarketState ===

impl MarketState {
    /// A market without costs.
    pub fn new(accounts: Market) -> Self {
        Self {
            accounts,
            costs: JobCosts::default(),
            budgets_changed: false,
            standings: BTreeMap::new(),
            housekeeping: LongHousekeeping::default(),
            holders: FxHashMap::default(),
            usage_changes: Vec::new(),
        }
    }
}
