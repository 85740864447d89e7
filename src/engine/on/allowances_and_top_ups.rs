//! Credits that come into accounts: allowances, and top-ups that were found in a database of budgets.

use crate::api::AllowanceStatus;
use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{AuditEntry, Effect, Fact, LogLevel};
use crate::market::{LedgerAccount, LedgerEntry, MarketFact, Reason, TopUp, TopUpAnswer};
use crate::model::Now;

impl Engine {
    /// Takes over each that is not in the ledger. The answers wait until the ledger is durable.
    pub(super) fn on_top_ups_found(&mut self, top_ups: &[TopUp], now: Now) -> (Reply, Wait) {
        let Some(market) = &mut self.market else { return (Reply::TopUps(Vec::new()), Wait::Nothing) };
        let mut answers = Vec::new();
        for top_up in top_ups {
            let mut facts = Vec::new();
            let outcome = market.accounts.take_top_up(top_up, now, &mut facts);
            let entry = AuditEntry::new("sql-top-up", &*top_up.made_by).with("queue", &top_up.queue);
            let entry = entry.with("amount", top_up.amount).with("reference", &top_up.reference);
            match &outcome {
                Err(error) => self.outbox.audit(entry.with("why", error).denied()),
                Ok(_) if facts.is_empty() => {}
                Ok(_) => {
                    market.budgets_changed = true;
                    self.outbox.audit(entry);
                }
            }
            for fact in facts {
                self.outbox.record(Fact::Market(fact));
            }
            let outcome = outcome.map_err(|error| error.to_string());
            answers.push(TopUpAnswer { reference: top_up.reference.clone(), outcome });
        }
        // No tick comes that would write them.
        if !market.accounts.is_ruling() && std::mem::take(&mut market.budgets_changed) {
            self.outbox.request(Effect::WriteBudgetImage);
        }
        (Reply::TopUps(answers), Wait::All)
    }

    /// Moves the times of allowances with a wall clock that was set.
    pub(super) fn follow_wall_clock(&mut self, now: Now) {
        let Some(market) = &mut self.market else { return };
        for fact in market.accounts.follow_wall_clock(now) {
            self.outbox.record(Fact::Market(fact));
        }
    }

    pub(super) fn pay_allowances_when_due(&mut self, now: Now) {
        let Some(market) = &mut self.market else { return };
        let paid = market.accounts.pay_allowances(now);
        for (queue, periods) in paid.skipped {
            let text = format!(
                "the allowance of queue {queue} is not paid for {periods} of the periods that passed while the program was down"
            );
            self.outbox.log_line(LogLevel::Warning, text);
        }
        for fact in paid.facts {
            if let MarketFact::Ledger(entry) = &fact {
                self.outbox.audit(paid_line(entry));
                market.budgets_changed = true;
            }
            self.outbox.record(Fact::Market(fact));
        }
        // No tick comes that would write them.
        if !market.accounts.is_ruling() && std::mem::take(&mut market.budgets_changed) {
            self.outbox.request(Effect::WriteBudgetImage);
        }
    }

    /// When allowances have to be looked at, ms of the monotonic clock; `u64::MAX`: never.
    pub(super) fn next_allowance_mono_ms(&self) -> u64 {
        self.market().map_or(u64::MAX, |market| market.next_allowance_mono_ms())
    }

    /// The allowance of a queue, if it has one.
    pub(super) fn allowance_status(&self, queue: &str, now: Now) -> Option<AllowanceStatus> {
        let market = self.market()?;
        let allowance = market.allowance(queue)?;
        Some(AllowanceStatus {
            credits: allowance.credits,
            every_s: allowance.every_s,
            cap: allowance.cap,
            next_s: market.allowance_next_s(allowance, now),
            by: allowance.by.clone(),
        })
    }
}

fn paid_line(entry: &LedgerEntry) -> AuditEntry {
    debug_assert_eq!(entry.reason, Reason::Allowance, "{entry:?}");
    let queue = match &entry.credit {
        LedgerAccount::Queue(queue) => Some(queue.as_str()),
        LedgerAccount::Issued | LedgerAccount::Revenue => None,
    };
    let line = AuditEntry::new("allowance-paid", &*entry.by).with_some("queue", queue).with("amount", entry.amount);
    line.with("note", &entry.note)
}
