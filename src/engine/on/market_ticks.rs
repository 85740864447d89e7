//! The engine's use of the market: queues, ticks, the queues of a round of preemption.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{Effect, Fact, JobTable};
use crate::market::{
    Account, BudgetLine, Consumer, ForgottenStamps, Interval, MarketFact, OperationKind, QueueChange, ServletRequest,
};
use crate::model::{JobId, Kind, Now, PerKind, QueueName};
use crate::scheduler::{Allocation, AppId, GroupId, Scheduler, UnderQuotaGroup, WaitingApp};

use super::market_queries::{queue_usage, sold_slots};
use super::order_rates::{OrderCharges, raise_bids};
use super::pools::WITHOUT_ACCOUNT;
use super::preemption_round::{IncomingSlots, QueueInRound};

impl Engine {
    /// Restores the accounts of an earlier run. Unless the market rules now, what it has sold ends here.
    pub(super) fn restore_market(&mut self, restored: &[MarketFact], now: Now) {
        let Some(market) = &mut self.market else { return };
        for fact in restored {
            market.accounts.apply(fact);
        }
        market.accounts.start_allowances(now);
        if !self.config.policy.is_market()
            && let Some(fact) = market.accounts.suspend(now)
        {
            self.outbox.record(Fact::Market(fact));
        }
    }

    /// Accepts nothing that was signed before now: what was used of it since the copy was made is lost.
    pub(super) fn forget_lost_signatures(&mut self, now: Now) {
        self.applications.forget_lost_signatures(now);
        let Some(market) = &mut self.market else { return };
        for consumer in [Consumer::Servlet, Consumer::Job, Consumer::Upload] {
            let fact = MarketFact::StampsForgotten(ForgottenStamps::of_everyone(consumer, now.wall_ms));
            market.accounts.apply(&fact);
            self.outbox.record(Fact::Market(fact));
        }
    }

    /// Opens the configured queues, or those of the ruling market.
    pub(super) fn open_queues(&mut self) {
        if self.config.policy.has_pools() {
            self.open_declared_pools();
            return;
        }
        let Some(market) = self.market.as_ref().filter(|market| market.accounts.is_ruling()) else {
            for queue in &self.config.queues {
                self.cluster.scheduler.open_group(&queue.name);
            }
            return;
        };
        let mut allocations = Vec::new();
        for queue in market.accounts.queues() {
            let group = self.cluster.scheduler.open_group(queue.as_str());
            // The restored allocation holds until the first tick.
            let interval = market.accounts.account(queue.as_str()).and_then(Account::interval);
            allocations.extend(interval.map(|interval| (group, allocation(interval))));
        }
        self.cluster.scheduler.set_allocations(&allocations);
    }

    /// Seeds the market with the budget file, once in the life of the state store. Opens its queues if it rules.
    pub fn seed_budgets(&mut self, lines: Vec<BudgetLine>, now: Now) {
        let Some(market) = &mut self.market else { return };
        for fact in market.accounts.seed_budgets(lines, now) {
            self.outbox.record(Fact::Market(fact));
        }
        for queue in market.accounts.queues().filter(|_| market.accounts.is_ruling()) {
            self.cluster.scheduler.open_group(queue.as_str());
        }
        self.move_work_to_accounts();
    }

    /// Applies an edited budget file at start. Returns a line for the operator about each change. The next tick writes
    /// the file again.
    pub(crate) fn apply_budget_file(&mut self, lines: Vec<BudgetLine>, now: Now) -> Vec<String> {
        let Some(market) = &mut self.market else { return Vec::new() };
        let (jobs, scheduler) = (&self.jobs, &self.cluster.scheduler);
        let is_ruling = market.accounts.is_ruling();
        let is_busy = |queue: &QueueName| is_ruling && owes_slots(queue.as_str(), jobs, scheduler);
        let applied = market.accounts.apply_budget_file(lines, now, is_busy);
        market.budgets_changed = true;
        self.apply_queue_changes(applied.changes);
        for fact in applied.facts {
            self.outbox.record(Fact::Market(fact));
        }
        applied.messages
    }

    /// Opens and closes scheduler groups as the ruling market opened and closed queues.
    fn apply_queue_changes(&mut self, changes: Vec<QueueChange>) {
        if self.ruling_market().is_none() {
            return;
        }
        let has_more = changes.iter().any(|change| matches!(change, QueueChange::Added(_)));
        for change in changes {
            match change {
                QueueChange::Added(queue) => {
                    self.cluster.scheduler.open_group(queue.as_str());
                }
                QueueChange::Removed(queue) => {
                    // The market removes idle queues only: these have no app, so the group closes.
                    let closed = self
                        .cluster
                        .scheduler
                        .group(queue.as_str())
                        .map(|group| self.cluster.scheduler.close_group(group));
                    debug_assert_eq!(closed, Some(Ok(())), "the account of {queue:?} is gone, its group is not");
                }
            }
        }
        if has_more {
            self.move_work_to_accounts();
        }
    }

    /// Moves jobs and applications without an account to that which they have now, as a restart does: it pays from the next tick on.
    fn move_work_to_accounts(&mut self) {
        if self.ruling_market().is_none() {
            return;
        }
        let scheduler = &self.cluster.scheduler;
        let Some(without) = scheduler.group(WITHOUT_ACCOUNT) else { return };
        let is_without = |app: &AppId| scheduler.group_of(*app) == Some(without);
        let apps: Vec<_> = scheduler.apps_by_submission().into_iter().filter(is_without).collect();
        for app in apps {
            let group = self.group_of_app(app);
            // The app is known and the group open.
            let _: Result<_, _> = self.cluster.scheduler.move_app(app, group);
        }
    }

    /// Charges the interval that ends and opens the next one, if the market rules.
    pub(super) fn tick_market(&mut self, now: Now) {
        self.meter_held_slots(now);
        self.end_passed_orders(now);
        let orders = self.open_orders(now);
        let interval_ms = self.alloc_interval_ms();
        let Some(market) = self.market.as_mut().filter(|market| market.accounts.is_ruling()) else { return };
        self.cluster.scheduler.refresh_wants();
        let slots = sold_slots(&self.cluster.scheduler);
        let (usage, groups) = queue_usage(market, &self.cluster.scheduler, &self.applications);
        let (costs, standings) = (&market.costs, &mut market.standings);
        let tick = market.accounts.tick_with_orders(&usage, slots, interval_ms, now, |bids, laid| {
            *standings = raise_bids(&orders, bids, &OrderCharges { costs, laid, interval_ms }, now.wall_ms);
        });
        let is_charged = tick.is_charged();
        // Both are sorted by name, and the market returns only queues of `usage`.
        let mut groups = usage.iter().zip(groups);
        let allocations: Vec<_> = tick
            .intervals()
            .filter_map(|(queue, interval)| {
                let (_, group) = groups.find(|(queue_use, _)| queue_use.queue == *queue)?;
                Some((group, allocation(interval)))
            })
            .collect();
        self.cluster.scheduler.set_allocations(&allocations);
        let meter = market.accounts.meter();
        let charged = market.costs.charge(&tick, meter);
        market.holders.retain(|_, holder| meter.may_charge(*holder));
        self.applications.charge(&tick);
        let number = tick.number;
        self.outbox.record(Fact::Market(tick.into_fact()));
        if let Some(continued) = market.accounts.continued(self.jobs.finished.pending_kill_jobs()) {
            self.outbox.record(Fact::Market(continued));
        }
        if !charged.is_empty() {
            self.outbox.record(Fact::JobsCharged { tick: number, jobs: charged });
        }
        if std::mem::take(&mut market.budgets_changed) || is_charged {
            self.outbox.request(Effect::WriteBudgetImage);
        }
    }

    pub(super) fn handle_market_request(&mut self, mut request: ServletRequest, now: Now) -> (Reply, Wait) {
        self.resolve_job_queue(&mut request);
        let Some(market) = &mut self.market else { return (Reply::Done, Wait::Nothing) };
        let (submissions, jobs, scheduler) = (&self.submissions, &self.jobs, &self.cluster.scheduler);
        let is_ruling = market.accounts.is_ruling();
        let busy = |queue: &QueueName| {
            let queue = queue.as_str();
            // Jobs of other policies owe the account nothing.
            is_ruling && (owes_slots(queue, jobs, scheduler) || submissions.has_any_for(queue))
        };
        let is_time = request.query.kind == OperationKind::Time;
        let handled = market.accounts.handle_request(request, now, busy);
        market.budgets_changed |= handled.facts.iter().any(is_money);
        // No tick comes that would write them.
        if !is_ruling && std::mem::take(&mut market.budgets_changed) {
            self.outbox.request(Effect::WriteBudgetImage);
        }
        self.apply_queue_changes(handled.changes);
        for fact in handled.facts {
            self.outbox.record(Fact::Market(fact));
        }
        let answer = handled.answer.and_then(|answer| self.perform_order(answer, now));
        let answer = answer.and_then(|answer| self.perform_drain(answer, now));
        let answer = answer.and_then(|answer| self.perform_pause(answer, now));
        // The answer may show durable state only. The time shows the start of this run and a clock: who signs by it need not
        // wait for a store that cannot write.
        let wait = if is_time { Wait::For(self.run.fact) } else { Wait::All };
        (Reply::Market(answer.map(|answer| self.answer_from_cluster(answer, now))), wait)
    }
}

/// Whether an account pays for a job, one in its cleanup included, or for slots that attempts of completed jobs hold.
fn owes_slots(queue: &str, jobs: &JobTable, scheduler: &Scheduler) -> bool {
    let pays_for = |id: &JobId| jobs.get(*id).is_some_and(|job| job.spec.payer() == Some(queue));
    scheduler.group(queue).is_some_and(|group| scheduler.has_apps(group))
        || jobs.live.by_queue().get(queue).is_some_and(|live| live.iter().any(pays_for))
}

fn allocation(interval: &Interval) -> Allocation {
    let Interval { share, quota, .. } = *interval;
    Allocation { quota, rate_units: share.rate().units() }
}

fn is_money(fact: &MarketFact) -> bool {
    matches!(fact, MarketFact::Account { .. } | MarketFact::AccountRemoved { .. })
}

impl Engine {
    /// Adds the time of slots that were kept for a job, unused, and are no more since this step to its counters (1.2.1
    /// `JobInProgress.unreserveTaskTracker`). A job that ends charges its own itself.
    pub(super) fn charge_reservations(&mut self, now: Now) {
        for ended in self.cluster.scheduler.take_ended_reservations() {
            if let Some(job) = self.jobs.by_app_mut(ended.app) {
                job.add_fallow_slot_time(&ended, now);
            }
        }
    }
}

/// Most jobs of a queue that cannot use every tracker and that a round considers beyond those that fill the quota.
const JOBS_IN_RESERVE: usize = 16;

impl Engine {
    /// All queues, by name, without their jobs.
    pub(super) fn queues_in_a_round(&self) -> Vec<QueueInRound<'_>> {
        let scheduler = &self.cluster.scheduler;
        let groups = scheduler.group_usages().map(|usage| QueueInRound {
            name: usage.name,
            group: usage.id,
            claim: scheduler.claim(usage.id),
            retained: scheduler.retained(usage.id),
            jobs: BTreeSet::new(),
            setups: PerKind::default(),
        });
        groups.collect()
    }

    /// Adds the unfinished jobs of each queue.
    pub(super) fn add_jobs(&self, queues: &mut [QueueInRound<'_>]) {
        let mut jobs: BTreeMap<GroupId, BTreeSet<_>> = BTreeMap::new();
        for job in self.jobs.live.by_queue().values().flatten().filter_map(|id| self.jobs.get(*id)) {
            // A job is submitted to one queue and may be ordered in another group.
            if let Some(group) = self.cluster.scheduler.group_of(job.app) {
                jobs.entry(group).or_default().insert(job.id);
            }
        }
        for queue in queues {
            queue.jobs = jobs.remove(&queue.group).unwrap_or_default();
        }
    }

    /// Trackers that accept tasks, each with its incoming slots.
    pub(super) fn incoming_slots(&self, now: Now) -> PerKind<IncomingSlots> {
        let mut incoming: PerKind<IncomingSlots> = PerKind::default();
        for tracker in self.trackers.iter().filter(|tracker| self.can_take_work(tracker, now)) {
            let slots = self.cluster.scheduler.incoming(tracker.id);
            for kind in Kind::ALL.into_iter().filter(|kind| tracker.slots[*kind] > 0) {
                incoming[kind].trackers.insert(tracker.id);
                if slots[kind] > 0 {
                    incoming[kind].slots.insert(tracker.id, slots[kind]);
                }
            }
        }
        incoming
    }

    /// Reserves incoming slots of either kind for setups of jobs in queues with room; a setup without one needs a slot
    /// of the kind in which its queue has room.
    pub(super) fn place_setups(&self, queues: &mut [QueueInRound<'_>], incoming: &mut PerKind<IncomingSlots>) {
        for queue in queues {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| queue.room(*kind) > 0) else { continue };
            let setups = queue.jobs.iter().filter(|id| self.cluster.housekeeping.setup.contains(id));
            for job in setups.filter_map(|id| self.jobs.get(*id)).take(queue.room(kind) as usize) {
                let serves = |kind: Kind, incoming: &mut IncomingSlots| {
                    incoming.take(|tracker| job.can_use(kind, tracker, &self.cluster.nodes))
                };
                if !serves(Kind::Reduce, &mut incoming.reduce) && !serves(Kind::Map, &mut incoming.map) {
                    queue.setups[kind].insert(job.app);
                }
            }
        }
    }

    /// The queue as one that is short of slots; none without room or waiting tasks.
    pub(super) fn short_group(&self, queue: &QueueInRound<'_>, kind: Kind) -> Option<UnderQuotaGroup> {
        let need = queue.room(kind);
        if need == 0 || (queue.setups[kind].is_empty() && self.cluster.scheduler.waiting(queue.group)[kind] == 0) {
            return None;
        }
        let mut waiting = Vec::new();
        let (mut wanted, mut wanted_anywhere, mut reserve) = (0_u32, 0_u32, 0);
        for job in queue.jobs.iter().filter_map(|id| self.jobs.get(*id)) {
            let is_setup = queue.setups[kind].contains(&job.app);
            let count = if is_setup { 1 } else { job.runnable(kind) };
            let is_constrained = job.is_constrained(kind);
            if count == 0 || (is_constrained && reserve >= JOBS_IN_RESERVE) {
                continue;
            }
            // A setup takes one slot.
            let slots_per_task = if is_setup { 1 } else { job.slots_per_task(kind) };
            let waits = WaitingApp { app: job.app, tasks: count, slots_per_task, is_constrained };
            let slots = waits.slots();
            waiting.push(waits);
            reserve += usize::from(wanted >= need);
            wanted = wanted.saturating_add(slots);
            wanted_anywhere = wanted_anywhere.saturating_add(if is_constrained { 0 } else { slots });
            // These can use any slot, so later jobs are not needed.
            if wanted_anywhere >= need {
                break;
            }
        }
        (!waiting.is_empty()).then_some(UnderQuotaGroup { need, waiting })
    }
}
