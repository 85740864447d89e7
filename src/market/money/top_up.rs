//! Top-ups that were made outside, in a database of budgets: each is taken over once, by its reference.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, QueueName};

/// A top-up as it was found.
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

/// What became of a top-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopUpAnswer {
    pub reference: String,
    /// The entry, perhaps of an earlier time; or why it is not taken over.
    pub outcome: Result<TakenTopUp, String>,
}
