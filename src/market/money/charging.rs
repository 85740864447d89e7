//! The tick: charges the interval that closes and opens the next.
//!
//! Accounts and uses are walked side by side in the order of names, so a tick looks nothing up.

use crate::model::{Now, PerPool, QueueName};

use super::account::Account;
use super::allocation::{allocate, total};
use super::interval::{Charge, Interval};
use super::open_bids::OpenBids;
use super::state::Market;
use super::tick::{QueueTick, QueueUse, Tick};

// === impl Market ===

impl Market {
    /// Charges each queue for the interval that closes, `min(running, quota)` of each kind and chargeable containers
    /// within what that leaves, at the rate that opened it, then opens the next interval from the present bids and
    /// balances. `slots` are the cluster's, for containers those that no map or reduce slot stands for.
    ///
    /// A queue is active if anything of it runs, is held or waits. A late tick counts once.
    pub fn tick(&mut self, usage: &[QueueUse], slots: PerPool<u32>, now: Now) -> Tick {
        self.tick_with_orders(usage, slots, now, |_| {})
    }

    /// The same, after `raise` has raised bids for orders.
    pub fn tick_with_orders(
        &mut self,
        usage: &[QueueUse],
        slots: PerPool<u32>,
        now: Now,
        raise: impl FnOnce(&mut OpenBids<'_>),
    ) -> Tick {
        let mut usage: Vec<&QueueUse> = usage.iter().collect();
        usage.sort_by(|left, right| left.queue.cmp(&right.queue));
        usage.dedup_by(|left, right| left.queue == right.queue);

        let mut ledger = self.ledger();
        let mut violations = std::mem::take(&mut self.violations);
        let mut queue_ticks = Vec::with_capacity(usage.len());
        let mut bids = OpenBids::new(slots);
        for (queue, account, queue_use) in self.in_use(usage) {
            let (charge, balance) = account.charge(queue_use.chargeable());
            let owed = account.owed(queue_use.chargeable());
            violations.check(charge == owed, || {
                format!("queue {queue} has {}, and its interval costs {}", account.balance(), owed.amount())
            });
            ledger.count_charge(charge.amount(), &mut violations);
            let is_active = queue_use.is_active();
            if !is_active && charge == Charge::default() {
                // Nothing that it waits for could run.
                continue;
            }
            if is_active {
                bids.push(queue, charge, account.to_bid(balance, queue_use));
            }
            // Share and quota follow with the allocation.
            let (used, pending) = (total(charge.used), queue_use.waiting());
            let interval = Interval { used, pending, ..Interval::default() };
            queue_ticks.push(QueueTick {
                queue: queue.clone(),
                charge,
                balance,
                interval: is_active.then_some(interval),
            });
        }

        raise(&mut bids);
        let (price, grants) = allocate(&bids.bids, slots);
        let intervals = queue_ticks.iter_mut().filter_map(|queue_tick| queue_tick.interval.as_mut());
        for ((interval, grant), by_order) in intervals.zip(grants).zip(&bids.by_order) {
            (interval.share, interval.quota, interval.remainder) = (grant.share, grant.quota, grant.remainder);
            interval.by_order = *by_order;
        }
        let tick = Tick { number: self.tick_number() + 1, wall_ms: now.wall_ms, price, ledger, queue_ticks };
        self.apply_tick(&tick);
        tick.check(slots, &mut violations);
        self.check_accounts(&mut violations);
        self.violations = violations;
        tick
    }

    /// The bids that a tick would find, before orders raise any. `usage` is by name.
    pub fn open_bids(&self, usage: &[QueueUse], slots: PerPool<u32>) -> OpenBids<'_> {
        let mut bids = OpenBids::new(slots);
        for (queue, account, queue_use) in self.in_use(usage).filter(|(.., queue_use)| queue_use.is_active()) {
            let (charge, balance) = account.charge(queue_use.chargeable());
            bids.push(queue, charge, account.to_bid(balance, queue_use));
        }
        bids
    }

    /// The accounts that slots are used or wanted for; `usage` is by name.
    fn in_use<'a, 'b>(
        &'a self,
        usage: impl IntoIterator<Item = &'b QueueUse>,
    ) -> impl Iterator<Item = (&'a QueueName, &'a Account, &'b QueueUse)> {
        let mut accounts = self.accounts.iter().peekable();
        usage.into_iter().filter_map(move |queue_use| {
            while accounts.next_if(|(name, _)| **name < queue_use.queue).is_some() {}
            let (queue, account) = accounts.next_if(|(name, _)| **name == queue_use.queue)?;
            Some((queue, account, queue_use))
        })
    }
}
