//! The tick: charges the interval that ends, opens the next.
//!
//! Accounts and uses are walked side by side in the order of names, so a tick looks nothing up.

use serde::{Deserialize, Serialize};

use crate::model::{Now, PerKind};

use super::account::Interval;
use super::allocation::{Bid, allocate, total};
use super::credits::Credits;
use super::fact::MarketFact;
use super::ledger::LedgerTotals;
use super::queue_name::QueueName;
use super::state::Market;
use super::turn::Turn;

/// What a queue does at the moment of a tick. Queues that do nothing may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUse {
    /// The queue.
    pub queue: QueueName,
    /// Its running attempts, without setup and cleanup.
    pub running: PerKind<u32>,
    /// Tasks of its runnable jobs that wait for a slot.
    pub pending: u64,
}

/// All that a tick does, in one piece: no restart sees half of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// Its number; the first is 1.
    pub number: u64,
    /// When, epoch ms.
    pub wall_ms: i64,
    /// The sum of the effective rates.
    pub price: Credits,
    /// The ledger up to here.
    pub ledger: LedgerTotals,
    /// The queues that owe something or are active, by name. All others have no interval from now on.
    pub turns: Vec<Turn>,
}

// === impl Market ===

impl Market {
    /// Charges each queue for the interval that ends, `min(running, quota)` of each kind at the rate that opened it,
    /// then opens the next from the bids and balances as they are now. `slots` are the cluster's.
    ///
    /// A queue is active when something of it runs or waits. One late tick is one tick.
    pub fn tick(&mut self, usage: &[QueueUse], slots: PerKind<u32>, now: Now) -> Tick {
        let mut usage: Vec<&QueueUse> = usage.iter().collect();
        usage.sort_by(|left, right| left.queue.cmp(&right.queue));
        usage.dedup_by(|left, right| left.queue == right.queue);

        let mut ledger = self.ledger();
        let mut turns = Vec::with_capacity(usage.len());
        let mut bids: Vec<Bid> = Vec::with_capacity(usage.len());
        let mut accounts = self.accounts.iter().peekable();
        for QueueUse { queue, running, pending } in usage {
            while accounts.next_if(|(name, _)| *name < queue).is_some() {}
            let Some((queue, account)) = accounts.next_if(|(name, _)| *name == queue) else { continue };
            let (charge, balance) = account.charge(*running);
            ledger.count_charge(charge.amount());
            let is_active = total(*running) > 0 || *pending > 0;
            if is_active {
                bids.push(account.to_bid(balance, *running));
            }
            // Until what is allocated is known.
            let interval = Interval { used: total(charge.used), pending: *pending, ..Interval::default() };
            turns.push(Turn { queue: queue.clone(), charge, balance, interval: is_active.then_some(interval) });
        }

        let (price, grants) = allocate(&bids, slots);
        let intervals = turns.iter_mut().filter_map(|turn| turn.interval.as_mut());
        for (interval, grant) in intervals.zip(grants) {
            (interval.share, interval.quota, interval.carry) = (grant.share, grant.quota, grant.carry);
        }
        let tick = Tick { number: self.tick_number() + 1, wall_ms: now.wall_ms, price, ledger, turns };
        self.turn(&tick);
        tick
    }
}

// === impl Tick ===

impl Tick {
    /// What changed, to be stored.
    pub fn into_fact(self) -> MarketFact {
        MarketFact::Tick(Box::new(self))
    }

    /// The active queues with their new intervals, by name; all others have nothing.
    pub fn intervals(&self) -> impl Iterator<Item = (&QueueName, &Interval)> {
        self.turns.iter().filter_map(|turn| Some((&turn.queue, turn.interval.as_ref()?)))
    }
}
