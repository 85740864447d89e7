//! The tick: charges the interval that ends, opens the next.
//!
//! The work is that of the active and the changed queues; idle ones cost nothing.

use super::account::Interval;
use super::allocation::{Bid, allocate, total};
use super::credits::Credits;
use super::fact::MarketFact;
use super::ledger::{LedgerAccount, Reason};
use super::queue_name::QueueName;
use super::share::Share;
use super::state::Market;
use crate::engine::Now;
use crate::scheduler::PerKind;

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

/// What an active queue has until the next tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The queue.
    pub queue: QueueName,
    /// The effective rate: the bid, or 0 when it is not funded.
    pub rate: Credits,
    /// Its part of the cluster.
    pub share: Share,
    /// The slots it has a right to.
    pub quota: PerKind<u32>,
}

/// What a tick has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickOutcome {
    /// What changed; the tick itself is the last.
    pub facts: Vec<MarketFact>,
    /// The active queues, by name; all others have nothing.
    pub allocations: Vec<Allocation>,
    /// The sum of the effective rates.
    pub price: Credits,
}

impl Market {
    /// Charges each queue for the interval that ends, `min(running, quota)` of each kind at the rate that opened it,
    /// then opens the next from the bids and balances as they are now. `slots` are the cluster's.
    ///
    /// A queue is active when something of it runs or waits. One late tick is one tick.
    pub fn tick(&mut self, usage: &[QueueUse], slots: PerKind<u32>, now: Now) -> TickOutcome {
        let mut usage: Vec<&QueueUse> = usage.iter().collect();
        usage.sort_by(|left, right| left.queue.cmp(&right.queue));
        usage.dedup_by(|left, right| left.queue == right.queue);

        let mut facts: Vec<MarketFact> = self.guard.take_unsaved().into_iter().map(MarketFact::Stamp).collect();
        let mut active: Vec<(&QueueUse, u64)> = Vec::with_capacity(usage.len());
        let mut bids: Vec<Bid> = Vec::with_capacity(usage.len());
        for queue_use in usage {
            let used = self.charge(queue_use, now, &mut facts);
            let is_active = total(queue_use.running) > 0 || queue_use.pending > 0;
            if let Some(account) = self.accounts.get(&queue_use.queue).filter(|_| is_active) {
                active.push((queue_use, used));
                bids.push(account.to_bid(queue_use.running));
            }
        }

        let number = self.tick_number() + 1;
        let (price, grants) = allocate(&bids, slots);
        let mut allocations = Vec::with_capacity(active.len());
        for ((queue_use, used), grant) in active.into_iter().zip(grants) {
            let queue = queue_use.queue.clone();
            let interval = Interval::new(&grant, used, queue_use.pending);
            self.record(MarketFact::Allocated { tick: number, queue: queue.clone(), interval }, &mut facts);
            allocations.push(Allocation { queue, rate: grant.share.rate(), share: grant.share, quota: grant.quota });
        }
        let ledger = self.ledger();
        self.record(MarketFact::Tick { number, wall_ms: now.wall_ms, price, ledger }, &mut facts);
        TickOutcome { facts, allocations, price }
    }

    /// Takes what the open interval costs. Returns the slots charged for.
    fn charge(&mut self, queue_use: &QueueUse, now: Now, facts: &mut Vec<MarketFact>) -> u64 {
        let QueueUse { queue, running, .. } = queue_use;
        let Some(account) = self.accounts.get(queue) else { return 0 };
        let charge = account.charge(*running);
        let (amount, bid) = (charge.amount(), account.bid());
        let Some(balance) = account.balance().checked_sub(amount) else { return 0 };
        if amount > Credits::ZERO {
            let reason =
                Reason::Charge { rate: charge.rate, map_slots: charge.used.map, reduce_slots: charge.used.reduce };
            let payer = LedgerAccount::Queue(queue.clone());
            self.record_movement(payer, LedgerAccount::Revenue, amount, reason, now, facts);
            self.record(MarketFact::Account { queue: queue.clone(), balance, rate: bid }, facts);
        }
        total(charge.used)
    }
}
