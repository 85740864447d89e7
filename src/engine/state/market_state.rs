//! The market of a cluster that has one: how orders stood at the last tick, and the housekeeping that is charged.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::api::OrderState;
use crate::market::{GivenBack, Market, SlotHolder};
use crate::model::{Credits, JobId, QueueName};
use crate::scheduler::{AppId, UsageChange};

use super::job_costs::JobCosts;

#[derive(Debug)]
pub(crate) struct MarketState {
    pub(crate) accounts: Market,
    pub(crate) costs: JobCosts,
    /// Accounts have changed since the last [`Effect::WriteBudgetImage`](super::effect::Effect::WriteBudgetImage).
    pub(crate) budgets_changed: bool,
    pub(crate) standings: BTreeMap<JobId, OrderStanding>,
    pub(crate) housekeeping: LongHousekeeping,
    /// What apps of the scheduler are to the meter. A job that was forgotten may still hold slots.
    pub(crate) holders: FxHashMap<AppId, SlotHolder>,
    /// Queues that others were preempted for, with the tick of the interval; since a restart.
    preempted_for: BTreeMap<QueueName, u64>,
    pub(crate) ended_jobs: Vec<JobId>,
    /// Empty between two steps: kept for its room.
    pub(crate) usage_changes: Vec<UsageChange>,
}

impl MarketState {
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

/// How an order stood at the last tick. Not durable: the next tick finds it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderStanding {
    pub(crate) state: OrderState,
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    /// The rate that would have done where its own highest one did not.
    pub(crate) sufficient_rate: Option<Credits>,
    /// What its job would cost in all, where that is more than it may, or than its queue can pay.
    pub(crate) cost: Option<Credits>,
}

impl Default for OrderStanding {
    fn default() -> Self {
        Self { state: OrderState::New, at_ms: 0, sufficient_rate: None, cost: None }
    }
}

/// How long a setup or cleanup is free, ms.
const FREE_MS: u64 = 10_000;

/// Attempts of one app that were launched at the same time, ms of the monotonic clock.
type Launch = (u64, AppId);

/// Setups, job-cleanups and task-cleanups: free for a while, since the framework needs them; a longer one runs a user's own code and
/// counts as a map of its job from then on.
#[derive(Debug, Default)]
pub(crate) struct LongHousekeeping {
    /// Those that are free so far, in the order of their launch.
    free: BTreeMap<Launch, u32>,
    counting: BTreeMap<Launch, u32>,
}

impl LongHousekeeping {
    pub(crate) fn begin(&mut self, app: AppId, launch_mono_ms: u64) {
        *self.free.entry((launch_mono_ms, app)).or_default() += 1;
    }

    /// One that was launched then is over; returns whether it has counted.
    pub(crate) fn end(&mut self, app: AppId, launch_mono_ms: u64) -> bool {
        let launch = (launch_mono_ms, app);
        if take(&mut self.free, launch) { false } else { take(&mut self.counting, launch) }
    }

    /// The next one that counts from a time on that is not after `mono_ms`; it does from now on.
    pub(crate) fn pop_due(&mut self, mono_ms: u64) -> Option<(u64, AppId)> {
        let (&(launch_mono_ms, app), _) = self.free.first_key_value()?;
        let due_mono_ms = launch_mono_ms.saturating_add(FREE_MS);
        if due_mono_ms > mono_ms {
            return None;
        }
        take(&mut self.free, (launch_mono_ms, app));
        *self.counting.entry((launch_mono_ms, app)).or_default() += 1;
        Some((due_mono_ms, app))
    }

    pub(crate) fn is_due(&self, mono_ms: u64) -> bool {
        self.free.first_key_value().is_some_and(|((launch, _), _)| launch.saturating_add(FREE_MS) <= mono_ms)
    }

    /// How many of each app count.
    pub(crate) fn counting(&self) -> impl Iterator<Item = (AppId, u32)> {
        self.counting.iter().map(|((_, app), count)| (*app, *count))
    }
}

fn take(attempts: &mut BTreeMap<Launch, u32>, launch: Launch) -> bool {
    let Some(count) = attempts.get_mut(&launch) else { return false };
    *count -= 1;
    if *count == 0 {
        attempts.remove(&launch);
    }
    true
}
