//! The market's state. One owner, plain data.
//!
//! Invariants: nothing changes but by [`Market::apply`], so the facts that were handed out rebuild the state; no
//! balance is below zero; the balances sum to what was issued less what was charged.

use std::collections::BTreeMap;

use crate::model::Now;

use super::account::Account;
use super::budget_file::{BudgetLine, MAX_QUEUES};
use super::config::MarketConfig;
use super::credits::Credits;
use super::fact::MarketFact;
use super::ledger::{LedgerAccount, LedgerEntry, LedgerTotals, Reason};
use super::queue_name::QueueName;
use super::replay::ReplayGuard;
use super::tick::Tick;

/// Accounts, the ledger's sums, the open intervals and the replay guard.
#[derive(Clone, Debug)]
pub struct Market {
    pub(super) config: MarketConfig,
    pub(super) accounts: BTreeMap<QueueName, Account>,
    pub(super) guard: ReplayGuard,
    ledger: LedgerTotals,
    tick: u64,
    price: Credits,
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
    /// accounts, the last tick, the ledger rows after it and the stamps suffice, in this order.
    pub fn apply(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Account { queue, balance, rate } => {
                let account = self.accounts.entry(queue.clone()).or_insert_with(|| Account::new(*balance, *rate));
                account.set(*balance, *rate);
            }
            MarketFact::AccountRemoved { queue } => {
                self.accounts.remove(queue);
            }
            MarketFact::Ledger(entry) => self.ledger.count(entry),
            MarketFact::Stamp(stamp) => self.guard.restore(stamp),
            MarketFact::Tick(tick) => self.turn(tick),
        }
    }

    /// Charges, opens the new intervals and publishes every queue.
    pub(super) fn turn(&mut self, tick: &Tick) {
        self.tick = tick.number;
        self.price = tick.price;
        self.ledger = tick.ledger;
        let mut turns = tick.turns.iter().peekable();
        for (queue, account) in &mut self.accounts {
            while turns.next_if(|turn| turn.queue < *queue).is_some() {}
            match turns.next_if(|turn| turn.queue == *queue) {
                Some(turn) => account.turn(turn.balance, turn.interval),
                None => account.turn(account.balance(), None),
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
        let number = self.ledger.rows + 1;
        let entry = LedgerEntry { number, wall_ms: now.wall_ms, tick: self.tick, debit, credit, amount, reason };
        self.record(MarketFact::Ledger(entry), facts);
    }
}
