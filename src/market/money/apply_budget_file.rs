//! An edited budget file replaces balances, rates and queues: every difference of a balance is a ledger entry.

use std::collections::BTreeMap;

use crate::model::{Credits, Now, QueueName};

use super::account::Account;
use super::budget_file::{BudgetLine, MAX_QUEUES};
use super::fact::{MarketFact, QueueChange};
use super::ledger::{LedgerAccount, Movement, OF_BUDGET_FILE, Reason};
use super::state::Market;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AppliedBudgetFile {
    pub(crate) facts: Vec<MarketFact>,
    pub(crate) changes: Vec<QueueChange>,
    /// One line for the log about each queue that the file changed.
    pub(crate) messages: Vec<String>,
}

impl Market {
    /// Sets budgets, rates and queues to those of an edited budget file. Credits committed to the open interval stay,
    /// and so does a queue without a line while `is_queue_busy` reports unfinished jobs or applications.
    pub(crate) fn apply_budget_file(
        &mut self,
        lines: Vec<BudgetLine>,
        now: Now,
        is_queue_busy: impl Fn(&QueueName) -> bool,
    ) -> AppliedBudgetFile {
        let mut applied = AppliedBudgetFile::default();
        let mut wanted: BTreeMap<QueueName, BudgetLine> =
            lines.into_iter().map(|line| (line.queue.clone(), line)).collect();
        let queues: Vec<QueueName> = self.accounts.keys().cloned().collect();
        // Removed queues make room for new ones.
        for queue in queues {
            match wanted.remove(&queue) {
                Some(line) => self.adjust(queue, line.budget, line.rate, now, &mut applied),
                None => self.close_missing(queue, now, &is_queue_busy, &mut applied),
            }
        }
        for (queue, line) in wanted {
            if self.accounts.len() >= MAX_QUEUES {
                applied.messages.push(format!("queue {queue} is left out: there are {MAX_QUEUES} queues, the limit"));
                continue;
            }
            let own = LedgerAccount::Queue(queue.clone());
            let movement = of_file(LedgerAccount::Issued, own, line.budget, Reason::Adjustment);
            self.record_movement(movement, now, &mut applied.facts);
            applied.messages.push(format!("queue {queue} is new: budget {}, rate {}", line.budget, line.rate));
            let account = MarketFact::Account { queue: queue.clone(), balance: line.budget, rate: line.rate };
            self.record(account, &mut applied.facts);
            applied.changes.push(QueueChange::Added(queue));
        }
        applied
    }

    /// Sets balance and rate of a queue; the balance stays at or above the committed credits.
    fn adjust(&mut self, queue: QueueName, wanted: Credits, rate: Credits, now: Now, applied: &mut AppliedBudgetFile) {
        let Some(account) = self.accounts.get(&queue) else { return };
        let (before, bid, committed) = (account.balance(), account.bid(), self.committed(queue.as_str()));
        // What is committed for graces may exceed the balance; this withdraws no more than the file does.
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
        self.record_movement(of_file(debit, credit, amount, Reason::Adjustment), now, &mut applied.facts);
        let kept = if after == wanted { "" } else { ", kept for the open interval" };
        applied.messages.push(format!("queue {queue}: budget {before} to {after}{kept}, rate {bid} to {rate}"));
        self.record(MarketFact::Account { queue, balance: after, rate }, &mut applied.facts);
    }

    /// Removes a queue without a line, or sets its balance to the committed credits while it has work or an open charge.
    fn close_missing(
        &mut self,
        queue: QueueName,
        now: Now,
        is_queue_busy: impl Fn(&QueueName) -> bool,
        applied: &mut AppliedBudgetFile,
    ) {
        let committed = self.committed(queue.as_str());
        if is_queue_busy(&queue) || committed > Credits::ZERO {
            applied.messages.push(format!("queue {queue} has no line any more, but unfinished work: it is kept"));
            return self.adjust(queue, Credits::ZERO, Credits::ZERO, now, applied);
        }
        let rest = self.accounts.get(&queue).map_or(Credits::ZERO, Account::balance);
        let own = LedgerAccount::Queue(queue.clone());
        let movement = of_file(own, LedgerAccount::Issued, rest, Reason::Closing);
        self.record_movement(movement, now, &mut applied.facts);
        applied.messages.push(format!("queue {queue} is removed, with its {rest}"));
        self.record(MarketFact::AccountRemoved { queue: queue.clone() }, &mut applied.facts);
        applied.changes.push(QueueChange::Removed(queue));
    }
}

fn of_file(debit: LedgerAccount, credit: LedgerAccount, amount: Credits, reason: Reason) -> Movement<'static> {
    Movement { debit, credit, amount, reason, by: "", note: OF_BUDGET_FILE }
}
