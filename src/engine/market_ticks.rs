//! The engine's use of the market: queues, ticks, requests to `/scheduler`.

use crate::market::{
    Account, BudgetLine, Credits, Interval, Market, MarketFact, QueueChange, QueueName, QueueUse, ServletRequest,
};
use crate::model::{Now, PerKind};
use crate::scheduler::{Allocation, GroupId, GroupUsage, Scheduler};

use super::engine::{Engine, Wait};
use super::{Effect, Fact, PolicyConfig, Reply};

// === impl Engine: market ===

impl Engine {
    /// Opens the configured queues, or those of the restored market.
    pub(super) fn open_queues(&mut self, restored: &[MarketFact], now: Now) {
        let Some(market) = &mut self.market else {
            for queue in &self.config.queues {
                self.scheduler.open_group(&queue.name);
            }
            return;
        };
        for fact in restored {
            market.apply(fact);
        }
        let mut allocations = Vec::new();
        for queue in market.queues() {
            let group = self.scheduler.open_group(queue.as_str());
            // The restored allocation holds until the first tick.
            let interval = market.account(queue.as_str()).and_then(Account::interval);
            allocations.extend(interval.map(|interval| (group, allocation(interval))));
        }
        self.scheduler.set_allocations(&allocations);
        if let PolicyConfig::Dynamic { alloc_interval_ms, kill_interval_ms, .. } = &self.config.policy {
            // The first tick comes one whole interval after the start: downtime is not charged.
            self.next_tick_mono_ms = now.mono_ms + alloc_interval_ms;
            self.next_preemption_mono_ms = kill_interval_ms.map_or(u64::MAX, |interval_ms| now.mono_ms + interval_ms);
        }
    }

    /// Seeds the market with the budget file, once in the life of the state store. Opens its queues.
    pub fn seed_budgets(&mut self, lines: Vec<BudgetLine>, now: Now) {
        let Some(market) = &mut self.market else { return };
        for fact in market.endow(lines, now) {
            self.log.push(Fact::Market(fact));
        }
        for queue in market.queues() {
            self.scheduler.open_group(queue.as_str());
        }
    }

    /// Applies an edited budget file at start. Returns a line for the operator about each change. The next tick writes
    /// the file again.
    pub fn take_over_budgets(&mut self, lines: Vec<BudgetLine>, now: Now) -> Vec<String> {
        let Some(market) = &mut self.market else { return Vec::new() };
        let live_jobs = &self.live_jobs;
        let taken = market.take_over(lines, now, |queue| live_jobs.contains_key(queue.as_str()));
        self.apply_queue_changes(taken.changes);
        self.budgets_changed = true;
        for fact in taken.facts {
            self.log.push(Fact::Market(fact));
        }
        taken.told
    }

    /// Opens and closes scheduler groups as the market opened and closed queues.
    fn apply_queue_changes(&mut self, changes: Vec<QueueChange>) {
        for change in changes {
            match change {
                QueueChange::Opened(queue) => {
                    self.scheduler.open_group(queue.as_str());
                }
                QueueChange::Closed(queue) => {
                    // The market removes idle queues only: these have no app, so the group closes.
                    let closed = self.scheduler.group(queue.as_str()).map(|group| self.scheduler.close_group(group));
                    debug_assert_eq!(closed, Some(Ok(())), "the account of {queue:?} is gone, its group is not");
                }
            }
        }
    }

    /// Charges the interval that ends and opens the next one. A late tick counts once.
    pub(super) fn tick_when_due(&mut self, now: Now) {
        let PolicyConfig::Dynamic { alloc_interval_ms, .. } = self.config.policy else { return };
        if now.mono_ms < self.next_tick_mono_ms {
            return;
        }
        self.next_tick_mono_ms = next_on_grid(self.next_tick_mono_ms, alloc_interval_ms, now);
        let slots = self.scheduler.totals().slots.narrow();
        let Some(market) = &mut self.market else { return };
        let (usage, groups) = queue_usage(market, &self.scheduler);
        let tick = market.tick(&usage, slots, now);
        let is_charged = tick.turns.iter().any(|turn| turn.charge.amount() > Credits::ZERO);
        // Both are sorted by name, and the market returns only queues of `usage`.
        let mut groups = usage.iter().zip(groups);
        let allocations: Vec<_> = tick
            .intervals()
            .filter_map(|(queue, interval)| {
                let (_, group) = groups.find(|(queue_use, _)| queue_use.queue == *queue)?;
                Some((group, allocation(interval)))
            })
            .collect();
        self.scheduler.set_allocations(&allocations);
        let charged = self.job_costs.charge(&tick, &self.scheduler);
        let number = tick.number;
        self.log.push(Fact::Market(tick.into_fact()));
        if !charged.is_empty() {
            self.log.push(Fact::JobsCharged { tick: number, jobs: charged });
        }
        if is_charged || self.budgets_changed {
            self.budgets_changed = false;
            self.effects.push(Effect::WriteBudgetImage);
        }
    }

    pub(super) fn handle_market_request(&mut self, mut request: ServletRequest, now: Now) -> (Reply, Wait) {
        self.resolve_job_queue(&mut request);
        let Some(market) = &mut self.market else { return (Reply::Done, Wait::Nothing) };
        let (live_jobs, submissions, scheduler) = (&self.live_jobs, &self.submissions, &self.scheduler);
        let busy = |queue: &QueueName| {
            let queue = queue.as_str();
            // Attempts of completed jobs hold slots that the queue still pays for.
            let holds_slots =
                || scheduler.group(queue).is_some_and(|group| scheduler.usage(group) != PerKind::default());
            live_jobs.contains_key(queue) || holds_slots() || submissions.values().any(|pending| pending.is_for(queue))
        };
        let operated = market.operate(request, now, busy);
        self.apply_queue_changes(operated.changes);
        self.budgets_changed |= operated.facts.iter().any(is_money);
        for fact in operated.facts {
            self.log.push(Fact::Market(fact));
        }
        // The answer may show durable state only.
        (Reply::Market(operated.answer.map(|answer| self.answer_from_cluster(answer))), Wait::All)
    }
}

/// Usage and demand of each queue that is not idle, by name, with its scheduler group.
pub(super) fn queue_usage(market: &Market, scheduler: &Scheduler) -> (Vec<QueueUse>, Vec<GroupId>) {
    let mut standings = scheduler.group_usages().peekable();
    let of_queue = |queue: &QueueName| {
        while standings.next_if(|standing| standing.name < queue.as_str()).is_some() {}
        let GroupUsage { id, running, pending, .. } = standings.next_if(|standing| standing.name == queue.as_str())?;
        let is_idle = running == PerKind::default() && pending == 0;
        (!is_idle).then(|| (QueueUse { queue: queue.clone(), running, pending }, id))
    };
    market.queues().filter_map(of_queue).unzip()
}

/// The first time after `now` that is a whole number of intervals after `due_mono_ms`, which has passed.
pub(super) fn next_on_grid(due_mono_ms: u64, interval_ms: u64, now: Now) -> u64 {
    let interval_ms = interval_ms.max(1);
    let missed = now.mono_ms.saturating_sub(due_mono_ms) / interval_ms;
    due_mono_ms.saturating_add((missed + 1).saturating_mul(interval_ms))
}

fn allocation(interval: &Interval) -> Allocation {
    Allocation { quota: interval.quota, rate_units: interval.share.rate().units() }
}

fn is_money(fact: &MarketFact) -> bool {
    matches!(fact, MarketFact::Account { .. } | MarketFact::AccountRemoved { .. })
}
