//! Where the engine meets the market: queues, ticks, requests to `/scheduler`.

use crate::market::{Account, BudgetLine, Interval, Market, MarketFact, QueueChange, QueueUse, ServletRequest};
use crate::model::{Credits, Now, PerKind, QueueName};
use crate::scheduler::{Allocation, GroupId, GroupUsage, Scheduler};

use super::engine::{Engine, Wait};
use super::{Effect, Fact, PolicyConfig, Reply};

// === impl Engine: market ===

impl Engine {
    /// Opens the configured queues, or those of the market as an earlier incarnation left it.
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
            // What was bought holds until the first tick.
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

    /// Brings the budget file in, at the very first start. Queues are known from then on, before any port opens.
    pub fn seed_budgets(&mut self, lines: Vec<BudgetLine>, now: Now) {
        let Some(market) = &mut self.market else { return };
        for fact in market.seed_budgets(lines, now) {
            self.log.push(Fact::Market(fact));
        }
        for queue in market.queues() {
            self.scheduler.open_group(queue.as_str());
        }
    }

    /// Makes budgets and queues what an edited budget file says, at a start. Gives a line for people about each change.
    /// The file is asked for again at the next tick.
    pub fn apply_budget_file(&mut self, lines: Vec<BudgetLine>, now: Now) -> Vec<String> {
        let Some(market) = &mut self.market else { return Vec::new() };
        let live_jobs = &self.live_jobs;
        let applied = market.apply_budget_file(lines, now, |queue| live_jobs.contains_key(queue.as_str()));
        self.follow(applied.changes);
        self.budgets_changed = true;
        for fact in applied.facts {
            self.log.push(Fact::Market(fact));
        }
        applied.messages
    }

    /// Opens and closes what the market has opened and closed.
    fn follow(&mut self, changes: Vec<QueueChange>) {
        for change in changes {
            match change {
                QueueChange::Added(queue) => {
                    self.scheduler.open_group(queue.as_str());
                }
                QueueChange::Removed(queue) => {
                    // A queue that was not busy has no app, so it closes.
                    let closed = self.scheduler.group(queue.as_str()).map(|group| self.scheduler.close_group(group));
                    debug_assert_eq!(closed, Some(Ok(())), "the account of {queue:?} is gone, its group is not");
                }
            }
        }
    }

    /// Charges the interval that ends and opens the next. A tick that comes late is one tick.
    pub(super) fn tick_when_due(&mut self, now: Now) {
        let PolicyConfig::Dynamic { alloc_interval_ms, .. } = self.config.policy else { return };
        if now.mono_ms < self.next_tick_mono_ms {
            return;
        }
        self.next_tick_mono_ms = next_on_grid(self.next_tick_mono_ms, alloc_interval_ms, now);
        let slots = self.scheduler.totals().slots.narrow();
        let Some(market) = &mut self.market else { return };
        let (usage, groups) = usage(market, &self.scheduler);
        let tick = market.tick(&usage, slots, now);
        let money_moved = tick.queue_ticks.iter().any(|queue_tick| queue_tick.charge.amount() > Credits::ZERO);
        // Both are by name, and the market names no queue that was not named to it.
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
        if money_moved || self.budgets_changed {
            self.budgets_changed = false;
            self.effects.push(Effect::WriteBudgetImage);
        }
    }

    pub(super) fn market_request(&mut self, mut request: ServletRequest, now: Now) -> (Reply, Wait) {
        self.name_queue_of_job(&mut request);
        let Some(market) = &mut self.market else { return (Reply::Done, Wait::Nothing) };
        let (live_jobs, submissions, scheduler) = (&self.live_jobs, &self.submissions, &self.scheduler);
        let busy = |queue: &QueueName| {
            let queue = queue.as_str();
            // Attempts of ended jobs hold slots that the queue still has to pay for.
            let holds_slots =
                || scheduler.group(queue).is_some_and(|group| scheduler.usage(group) != PerKind::default());
            live_jobs.contains_key(queue) || holds_slots() || submissions.values().any(|pending| pending.is_for(queue))
        };
        let handled = market.handle_request(request, now, busy);
        self.follow(handled.changes);
        self.budgets_changed |= handled.facts.iter().any(is_money);
        for fact in handled.facts {
            self.log.push(Fact::Market(fact));
        }
        // What is answered shows durable state only.
        (Reply::Market(handled.answer.map(|answer| self.complete(answer))), Wait::All)
    }
}

/// What each queue that does something uses and wants, by name, and which group it is.
pub(super) fn usage(market: &Market, scheduler: &Scheduler) -> (Vec<QueueUse>, Vec<GroupId>) {
    let mut standings = scheduler.group_usages().peekable();
    let of_queue = |queue: &QueueName| {
        while standings.next_if(|standing| standing.name < queue.as_str()).is_some() {}
        let GroupUsage { id, running, pending, .. } = standings.next_if(|standing| standing.name == queue.as_str())?;
        let is_idle = running == PerKind::default() && pending == 0;
        (!is_idle).then(|| (QueueUse { queue: queue.clone(), running, pending }, id))
    };
    market.queues().filter_map(of_queue).unzip()
}

/// The first moment after `now` that is a whole number of intervals after `due`, which has come.
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
