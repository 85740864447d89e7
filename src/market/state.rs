//! The market's state. One owner, plain data.
//!
//! Invariants: nothing changes but by [`Market::apply`], so the facts that were handed out rebuild the state; no
//! balance is below zero; the balances sum to what was issued less what was charged.

use std::collections::BTreeMap;

use super::account::Account;
use super::budget_file::{BudgetLine, MAX_QUEUES};
use super::config::MarketConfig;
use super::credits::Credits;
use super::fact::MarketFact;
use super::ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Reason};
use super::queue_name::QueueName;
use super::replay::ReplayGuard;
use crate::engine::Now;

/// Accounts, the ledger's sums, the open intervals and the replay guard.
#[derive(Clone, Debug)]
pub struct Market {
    pub(super) config: MarketConfig,
    pub(super) accounts: BTreeMap<QueueName, Account>,
    pub(super) guard: ReplayGuard,
    ledger: LedgerTotals,
    tick: u64,
    price: Credits,
    /// Queues with an open interval.
    active: Vec<QueueName>,
    /// Queues that changed since the last tick, each once.
    changed: Vec<QueueName>,
}

// === impl Market ===

impl Market {
    /// A market without queues, of a server that started at `start_wall_ms`, epoch ms.
    pub fn new(config: MarketConfig, start_wall_ms: i64) -> Self {
        Market {
            config,
            accounts: BTreeMap::new(),
            guard: ReplayGuard::new(start_wall_ms),
            ledger: LedgerTotals::default(),
            tick: 0,
            price: Credits::ZERO,
            active: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// Brings in a budget file. Queues that exist already are left as they are.
    pub fn endow(&mut self, lines: Vec<BudgetLine>, now: Now) -> Vec<MarketFact> {
        let mut facts = Vec::new();
        for BudgetLine { queue, budget, rate, is_budget_rounded, .. } in lines {
            if self.accounts.contains_key(&queue) || self.accounts.len() >= MAX_QUEUES {
                continue;
            }
            // A rounded amount is not what the file says, and the ledger tells.
            let reason = if is_budget_rounded { Reason::Adjustment } else { Reason::Endowment };
            self.record_movement(
                LedgerAccount::Issued,
                LedgerAccount::Queue(queue.clone()),
                budget,
                reason,
                now,
                &mut facts,
            );
            self.record(MarketFact::Account { queue, balance: budget, rate }, &mut facts);
        }
        facts
    }

    /// The names of all queues, in order.
    pub fn queues(&self) -> impl Iterator<Item = &QueueName> {
        self.accounts.keys()
    }

    /// The account of a queue.
    pub fn account(&self, queue: &str) -> Option<&Account> {
        self.accounts.get(queue)
    }

    /// The sum of all balances.
    pub fn total(&self) -> Credits {
        Credits::from_units(self.accounts.values().map(|account| account.balance().units()).sum())
    }

    /// The ledger, in sums. Its [`expected_balance`](LedgerTotals::expected_balance) equals [`total`](Self::total).
    pub fn ledger(&self) -> LedgerTotals {
        self.ledger
    }

    /// The price published at the last tick.
    pub fn price(&self) -> Credits {
        self.price
    }

    /// The number of the last tick; 0 before the first.
    pub fn tick_number(&self) -> u64 {
        self.tick
    }

    /// The content of the budget file, by queue.
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

    /// Takes a fact in: the only way anything changes here, and the way back from stored facts. Of those, the latest
    /// accounts, the `Allocated` of the last tick, that tick, the ledger rows after it and the stamps suffice, in this
    /// order.
    pub fn apply(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Account { queue, balance, rate } => {
                let account = self.accounts.entry(queue.clone()).or_insert_with(|| Account::new(*balance, *rate));
                account.set(*balance, *rate);
                if account.list() {
                    self.changed.push(queue.clone());
                }
            }
            MarketFact::AccountRemoved { queue } => {
                self.accounts.remove(queue);
                self.active.retain(|active| active != queue);
                self.changed.retain(|changed| changed != queue);
            }
            MarketFact::Ledger(entry) => self.ledger.count(entry),
            MarketFact::Stamp(stamp) => self.guard.restore(stamp),
            MarketFact::Allocated { queue, interval, .. } => {
                if let Some(account) = self.accounts.get_mut(queue) {
                    account.prepare(*interval);
                    if account.list() {
                        self.changed.push(queue.clone());
                    }
                }
            }
            MarketFact::Tick { number, price, ledger, .. } => {
                self.tick = *number;
                self.price = *price;
                self.ledger = *ledger;
                self.turn_accounts();
            }
        }
    }

    /// Opens the prepared intervals and publishes every queue that was active, is active or has changed.
    fn turn_accounts(&mut self) {
        for queue in std::mem::take(&mut self.active) {
            if self.accounts.get_mut(&queue).is_some_and(Account::list) {
                self.changed.push(queue);
            }
        }
        for queue in std::mem::take(&mut self.changed) {
            if self.accounts.get_mut(&queue).is_some_and(Account::turn) {
                self.active.push(queue);
            }
        }
    }

    /// Takes a new fact in and hands it out.
    pub(super) fn record(&mut self, fact: MarketFact, facts: &mut Vec<MarketFact>) {
        self.apply(&fact);
        facts.push(fact);
    }

    /// Writes a ledger row; none for nothing.
    pub(super) fn record_movement(
        &mut self,
        debit: LedgerAccount,
        credit: LedgerAccount,
        amount: Credits,
        reason: Reason,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) {
        if amount == Credits::ZERO {
            return;
        }
        let tick = self.tick + u64::from(matches!(reason, Reason::Charge { .. }));
        let number = self.ledger.rows + 1;
        let entry = LedgerEntry { number, wall_ms: now.wall_ms, tick, debit, credit, amount, reason };
        self.record(MarketFact::Ledger(entry), facts);
    }
}
