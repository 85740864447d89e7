//! Credits that come from outside: allowances, which a queue gets again and again, and top-ups, which a database of budgets has.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, QueueName};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Credits of each period; above zero.
    pub credits: Credits,
    /// The length of a period, s; at least 1.
    pub every_s: u64,
    /// The balance at which payment stops; the last payment is cut to it.
    pub cap: Option<Credits>,
    /// The administrator who set it.
    pub by: String,
    /// The number of the last period that has passed; 0: none has.
    pub periods: u64,
    /// When the next period ends by the wall clock, epoch ms.
    pub due_ms: i64,
}

/// What an administrator asks for: an allowance without its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowanceTerms {
    pub(crate) credits: Credits,
    pub(crate) every_s: u64,
    pub(crate) cap: Option<Credits>,
}

/// The clocks of this run. Not part of the facts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllowanceClock {
    /// When this run began, ms of the monotonic clock.
    pub(super) started_mono_ms: i64,
    /// The wall clock less the monotonic one, as the stored times have it, ms.
    pub(super) offset_ms: i64,
    /// When the allowances have to be looked at, ms of the monotonic clock.
    pub(super) next_mono_ms: i64,
}

impl Allowance {
    pub(super) fn every_ms(&self) -> i64 {
        i64::try_from(self.every_s.saturating_mul(1_000)).unwrap_or(i64::MAX).max(1)
    }

    /// What it adds to a balance: all of it, or as much as the cap leaves.
    pub(super) fn payment(&self, balance: Credits) -> Credits {
        let cap = self.cap.unwrap_or(Credits::MAX).min(Credits::MAX);
        // Neither is above 10^12 credits.
        let room = Credits::from_units(cap.units() - balance.units());
        self.credits.min(room).max(Credits::ZERO)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopUp {
    /// Names it, for ever.
    pub reference: String,
    /// The queue, as its author wrote that.
    pub queue: String,
    /// Below 0: to be taken out.
    pub amount: Credits,
    pub made_by: String,
    pub note: String,
}

/// A top-up that is in the ledger, or was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenTopUp {
    pub reference: String,
    pub queue: QueueName,
    pub amount: Credits,
    /// The number of its ledger entry; 0 where it was refused, and never pays.
    pub ledger: u64,
}

impl TakenTopUp {
    pub(crate) fn is_refused(&self) -> bool {
        self.ledger == 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopUpAnswer {
    pub reference: String,
    /// The entry, perhaps of an earlier time; or why it is not taken over.
    pub outcome: Result<TakenTopUp, String>,
}
