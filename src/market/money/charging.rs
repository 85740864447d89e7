//! The tick: charges the interval that closes and opens the next.
//!
//! Accounts, uses and sums of the meter are walked side by side in the order of names, so a tick looks nothing up.

use crate::model::{Credits, Now, PerKind, PerPool, QueueName};

use super::account::Account;
use super::allocation::{allocate, total, within};
use super::interval::{Charge, Interval};
use super::laid_charge::{LaidCharge, lay};
use super::meter::AT_END;
use super::metered::MeteredUse;
use super::open_bids::OpenBids;
use super::state::Market;
use super::tick::{QueueTick, QueueUse, Tick};

/// A queue that a tick concerns.
struct Concerned<'a> {
    queue: &'a QueueName,
    account: &'a Account,
    queue_use: QueueUse,
    metered: MeteredUse,
}

// === impl Market ===

impl Market {
    /// Charges each queue for the interval that closes, by what the meter has summed and at the rate that opened it, then
    /// opens the next interval from the present bids and balances. `slots` are the cluster's, for containers those that no
    /// map or reduce slot stands for; `interval_ms` is how long the next interval is.
    ///
    /// A queue is active if anything of it runs or is held, or waits and could run. A late tick counts once.
    pub fn tick(&mut self, usage: &[QueueUse], slots: PerPool<u32>, interval_ms: u64, now: Now) -> Tick {
        self.tick_with_orders(usage, slots, interval_ms, now, |_, _| {})
    }

    /// The same, after `raise` has raised bids for orders; it is given what the charges are laid on.
    pub fn tick_with_orders(
        &mut self,
        usage: &[QueueUse],
        slots: PerPool<u32>,
        interval_ms: u64,
        now: Now,
        raise: impl FnOnce(&mut OpenBids<'_>, &[LaidCharge]),
    ) -> Tick {
        let mut violations = std::mem::take(&mut self.violations);
        let mut ledger = self.ledger();
        let mut laid = Vec::new();
        let concerned = self.concerned(usage, now.mono_ms);
        let mut queue_ticks = Vec::with_capacity(concerned.len());
        let mut bids = OpenBids::new(slots);
        for Concerned { queue, account, queue_use, metered } in &concerned {
            let (charge, balance) = account.charge(*metered, self.meter.length_ms());
            violations.check(account.is_whole(&charge, *metered), || {
                format!("queue {queue} has {}, and has held {metered:?}", account.balance())
            });
            ledger.count_charge(charge.amount(), &mut violations);
            self.lay_charge(queue, account, &charge, now.mono_ms, &mut laid);
            let in_vain = account.in_vain(*metered, self.meter.length_ms(), self.left_free);
            let bid = account.to_bid(balance, queue_use, in_vain);
            if bid.is_none() && charge == Charge::default() && in_vain == account.was_in_vain() {
                // Nothing that it waits for could run.
                continue;
            }
            let is_active = bid.is_some();
            if let Some(bid) = bid {
                bids.push(queue, charge, bid);
            }
            // Share and quota follow with the allocation.
            let sold = account.interval().map(|interval| interval.quota).unwrap_or_default();
            let (used, pending) = (total(within(queue_use.held(), sold)), queue_use.waiting());
            let interval = Interval { used, pending, in_vain, ..Interval::default() };
            let interval = is_active.then_some(interval);
            queue_ticks.push(QueueTick { queue: (*queue).clone(), charge, balance, interval, in_vain });
        }

        raise(&mut bids, &laid);
        let (price, grants) = allocate(&bids.bids, slots);
        let intervals = queue_ticks.iter_mut().filter_map(|queue_tick| queue_tick.interval.as_mut());
        for (place, (interval, grant)) in intervals.zip(grants).enumerate() {
            (interval.share, interval.quota, interval.remainder) = (grant.share, grant.quota, grant.remainder);
            (interval.by_order, interval.own_rate) = bids.order_at(place);
            interval.most_paid = Some(bids.affordable_slots(place));
        }
        let (number, wall_ms) = (self.tick_number() + 1, now.wall_ms);
        let tick = Tick { number, wall_ms, interval_ms, price, ledger, queue_ticks, laid };
        self.apply_tick(&tick);
        self.meter.open_at(now);
        self.left_free = PerKind::default();
        tick.check(slots, &mut violations);
        self.check_accounts(&mut violations);
        self.violations = violations;
        tick
    }

    /// The bids that the next tick would find if nothing changed until then, before orders raise any, and what its charges
    /// would be laid on. `usage` is by name.
    pub fn open_bids(&self, usage: &[QueueUse], slots: PerPool<u32>) -> (OpenBids<'_>, Vec<LaidCharge>) {
        let (mut bids, mut laid) = (OpenBids::new(slots), Vec::new());
        for Concerned { queue, account, queue_use, metered } in self.concerned(usage, AT_END) {
            let (charge, balance) = account.charge(metered, self.meter.length_ms());
            self.lay_charge(queue, account, &charge, AT_END, &mut laid);
            let in_vain = account.in_vain(metered, self.meter.length_ms(), self.left_free);
            if let Some(bid) = account.to_bid(balance, &queue_use, in_vain) {
                bids.push(queue, charge, bid);
            }
        }
        (bids, laid)
    }

    /// Lays a charge on the queue's jobs and applications: what the owner's bid would cost on all, and what an order has
    /// added to the rate on its job.
    fn lay_charge(
        &self,
        queue: &QueueName,
        account: &Account,
        charge: &Charge,
        mono_ms: u64,
        laid: &mut Vec<LaidCharge>,
    ) {
        let amount = charge.amount();
        if amount == Credits::ZERO {
            return;
        }
        let ordered = account.interval().and_then(|interval| Some((interval.by_order?, interval.own_rate?)));
        let ordered = ordered.map(|(job, own_rate)| {
            let own = charge.at(own_rate.min(charge.rate));
            (job, Credits::from_units(amount.units() - own.units()))
        });
        let alone = ordered.map_or(0, |(_, more)| more.units());
        let of_all = Credits::from_units(amount.units() - alone);
        lay(of_all, ordered, self.meter.held_by(queue, mono_ms), laid);
    }

    /// The accounts that slots are used or wanted for, or were held for since the last tick.
    fn concerned<'a>(&'a self, usage: &[QueueUse], mono_ms: u64) -> Vec<Concerned<'a>> {
        let mut usage: Vec<&QueueUse> = usage.iter().collect();
        if !usage.is_sorted_by(|left, right| left.queue <= right.queue) {
            usage.sort_by(|left, right| left.queue.cmp(&right.queue));
        }
        usage.dedup_by(|left, right| left.queue == right.queue);
        let (mut usage, mut sums) = (usage.into_iter().peekable(), self.meter.uses(mono_ms).peekable());
        let concerned = self.accounts.iter().filter_map(|(queue, account)| {
            while usage.next_if(|queue_use| queue_use.queue < *queue).is_some() {}
            while sums.next_if(|(name, _)| *name < queue).is_some() {}
            let queue_use = usage.next_if(|queue_use| queue_use.queue == *queue);
            let metered = sums.next_if(|(name, _)| *name == queue).map(|(_, metered)| metered);
            if queue_use.is_none() && metered.is_none() {
                return None;
            }
            let queue_use = queue_use.cloned().unwrap_or_else(|| QueueUse::idle(queue));
            Some(Concerned { queue, account, queue_use, metered: metered.unwrap_or_default() })
        });
        concerned.collect()
    }
}
