//! An edited budget file takes the place of the accounts: every difference is a row of the ledger.

use std::collections::BTreeMap;

use crate::model::Now;

use super::account::Account;
use super::budget_file::{BudgetLine, MAX_QUEUES};
use super::credits::Credits;
use super::fact::MarketFact;
use super::ledger::{LedgerAccount, Reason};
use super::operate::QueueChange;
use super::queue_name::QueueName;
use super::state::Market;

/// What an edited budget file has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// What changed.
    pub facts: Vec<MarketFact>,
    /// Queues that came or went.
    pub changes: Vec<QueueChange>,
    /// One line for people about each queue that the file changed.
    pub told: Vec<String>,
}

// === impl Market ===

impl Market {
    /// Makes budgets, rates and queues what an edited budget file says. Money that the open interval may still cost
    /// stays, and so does a queue whose line is gone while `queue_busy` says that it has unfinished jobs.
    pub fn take_over(
        &mut self,
        lines: Vec<BudgetLine>,
        now: Now,
        queue_busy: impl Fn(&QueueName) -> bool,
    ) -> TakenOver {
        let mut taken = TakenOver::default();
        let mut wanted: BTreeMap<QueueName, BudgetLine> =
            lines.into_iter().map(|line| (line.queue.clone(), line)).collect();
        let queues: Vec<QueueName> = self.accounts.keys().cloned().collect();
        // Queues that go make room for those that come.
        for queue in queues {
            match wanted.remove(&queue) {
                Some(line) => self.adjust(queue, line.budget, line.rate, now, &mut taken),
                None => self.close_missing(queue, now, &queue_busy, &mut taken),
            }
        }
        for (queue, line) in wanted {
            if self.accounts.len() >= MAX_QUEUES {
                taken.told.push(format!("queue {queue} is left out: there are {MAX_QUEUES} queues, the limit"));
                continue;
            }
            let own = LedgerAccount::Queue(queue.clone());
            let reason = Reason::Adjustment;
            self.record_movement(LedgerAccount::Issued, own, line.budget, reason, now, &mut taken.facts);
            taken.told.push(format!("queue {queue} is new: budget {}, rate {}", line.budget, line.rate));
            let account = MarketFact::Account { queue: queue.clone(), balance: line.budget, rate: line.rate };
            self.record(account, &mut taken.facts);
            taken.changes.push(QueueChange::Opened(queue));
        }
        taken
    }

    /// Sets balance and rate of a queue, the balance to what its open interval may cost at least.
    fn adjust(&mut self, queue: QueueName, wanted: Credits, rate: Credits, now: Now, taken: &mut TakenOver) {
        let Some(account) = self.accounts.get(&queue) else { return };
        let (before, bid, committed) = (account.balance(), account.bid(), account.committed());
        // What is committed is never above the balance, so this takes no more than the file does.
        let after = if wanted < before { wanted.max(committed.min(before)) } else { wanted };
        if (after, rate) == (before, bid) {
            return;
        }
        let (own, issued) = (LedgerAccount::Queue(queue.clone()), LedgerAccount::Issued);
        let moved = Credits::from_units(after.units() - before.units());
        let (debit, credit, amount) = match moved >= Credits::ZERO {
            true => (issued, own, moved),
            false => (own, issued, Credits::from_units(-moved.units())),
        };
        self.record_movement(debit, credit, amount, Reason::Adjustment, now, &mut taken.facts);
        let held = if after == wanted { "" } else { ", kept for the open interval" };
        taken.told.push(format!("queue {queue}: budget {before} to {after}{held}, rate {bid} to {rate}"));
        self.record(MarketFact::Account { queue, balance: after, rate }, &mut taken.facts);
    }

    /// Closes a queue whose line is gone, or leaves it without money while it has something to run or to pay.
    fn close_missing(
        &mut self,
        queue: QueueName,
        now: Now,
        queue_busy: impl Fn(&QueueName) -> bool,
        taken: &mut TakenOver,
    ) {
        let committed = self.accounts.get(&queue).map_or(Credits::ZERO, Account::committed);
        if queue_busy(&queue) || committed > Credits::ZERO {
            taken.told.push(format!("queue {queue} has no line any more, but work: it stays"));
            return self.adjust(queue, Credits::ZERO, Credits::ZERO, now, taken);
        }
        let rest = self.accounts.get(&queue).map_or(Credits::ZERO, Account::balance);
        let own = LedgerAccount::Queue(queue.clone());
        self.record_movement(own, LedgerAccount::Issued, rest, Reason::Closing, now, &mut taken.facts);
        taken.told.push(format!("queue {queue} is removed, with its {rest}"));
        self.record(MarketFact::AccountRemoved { queue: queue.clone() }, &mut taken.facts);
        taken.changes.push(QueueChange::Closed(queue));
    }
}
