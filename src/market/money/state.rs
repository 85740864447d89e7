//! The market's state. One owner, plain data.
//!
//! Invariants: only [`Market::apply`] and [`Market::tick`] change it, so the facts that were returned rebuild the
//! state; no balance is below zero; the balances sum to what was issued less what was charged.

use std::collections::BTreeMap;

use crate::model::{Credits, JobId, Now, PerPool, QueueName, Violations, row_at};

use super::account::Account;
use super::budget_file::{BudgetLine, MAX_QUEUES};
use super::fact::{MarketFact, Order, OrderEnd};
use super::income::{Allowance, AllowanceClock, TakenTopUp};
use super::ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Movement, OF_FIRST_BUDGETS, Reason};
use super::meter::Meter;
use super::metered::{GivenBack, GraceStep, SlotHolder};
use super::queue_meter::Holding;
use super::replay::{MarketConfig, ReplayGuard, ReplayRefusal, Signature, Stamp};
use super::tick::{QueueTick, Tick};

/// Accounts, the ledger's sums, the open intervals and the replay guard.
#[derive(Clone, Debug)]
pub struct Market {
    pub(super) config: MarketConfig,
    pub(super) accounts: BTreeMap<QueueName, Account>,
    pub(super) guard: ReplayGuard,
    /// By job; no queue has an empty map.
    pub(super) orders: BTreeMap<QueueName, BTreeMap<JobId, Order>>,
    /// By queue; each queue exists.
    pub(super) allowances: BTreeMap<QueueName, Allowance>,
    pub(super) allowance_clock: AllowanceClock,
    /// By reference.
    taken_top_ups: BTreeMap<String, TakenTopUp>,
    ledger: LedgerTotals,
    tick: u64,
    price: Credits,
    pub(super) is_ruling: bool,
    pub(super) meter: Meter,
    /// Whether map slots stayed free at a heartbeat of the open interval.
    pub(super) had_free_maps: bool,
    pub(super) violations: Violations,
}

impl Market {
    /// A ruling market without queues, of a server that started at `start_wall_ms`, epoch ms.
    pub fn new(config: MarketConfig, start_wall_ms: i64) -> Self {
        Market {
            config,
            accounts: BTreeMap::new(),
            guard: ReplayGuard::new(start_wall_ms),
            orders: BTreeMap::new(),
            allowances: BTreeMap::new(),
            allowance_clock: AllowanceClock::default(),
            taken_top_ups: BTreeMap::new(),
            ledger: LedgerTotals::default(),
            tick: 0,
            price: Credits::ZERO,
            is_ruling: true,
            meter: Meter::default(),
            had_free_maps: false,
            violations: Violations::default(),
        }
    }

    /// Adds the queues of a budget file with their budgets. Existing queues are left as they are.
    pub fn seed_budgets(&mut self, lines: Vec<BudgetLine>, now: Now) -> Vec<MarketFact> {
        let mut facts = Vec::new();
        for BudgetLine { queue, budget, rate, is_budget_rounded, .. } in lines {
            if self.accounts.contains_key(&queue) || self.accounts.len() >= MAX_QUEUES {
                continue;
            }
            // The ledger shows which amounts differ from the file.
            let reason = if is_budget_rounded { Reason::Adjustment } else { Reason::Endowment };
            let movement = Movement {
                debit: LedgerAccount::Issued,
                credit: LedgerAccount::Queue(queue.clone()),
                amount: budget,
                reason,
                by: "",
                note: OF_FIRST_BUDGETS,
            };
            self.record_movement(movement, now, &mut facts);
            self.record(MarketFact::Account { queue, balance: budget, rate }, &mut facts);
        }
        facts
    }

    pub fn queues(&self) -> impl Iterator<Item = &QueueName> {
        self.accounts.keys()
    }

    pub(in crate::market) fn accounts(&self) -> &BTreeMap<QueueName, Account> {
        &self.accounts
    }

    pub fn account(&self, queue: &str) -> Option<&Account> {
        self.accounts.get(queue)
    }

    pub fn total(&self) -> Credits {
        Credits::from_units(self.accounts.values().map(|account| account.balance().units()).sum())
    }

    /// The ledger, in sums. Its [`expected_balance`](LedgerTotals::expected_balance) equals [`total`](Self::total).
    pub fn ledger(&self) -> LedgerTotals {
        self.ledger
    }

    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// A heartbeat has left map slots free: a setup that waits could have had one.
    pub(crate) fn note_free_maps(&mut self) {
        self.had_free_maps = true;
    }

    /// A queue had too little in the open interval: less is left of what it holds and waits for than it was sold.
    pub(crate) fn note_too_little(&mut self, queue: &str) {
        if let Some(account) = self.accounts.get_mut(queue) {
            account.note_too_little();
        }
    }

    /// The fact that these hold more or fewer slots from now on, which is applied; none where nothing is counted.
    /// `given_back` are containers among them that were never launched, `graces` what preemption does to others. `payer`
    /// says of what has held nothing which queue pays for it, if any, and its place among submissions.
    pub fn hold(
        &mut self,
        changes: &[(SlotHolder, PerPool<i64>)],
        given_back: &[GivenBack],
        graces: &[GraceStep],
        mono_ms: u64,
        payer: impl FnMut(SlotHolder) -> Option<(QueueName, u64)>,
    ) -> Option<MarketFact> {
        let metered = self.meter.changed(changes, given_back, graces, mono_ms, payer)?;
        self.meter.apply(&metered);
        Some(MarketFact::Metered(metered))
    }

    /// The most that a queue may owe at the next tick, for its quota and for graces of preempted containers: credits that cannot be
    /// withdrawn before. What containers hold beyond the quota is paid as far as the balance reaches.
    pub(crate) fn committed(&self, queue: &str) -> Credits {
        let of_quota = self.account(queue).map_or(Credits::ZERO, Account::committed);
        Credits::from_units(of_quota.units().saturating_add(self.meter.most_for_graces(queue).units()))
    }

    /// Whether a queue will pay for what it has held since the last tick.
    pub(crate) fn owes(&self, queue: &QueueName, now: Now) -> bool {
        self.meter.owes(queue, now.mono_ms) && self.account(queue.as_str()).is_some_and(Account::pays)
            || self.meter.place_of(queue).is_some_and(|place| self.meter.has_graces(place))
    }

    /// The fact of what is held in the interval that a tick has just opened and no row says: by graces, and by jobs that are over.
    pub(crate) fn continued(&self, over: impl Iterator<Item = JobId>) -> Option<MarketFact> {
        self.meter.continued(over.map(SlotHolder::Job)).map(MarketFact::Metered)
    }

    /// The fact of what jobs that have just ended still hold; none where nothing is counted.
    pub(crate) fn proof_of_ended(&self, ended: impl Iterator<Item = JobId>, mono_ms: u64) -> Option<MarketFact> {
        self.meter.proof(ended.map(SlotHolder::Job), mono_ms).map(MarketFact::Metered)
    }

    #[cfg(test)]
    pub(in crate::market) fn guard(&self) -> &ReplayGuard {
        &self.guard
    }

    #[cfg(test)]
    pub(in crate::market) fn forget_meter(&mut self) {
        self.meter = Meter::default();
    }

    pub(crate) fn price(&self) -> Credits {
        self.price
    }

    /// The number of the last tick; 0 before the first.
    pub fn tick_number(&self) -> u64 {
        self.tick
    }

    pub fn budget_lines(&self) -> Vec<BudgetLine> {
        let line = |(queue, account): (&QueueName, &Account)| BudgetLine {
            queue: queue.clone(),
            budget: account.balance(),
            rate: account.bid(),
            is_budget_rounded: false,
            is_rate_rounded: false,
        };
        self.accounts.iter().map(line).collect()
    }

    pub(crate) fn taken_top_up(&self, reference: &str) -> Option<&TakenTopUp> {
        self.taken_top_ups.get(reference)
    }

    /// Applies a fact: the only way to change this state, also from stored facts. Of those the latest accounts, the
    /// last tick, the ledger entries after it and the stamps suffice, in this order.
    pub fn apply(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Account { queue, balance, rate } => {
                let account = self.accounts.entry(queue.clone()).or_insert_with(|| Account::new(*balance, *rate));
                account.set(*balance, *rate);
            }
            MarketFact::AccountRemoved { queue } => {
                self.accounts.remove(queue);
                self.orders.remove(queue);
                self.allowances.remove(queue);
            }
            MarketFact::OrderSet { queue, order } => {
                self.orders.entry(queue.clone()).or_default().insert(order.job, *order);
            }
            MarketFact::AllowanceSet { queue, allowance } => {
                self.allowances.insert(queue.clone(), allowance.clone());
            }
            MarketFact::AllowanceEnded { queue } => {
                self.allowances.remove(queue);
            }
            MarketFact::OrderEnded { queue, job, .. } => self.forget_order(queue, *job),
            MarketFact::Ledger(entry) => self.ledger.count(entry, &mut self.violations),
            MarketFact::Stamp(stamp) => self.guard.apply(stamp),
            MarketFact::StampsForgotten(forgotten) => self.guard.forget(forgotten),
            MarketFact::TopUpTaken(taken) => {
                self.taken_top_ups.insert(taken.reference.clone(), taken.clone());
            }
            MarketFact::Tick(tick) => self.apply_tick(tick),
            MarketFact::Metered(metered) => self.meter.apply(metered),
        }
    }

    /// Sets balances and open intervals as the tick says and publishes every queue.
    pub(super) fn apply_tick(&mut self, tick: &Tick) {
        self.tick = tick.number;
        self.price = tick.price;
        self.ledger = tick.ledger;
        let mut queue_ticks = tick.queue_ticks.iter().peekable();
        for (queue, account) in &mut self.accounts {
            match row_at(&mut queue_ticks, |queue_tick| queue_tick.queue.cmp(queue)) {
                Some(QueueTick { balance, interval, in_vain, flickers, .. }) => {
                    account.open_interval(*balance, *interval, (*in_vain, *flickers));
                }
                None => account.open_interval(account.balance(), None, account.was_in_vain()),
            }
        }
        self.meter.open(tick.number, tick.interval_ms, tick.intervals());
    }

    /// When the server started, epoch ms.
    pub(in crate::market) fn start_ms(&self) -> i64 {
        self.guard.start_ms()
    }

    pub(in crate::market) fn check_signature(
        &self,
        signature: &Signature<'_>,
        now: Now,
    ) -> Result<Stamp, ReplayRefusal> {
        self.guard.check(signature, now.wall_ms, &self.config)
    }

    pub(in crate::market) fn use_signature(
        &mut self,
        signature: &Signature<'_>,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) -> Result<(), ReplayRefusal> {
        let stamp = self.check_signature(signature, now)?;
        self.record(MarketFact::Stamp(stamp), facts);
        if let Some(forgotten) = self.guard.next_to_forget(signature, now.wall_ms, &self.config) {
            self.record(MarketFact::StampsForgotten(forgotten), facts);
        }
        Ok(())
    }

    pub(in crate::market) fn record(&mut self, fact: MarketFact, facts: &mut Vec<MarketFact>) {
        self.apply(&fact);
        facts.push(fact);
    }

    /// Records a ledger entry; none if the amount is 0.
    pub(in crate::market) fn record_movement(&mut self, movement: Movement<'_>, now: Now, facts: &mut Vec<MarketFact>) {
        let Movement { debit, credit, amount, reason, by, note } = movement;
        if amount == Credits::ZERO {
            return;
        }
        let (number, tick, wall_ms) = (self.ledger.rows + 1, self.tick, now.wall_ms);
        let (by, note) = (by.to_owned(), note.to_owned());
        let entry = LedgerEntry { number, wall_ms, tick, debit, credit, amount, reason, by, note };
        self.record(MarketFact::Ledger(entry), facts);
    }
}

/// Most orders of one queue: each costs every tick some time.
pub(crate) const MAX_ORDERS_OF_QUEUE: usize = 50;

impl Market {
    pub(crate) fn has_all_orders(&self, queue: &str, job: JobId) -> bool {
        self.orders_of(queue).filter(|order| order.job != job).count() >= MAX_ORDERS_OF_QUEUE
    }

    /// The queues with orders, by name, each with its orders, by job.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (&QueueName, impl Iterator<Item = &Order>)> {
        self.orders.iter().map(|(queue, orders)| (queue, orders.values()))
    }

    pub(crate) fn orders_of(&self, queue: &str) -> impl Iterator<Item = &Order> {
        self.orders.get(queue).into_iter().flat_map(|orders| orders.values())
    }

    pub(crate) fn order(&self, queue: &str, job: JobId) -> Option<&Order> {
        self.orders.get(queue)?.get(&job)
    }

    /// Lets an order stand, instead of an earlier one for its job.
    pub(crate) fn set_order(&mut self, queue: QueueName, order: Order) -> MarketFact {
        let fact = MarketFact::OrderSet { queue, order };
        self.apply(&fact);
        fact
    }

    /// Ends the order for a job of a queue; none: there is none.
    pub(crate) fn end_order(&mut self, queue: &str, job: JobId, end: OrderEnd) -> Option<MarketFact> {
        let (queue, orders) = self.orders.get_key_value(queue)?;
        let fact = orders.contains_key(&job).then(|| MarketFact::OrderEnded { queue: queue.clone(), job, end })?;
        self.apply(&fact);
        Some(fact)
    }

    pub(super) fn forget_order(&mut self, queue: &QueueName, job: JobId) {
        if let Some(orders) = self.orders.get_mut(queue) {
            orders.remove(&job);
            if orders.is_empty() {
                self.orders.remove(queue);
            }
        }
    }

    /// Whether it assigns the slots: whether rates buy shares, and jobs need signatures.
    pub(crate) fn is_ruling(&self) -> bool {
        self.is_ruling
    }

    pub(crate) fn resume(&mut self) {
        self.is_ruling = true;
    }

    /// Begins to count what is held, or continues after a restart: `holdings` are all that hold anything now. `interval_ms` is the length
    /// of an open interval whose tick has not noted it. Returns the fact of what facts say is held and is not, if there is any.
    pub fn start_meter(&mut self, holdings: Vec<Holding>, interval_ms: u64, now: Now) -> Option<MarketFact> {
        self.meter.start(holdings, interval_ms, now).map(MarketFact::Metered)
    }

    /// Stops ruling. What it has sold ends without a charge, so all balances may be withdrawn; returns the fact of that,
    /// none if nothing was sold.
    pub(crate) fn suspend(&mut self, now: Now) -> Option<MarketFact> {
        self.is_ruling = false;
        self.meter.stop();
        let has_sold = self.accounts.values().any(|account| account.interval().is_some());
        if !has_sold && self.price() == Credits::ZERO {
            return None;
        }
        let tick = Tick {
            number: self.tick_number() + 1,
            wall_ms: now.wall_ms,
            interval_ms: 0,
            price: Credits::ZERO,
            ledger: self.ledger(),
            queue_ticks: Vec::new(),
            laid: Vec::new(),
        };
        self.apply_tick(&tick);
        Some(tick.into_fact())
    }
}
