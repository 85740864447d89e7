//! Rows of the double-entry ledger: every credit that moves, from where, to where and why.
//!
//! Law: the sum of all balances is what was ever issued less what was ever charged, exactly, at every moment.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, QueueName};

/// Where money can be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerAccount {
    /// A queue's balance.
    Queue(QueueName),
    /// The world outside, from which administrators bring money in and to which they take it out.
    Issued,
    /// What has been charged for slots.
    Revenue,
}

/// Why money moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A budget came in with the budget file at first start.
    Endowment,
    /// `addBudget`, either way.
    TopUp,
    /// Slots were used over an interval.
    Charge {
        /// Credits for one slot: the rate in force when the interval was opened.
        rate: Credits,
        /// Map slots used within the quota.
        map_slots: u32,
        /// Reduce slots used within the quota.
        reduce_slots: u32,
    },
    /// An amount that had to be rounded, or an edit of the budget file.
    Adjustment,
    /// What was left when the queue was removed.
    Closing,
}

/// One movement of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Position in the ledger; the first is 1, none is left out.
    pub number: u64,
    /// When, epoch ms.
    pub wall_ms: i64,
    /// For charges the tick that ended the interval, else the last tick before; 0 is before the first.
    pub tick: u64,
    /// Where the money was taken.
    pub debit: LedgerAccount,
    /// Where it went.
    pub credit: LedgerAccount,
    /// How much; above zero.
    pub amount: Credits,
    /// Why.
    pub reason: Reason,
}

/// The ledger up to a row, in sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerTotals {
    /// How many rows there are: the number of the last.
    pub rows: u64,
    /// What came from outside, less what went back.
    pub issued: Credits,
    /// What was charged.
    pub charged: Credits,
}

// === impl LedgerTotals ===

impl LedgerTotals {
    /// Counts a row in; one that has been counted already changes nothing.
    pub(super) fn count(&mut self, entry: &LedgerEntry) {
        if entry.number <= self.rows {
            return;
        }
        self.rows = entry.number;
        let units = entry.amount.units();
        self.issued = match (&entry.debit, &entry.credit) {
            (LedgerAccount::Issued, _) => Credits::from_units(self.issued.units().saturating_add(units)),
            (_, LedgerAccount::Issued) => Credits::from_units(self.issued.units().saturating_sub(units)),
            _ => self.issued,
        };
        if entry.credit == LedgerAccount::Revenue {
            self.charged = Credits::from_units(self.charged.units().saturating_add(units));
        }
    }

    /// Counts the next row in, a charge; none for nothing.
    pub(super) fn count_charge(&mut self, amount: Credits) {
        if amount > Credits::ZERO {
            self.rows += 1;
            self.charged = Credits::from_units(self.charged.units().saturating_add(amount.units()));
        }
    }

    /// What all balances must sum to.
    pub fn expected_balance(&self) -> Credits {
        Credits::from_units(self.issued.units().saturating_sub(self.charged.units()))
    }
}
