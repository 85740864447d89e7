//! What a tick does to one queue: what the interval that ends has cost, and the interval that begins.

use serde::{Deserialize, Serialize};

use crate::model::PerKind;

use super::account::Interval;
use super::allocation::cost;
use super::credits::Credits;
use super::ledger::{LedgerAccount, LedgerEntry, Reason};
use super::queue_name::QueueName;
use super::tick::Tick;

/// A queue at a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The queue.
    pub queue: QueueName,
    /// What it pays for the interval that ends.
    pub charge: Charge,
    /// Its balance after that.
    pub balance: Credits,
    /// The interval that begins; none for a queue that neither runs nor wants anything.
    pub interval: Option<Interval>,
}

/// What a queue owes for an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Credits for one slot: the rate in force when the interval was opened.
    pub rate: Credits,
    /// Slots in use at its end, within the quota.
    pub used: PerKind<u32>,
}

// === impl Charge ===

impl Charge {
    /// Rate times slots.
    pub fn amount(&self) -> Credits {
        cost(self.rate, self.used)
    }
}

// === impl Tick ===

impl Tick {
    /// The ledger's rows of this tick: a charge for each queue that owed something.
    pub fn charges(&self) -> impl Iterator<Item = LedgerEntry> {
        let owing = || self.turns.iter().filter(|turn| turn.charge.amount() > Credits::ZERO);
        let first = self.ledger.rows + 1 - owing().count() as u64;
        owing().zip(first..).map(|(turn, number)| {
            let Charge { rate, used } = turn.charge;
            LedgerEntry {
                number,
                wall_ms: self.wall_ms,
                tick: self.number,
                debit: LedgerAccount::Queue(turn.queue.clone()),
                credit: LedgerAccount::Revenue,
                amount: turn.charge.amount(),
                reason: Reason::Charge { rate, map_slots: used.map, reduce_slots: used.reduce },
            }
        })
    }
}
