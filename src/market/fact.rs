//! What changes in the market and must survive.

use serde::{Deserialize, Serialize};

use super::account::Interval;
use super::credits::Credits;
use super::ledger::{LedgerEntry, LedgerTotals};
use super::queue_name::QueueName;
use super::replay::Stamp;

/// One change. Those of one event are to be stored together, or a restart sees half a tick.
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
    /// Money moved. The account it moved into or out of follows.
    Ledger(LedgerEntry),
    /// A signature was consumed: the last of this consumer, user and key.
    Stamp(Stamp),
    /// What an active queue is granted for the interval that the following [`MarketFact::Tick`] opens.
    Allocated {
        /// The number of that tick.
        tick: u64,
        /// The queue.
        queue: QueueName,
        /// The grant.
        interval: Interval,
    },
    /// A tick is complete: the intervals before it are closed, those allocated with its number are open.
    Tick {
        /// Its number; the first is 1.
        number: u64,
        /// When, epoch ms.
        wall_ms: i64,
        /// The sum of the effective rates.
        price: Credits,
        /// The ledger up to here.
        ledger: LedgerTotals,
    },
}
