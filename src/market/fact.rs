//! What changes in the market and must survive.

use serde::{Deserialize, Serialize};

use super::credits::Credits;
use super::ledger::LedgerEntry;
use super::queue_name::QueueName;
use super::replay::Stamp;
use super::tick::Tick;

/// One change. Those of one event are to be stored together, or a restart sees money that moved half of its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarketFact {
    /// A queue's account is new or has changed; this is all of it.
    Account {
        /// The queue.
        queue: QueueName,
        /// Its balance.
        balance: Credits,
        /// Its bid.
        rate: Credits,
    },
    /// A queue is gone.
    AccountRemoved {
        /// The queue.
        queue: QueueName,
    },
    /// Money moved, but for charges: those are in their tick. The account it moved into or out of follows.
    Ledger(LedgerEntry),
    /// A signature was consumed: the last of this consumer, user and key.
    Stamp(Stamp),
    /// A tick: charges and the intervals that it opens, those before are closed.
    Tick(Box<Tick>),
}
