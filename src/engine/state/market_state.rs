//! The market of a cluster that has one.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::market::{GivenBack, Market, SlotHolder};
use crate::model::{JobId, QueueName};
use crate::scheduler::{AppId, UsageChange};

use super::job_costs::JobCosts;
use super::long_housekeeping::LongHousekeeping;
use super::order_standing::OrderStanding;

#[derive(Debug)]
pub(crate) struct MarketState {
    pub(crate) accounts: Market,
    pub(crate) costs: JobCosts,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`](super::effect::Effect::WriteBudgetImage).
    pub(crate) budgets_changed: bool,
    /// Orders that the last tick has looked at.
    pub(crate) standings: BTreeMap<JobId, OrderStanding>,
    pub(crate) housekeeping: LongHousekeeping,
    /// What apps of the scheduler are to the meter. A job that was forgotten may still hold slots.
    pub(crate) holders: FxHashMap<AppId, SlotHolder>,
    /// Queues that others were preempted for, with the tick of the interval; since a restart.
    preempted_for: BTreeMap<QueueName, u64>,
    /// Jobs that have ended in this step.
    pub(crate) ended_jobs: Vec<JobId>,
    /// Empty between two steps: kept for its room.
    pub(crate) usage_changes: Vec<UsageChange>,
}

impl MarketState {
    /// A market without costs.
    pub(crate) fn new(accounts: Market) -> Self {
        Self {
            accounts,
            costs: JobCosts::default(),
            budgets_changed: false,
            standings: BTreeMap::new(),
            housekeeping: LongHousekeeping::default(),
            holders: FxHashMap::default(),
            preempted_for: BTreeMap::new(),
            ended_jobs: Vec::new(),
            usage_changes: Vec::new(),
        }
    }

    /// Others are preempted for these queues.
    pub(crate) fn note_preempted_for<'a>(&mut self, queues: impl Iterator<Item = &'a String>) {
        let tick = self.accounts.tick_number();
        self.preempted_for.retain(|_, last| last.saturating_add(1) >= tick);
        self.preempted_for.extend(queues.filter_map(|queue| Some((QueueName::new(queue).ok()?, tick))));
    }

    /// Whether what is given back may be free: not where others were preempted for its queue in this interval or the last.
    pub(crate) fn may_be_free(&self, given_back: &GivenBack) -> bool {
        let queue = self.accounts.meter().queue_of(given_back.holder);
        let last = queue.and_then(|queue| self.preempted_for.get(queue));
        last.is_none_or(|last| last.saturating_add(1) < self.accounts.tick_number())
    }
}
