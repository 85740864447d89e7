//! The tick: charges the interval that closes and opens the next.
//!
//! Accounts and uses are walked side by side in the order of names, so a tick looks nothing up.

use crate::model::{Now, PerKind, QueueName};

use super::account::Account;
use super::allocation::{allocate, total};
use super::interval::Interval;
use super::open_bids::OpenBids;
use super::state::Market;
use super::tick::{QueueTick, QueueUse, Tick};

// === impl Market ===

impl Market {
    /// Charges each queue for the interval that closes, `min(running, quota)` of each kind at the rate that opened it,
    /// then opens the next interval from the present bids and balances. `slots` are the cluster's.
    ///
    /// A queue is active if it has a running or a waiting task. A late tick counts once.
    pub fn tick(&mut self, usage: &[QueueUse], slots: PerKind<u32>, now: Now) -> Tick {
        self.tick_with_orders(usage, slots, now, |_| {})
    }

    /// The same, after `raise` has raised bids for orders.
    pub fn tick_with_orders(
        &mut self,
        usage: &[QueueUse],
        slots: PerKind<u32>,
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
        for (queue, account, QueueUse { running, pending, .. }) in self.in_use(usage) {
            let (charge, balance) = account.charge(*running);
            let owed = account.owed(*running);
            violations.check(charge == owed, || {
                format!("queue {queue} has {}, and its interval costs {}", account.balance(), owed.amount())
            });
            ledger.count_charge(charge.amount(), &mut violations);
            let is_active = is_active(*running, *pending);
            if is_active {
                bids.push(queue, charge, account.to_bid(balance, *running));
            }
            // Share and quota follow with the allocation.
            let interval = Interval { used: total(charge.used), pending: *pending, ..Interval::default() };
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
    pub fn open_bids(&self, usage: &[QueueUse], slots: PerKind<u32>) -> OpenBids<'_> {
        let mut bids = OpenBids::new(slots);
        for (queue, account, QueueUse { running, pending, .. }) in self.in_use(usage) {
            if is_active(*running, *pending) {
                let (charge, balance) = account.charge(*running);
                bids.push(queue, charge, account.to_bid(balance, *running));
            }
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

fn is_active(running: PerKind<u32>, pending: u64) -> bool {
    total(running) > 0 || pending > 0
}
