//! Pays allowances when their periods have passed.
//!
//! Invariants: periods are numbered and none is paid twice; while the program runs a period takes its time by the
//! monotonic clock. What is stored is when the next period ends by the wall clock: where that clock is set, the stored
//! times move with it, so its steps pay nothing and cost nothing.

use crate::model::{Credits, Now, QueueName};

use super::fact::MarketFact;
use super::income::{Allowance, AllowanceClock, AllowanceTerms};
use super::ledger::{LedgerAccount, Movement, Reason};
use super::state::Market;

/// Most periods that passed while the program was down and are paid, and most of a queue in one step.
pub(crate) const MOST_MISSED_PERIODS: u64 = 100;

/// How often the wall clock is looked at while there are allowances, ms.
const LOOK_MS: i64 = 10_000;

/// A wall clock that is further off than this was set, ms.
const MOST_DRIFT_MS: u64 = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaidAllowances {
    pub(crate) facts: Vec<MarketFact>,
    /// Queues with periods that are never paid: more than [`MOST_MISSED_PERIODS`] passed while the program was down.
    pub(crate) skipped: Vec<(QueueName, u64)>,
}

impl Market {
    pub(crate) fn allowance(&self, queue: &str) -> Option<&Allowance> {
        self.allowances.get(queue)
    }

    /// Time until the next payment of an allowance, s, rounded up.
    pub(crate) fn allowance_next_s(&self, allowance: &Allowance, now: Now) -> u64 {
        let ahead_ms = self.due_mono_ms(allowance).saturating_sub(mono(now));
        u64::try_from(ahead_ms).unwrap_or(0).div_ceil(1_000)
    }

    /// Begins a run: times that are stored count by the wall clock as it is now.
    pub(crate) fn start_allowances(&mut self, now: Now) {
        let (started_mono_ms, offset_ms) = (mono(now), offset(now));
        self.allowance_clock = AllowanceClock { started_mono_ms, offset_ms, next_mono_ms: started_mono_ms };
    }

    /// When [`Self::pay_allowances`] has to be called, ms of the monotonic clock; `u64::MAX`: never.
    pub(crate) fn next_allowance_mono_ms(&self) -> u64 {
        match self.allowances.is_empty() {
            true => u64::MAX,
            false => u64::try_from(self.allowance_clock.next_mono_ms).unwrap_or(0),
        }
    }

    /// Moves the stored times with a wall clock that was set. Cheap where it was not.
    pub(crate) fn follow_wall_clock(&mut self, now: Now) -> Vec<MarketFact> {
        let mut facts = Vec::new();
        let moved_ms = offset(now).saturating_sub(self.allowance_clock.offset_ms);
        if !self.allowances.is_empty() && moved_ms.unsigned_abs() < MOST_DRIFT_MS {
            return facts;
        }
        for (queue, allowance) in self.allowances.clone() {
            let due_ms = allowance.due_ms.saturating_add(moved_ms);
            self.record(MarketFact::AllowanceSet { queue, allowance: Allowance { due_ms, ..allowance } }, &mut facts);
        }
        self.allowance_clock.offset_ms = offset(now);
        facts
    }

    /// Pays the periods that have passed, each once.
    pub(crate) fn pay_allowances(&mut self, now: Now) -> PaidAllowances {
        let mut paid = PaidAllowances { facts: self.follow_wall_clock(now), skipped: Vec::new() };
        if self.allowances.is_empty() || mono(now) < self.allowance_clock.next_mono_ms {
            return paid;
        }
        let is_due = |allowance: &Allowance| {
            let due_mono_ms = self.due_mono_ms(allowance);
            due_mono_ms <= mono(now) || due_mono_ms > mono(now).saturating_add(allowance.every_ms())
        };
        let due = self.allowances.iter().filter(|(_, allowance)| is_due(allowance));
        for (queue, allowance) in due.map(|(queue, allowance)| (queue.clone(), allowance.clone())).collect::<Vec<_>>() {
            self.pay_allowance(queue, allowance, now, &mut paid);
        }
        let due = self.allowances.values().map(|allowance| self.due_mono_ms(allowance)).min();
        self.allowance_clock.next_mono_ms = due.unwrap_or(i64::MAX).min(mono(now).saturating_add(LOOK_MS));
        paid
    }

    /// Gives a queue that exists an allowance in place of the one it may have, whose numbers continue. The first period begins now.
    pub(in crate::market) fn set_allowance(
        &mut self,
        queue: QueueName,
        terms: AllowanceTerms,
        by: &str,
        now: Now,
        facts: &mut Vec<MarketFact>,
    ) {
        facts.extend(self.follow_wall_clock(now));
        let AllowanceTerms { credits, every_s, cap } = terms;
        let periods = self.allowance(queue.as_str()).map_or(0, |before| before.periods);
        let mut allowance = Allowance { credits, every_s, cap, by: by.to_owned(), periods, due_ms: 0 };
        let due_mono_ms = mono(now).saturating_add(allowance.every_ms());
        allowance.due_ms = due_mono_ms.saturating_add(self.allowance_clock.offset_ms);
        let clock = &mut self.allowance_clock;
        clock.next_mono_ms = clock.next_mono_ms.min(due_mono_ms).max(mono(now));
        self.record(MarketFact::AllowanceSet { queue, allowance }, facts);
    }

    fn due_mono_ms(&self, allowance: &Allowance) -> i64 {
        allowance.due_ms.saturating_sub(self.allowance_clock.offset_ms)
    }

    fn pay_allowance(&mut self, queue: QueueName, mut allowance: Allowance, now: Now, paid: &mut PaidAllowances) {
        let AllowanceClock { started_mono_ms, offset_ms, .. } = self.allowance_clock;
        let (every_ms, mut due_mono_ms) = (allowance.every_ms(), self.due_mono_ms(&allowance));
        let longest_mono_ms = mono(now).saturating_add(every_ms);
        if due_mono_ms > longest_mono_ms {
            // The wall clock was set back while the program was down: no queue waits longer than a period.
            allowance.due_ms = longest_mono_ms.saturating_add(offset_ms);
            return self.record(MarketFact::AllowanceSet { queue, allowance }, &mut paid.facts);
        }
        let missed = periods_until(due_mono_ms, started_mono_ms, every_ms);
        let skipped = missed.saturating_sub(MOST_MISSED_PERIODS);
        if skipped > 0 {
            paid.skipped.push((queue.clone(), skipped));
            allowance.periods += skipped;
            due_mono_ms = due_mono_ms.saturating_add(every_ms.saturating_mul(skipped.cast_signed()));
        }
        let account = self.accounts.get(&queue).map(|account| (account.balance(), account.bid()));
        let Some((before, rate)) = account else { return };
        let mut balance = before;
        for _ in 0..periods_until(due_mono_ms, mono(now), every_ms).min(MOST_MISSED_PERIODS) {
            allowance.periods += 1;
            due_mono_ms = due_mono_ms.saturating_add(every_ms);
            let amount = allowance.payment(balance);
            balance = Credits::from_units(balance.units() + amount.units());
            let movement = Movement {
                debit: LedgerAccount::Issued,
                credit: LedgerAccount::Queue(queue.clone()),
                amount,
                reason: Reason::Allowance,
                by: &allowance.by,
                note: &format!("allowance {}", allowance.periods),
            };
            self.record_movement(movement, now, &mut paid.facts);
        }
        if balance != before {
            self.record(MarketFact::Account { queue: queue.clone(), balance, rate }, &mut paid.facts);
        }
        allowance.due_ms = due_mono_ms.saturating_add(offset_ms);
        self.record(MarketFact::AllowanceSet { queue, allowance }, &mut paid.facts);
    }
}

fn mono(now: Now) -> i64 {
    i64::try_from(now.mono_ms).unwrap_or(i64::MAX)
}

fn offset(now: Now) -> i64 {
    now.wall_ms.saturating_sub(mono(now))
}

/// Periods that have ended at a time, the first of them at `due_ms`.
fn periods_until(due_ms: i64, at_ms: i64, every_ms: i64) -> u64 {
    match at_ms.checked_sub(due_ms).and_then(|late_ms| u64::try_from(late_ms).ok()) {
        Some(late_ms) => late_ms / every_ms.unsigned_abs().max(1) + 1,
        None => 0,
    }
}
