//! Durable changes of the market.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, QueueName};

use super::income::{Allowance, TakenTopUp};
use super::ledger::LedgerEntry;
use super::metered::Metered;
use super::replay::{ForgottenStamps, Stamp};
use super::tick::Tick;

/// One durable change. The facts of one event are stored together; otherwise a restart could find half a movement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarketFact {
    /// The whole account of a queue that is new or has changed.
    Account {
        queue: QueueName,
        balance: Credits,
        rate: Credits,
    },
    AccountRemoved {
        queue: QueueName,
    },
    /// A movement of money other than a charge; charges are in their tick. The changed account follows as its own fact.
    Ledger(LedgerEntry),
    Stamp(Stamp),
    StampsForgotten(ForgottenStamps),
    OrderSet {
        queue: QueueName,
        order: Order,
    },
    OrderEnded {
        queue: QueueName,
        job: JobId,
        end: OrderEnd,
    },
    /// A queue has an allowance, or a period of it has passed.
    AllowanceSet {
        queue: QueueName,
        allowance: Allowance,
    },
    /// An allowance ends; that of a removed queue ends without this.
    AllowanceEnded {
        queue: QueueName,
    },
    /// The ledger has a top-up that was made outside: its reference moves no money again.
    TopUpTaken(TakenTopUp),
    /// A tick: its charges and the intervals that replace the earlier ones.
    Tick(Box<Tick>),
    Metered(Metered),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueChange {
    Added(QueueName),
    Removed(QueueName),
}

impl Tick {
    pub fn into_fact(self) -> MarketFact {
        MarketFact::Tick(Box::new(self))
    }
}

/// A standing order: as long as it stands, its queue bids the least rate that buys what the job needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub(crate) job: JobId,
    /// When it must be done, epoch ms.
    pub(crate) deadline_ms: i64,
    /// The highest rate that it bids.
    pub(crate) max_rate: Credits,
    /// What the job may cost with it; none: whatever it does.
    pub(crate) max_cost: Option<Credits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderEnd {
    JobOver,
    Passed,
    /// Its owner took it back.
    Unbid,
}
