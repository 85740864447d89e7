//! The double-entry ledger: every movement of credits, from where, to where and why.
//!
//! Law: the sum of all balances is what was ever issued less what was ever charged, exactly, at every moment.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, PerPool, QueueName, Violations};

pub(crate) const MOST_NOTE_CHARACTERS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerAccount {
    Queue(QueueName),
    /// The outside world: administrators add credits from it and withdraw credits to it.
    Issued,
    Revenue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The budget came from the budget file at the first start.
    Endowment,
    /// `addBudget`, positive or negative.
    TopUp,
    /// Slots were held over an interval.
    Charge {
        rate: Credits,
        interval_ms: u64,
        slot_ms: PerPool<u64>,
    },
    /// Slots were in use at the end of an interval: a charge of before charges went by time.
    SampledCharge {
        /// Credits for one slot: the rate in force when the interval was opened.
        rate: Credits,
        /// Map slots used within the quota.
        map_slots: u32,
        /// Reduce slots used within the quota.
        reduce_slots: u32,
        /// Slots of containers within what the quotas left to them.
        #[serde(default)]
        container_slots: u32,
    },
    /// The budget file was edited, or one of its amounts was rounded.
    Adjustment,
    /// The queue was removed with this balance.
    Closing,
    Transfer,
    Allowance,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Position in the ledger; the first is 1, none is left out.
    pub number: u64,
    /// When, epoch ms.
    pub wall_ms: i64,
    /// For charges the tick that ended the interval, else the last tick before; 0 is before the first.
    pub tick: u64,
    pub debit: LedgerAccount,
    pub credit: LedgerAccount,
    /// How much; above zero.
    pub amount: Credits,
    pub reason: Reason,
    /// The administrator who moved it, or who set the allowance; empty for charges and for what the system did.
    #[serde(default)]
    pub by: String,
    /// What the administrator said about it, or where it came from; up to 256 characters, none of them a control character.
    #[serde(default)]
    pub note: String,
}

/// A movement of money that has no place in the ledger yet.
#[derive(Clone, Debug)]
pub(in crate::market) struct Movement<'a> {
    pub(crate) debit: LedgerAccount,
    pub(crate) credit: LedgerAccount,
    pub(crate) amount: Credits,
    pub(crate) reason: Reason,
    pub(crate) by: &'a str,
    pub(crate) note: &'a str,
}

/// The note of budgets that a market begins with, wherever they come from.
pub(in crate::market) const OF_FIRST_BUDGETS: &str = "initial budget";
/// The note of movements that an edit of the budget file brings about.
pub(in crate::market) const OF_BUDGET_FILE: &str = "budget file";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerTotals {
    /// Number of entries, which is the number of the last.
    pub rows: u64,
    /// Credits added from outside less those withdrawn.
    pub issued: Credits,
    pub charged: Credits,
}

impl LedgerTotals {
    /// Adds an entry; one that was already added changes nothing.
    pub(super) fn count(&mut self, entry: &LedgerEntry, violations: &mut Violations) {
        if entry.number <= self.rows {
            return;
        }
        self.rows = entry.number;
        let amount = entry.amount;
        match (&entry.debit, &entry.credit) {
            (LedgerAccount::Issued, _) => {
                self.issued = within(self.issued.checked_add(amount), self.issued, violations)
            }
            (_, LedgerAccount::Issued) => {
                self.issued = within(self.issued.checked_sub(amount), self.issued, violations)
            }
            _ => {}
        }
        if entry.credit == LedgerAccount::Revenue {
            self.charged = within(self.charged.checked_add(amount), self.charged, violations);
        }
    }

    /// Adds a charge as the next entry; an amount of 0 adds none.
    pub(super) fn count_charge(&mut self, amount: Credits, violations: &mut Violations) {
        if amount > Credits::ZERO {
            self.rows += 1;
            self.charged = within(self.charged.checked_add(amount), self.charged, violations);
        }
    }

    pub fn expected_balance(&self) -> Credits {
        Credits::from_units(self.issued.units().saturating_sub(self.charged.units()))
    }
}

/// A sum of the ledger, or the one before if it left the range of `i128`.
#[track_caller]
fn within(sum: Option<Credits>, before: Credits, violations: &mut Violations) -> Credits {
    violations.check(sum.is_some(), || format!("a sum of the ledger exceeds its range: it was {before}"));
    sum.unwrap_or(before)
}
