//! The tick: charges the interval that closes and opens the next.
//!
//! Accounts, uses and sums of the meter are walked side by side in the order of names, so a tick looks nothing up.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Credits, Now, PerPool, QueueName, row_at};

use super::account::{Account, PastUse};
use super::allocation::{allocate, total, within};
use super::interval::{Charge, Interval, most_slot_ms};
use super::laid_charge::{LaidCharge, add_parts, lay};
use super::meter::AT_END;
use super::metered::{MeteredUse, SlotHolder};
use super::open_bids::OpenBids;
use super::state::Market;
use super::tick::{QueueTick, QueueUse, Tick};

struct Concerned<'a> {
    queue: &'a QueueName,
    /// Its place in the meter; none: that does not know it, or it has held nothing that it pays for.
    place: Option<u32>,
    account: &'a Account,
    queue_use: Cow<'a, QueueUse>,
    metered: MeteredUse,
}

/// A charge for graces whose containers were granted at one rate, and what each application has held in them.
pub(super) type GraceCharge = (Charge, Vec<(SlotHolder, PerPool<u64>)>);

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
    pub(crate) fn tick_with_orders(
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
        for Concerned { queue, place, account, queue_use, metered } in &concerned {
            let (charge, graces, balance) = self.charges_of(*place, account, *metered, now.mono_ms);
            violations.check(account.is_whole(&charge, *metered), || {
                format!("queue {queue} has {}, and has held {metered:?}", account.balance())
            });
            let graces = self.lay_charges(*place, account, &charge, graces, now.mono_ms, &mut laid);
            graces.iter().chain([&charge]).for_each(|one| ledger.count_charge(one.amount(), &mut violations));
            let past = self.past_use(account, *metered, queue_use);
            let bid = account.to_bid(balance, queue_use, past);
            let PastUse { in_vain, flickers, .. } = past;
            let is_as_before = (in_vain, flickers) == account.was_in_vain();
            if bid.is_none() && charge == Charge::default() && graces.is_empty() && is_as_before {
                // Nothing that it waits for could run.
                continue;
            }
            let interval = bid.is_some().then(|| interval_to_open(account, queue_use, past));
            if let Some(bid) = bid {
                bids.push(queue, bid);
            }
            queue_ticks.push(QueueTick {
                queue: (*queue).clone(),
                charge,
                graces,
                balance,
                interval,
                in_vain,
                flickers,
            });
        }

        raise(&mut bids, &laid);
        let price = sell(&bids, slots, &mut queue_ticks);
        let (number, wall_ms) = (self.tick_number() + 1, now.wall_ms);
        let tick = Tick { number, wall_ms, interval_ms, price, ledger, queue_ticks, laid };
        self.meter.close(now);
        self.apply_tick(&tick);
        self.meter.open_at(now);
        self.had_free_maps = false;
        tick.check(slots, &mut violations);
        self.check_accounts(&mut violations);
        self.violations = violations;
        tick
    }

    /// The bids that the next tick would find if nothing changed until then, before orders raise any, and what its charges
    /// would be laid on. `usage` is by name.
    pub(crate) fn open_bids<'a>(
        &'a self,
        usage: &'a [QueueUse],
        slots: PerPool<u32>,
    ) -> (OpenBids<'a>, Vec<LaidCharge>) {
        let (mut bids, mut laid) = (OpenBids::new(slots), Vec::new());
        for Concerned { queue, place, account, queue_use, metered } in self.concerned(usage, AT_END) {
            let (charge, graces, balance) = self.charges_of(place, account, metered, AT_END);
            self.lay_charges(place, account, &charge, graces, AT_END, &mut laid);
            let past = self.past_use(account, metered, &queue_use);
            if let Some(bid) = account.to_bid(balance, &queue_use, past) {
                bids.push(queue, bid);
            }
        }
        (bids, laid)
    }

    pub(super) fn past_use(&self, account: &Account, metered: MeteredUse, queue_use: &QueueUse) -> PastUse {
        account.past_use(metered, self.meter.length_ms(), queue_use, self.had_free_maps)
    }

    /// What the queue at a place of the meter is charged at its rate, and for the graces of preempted containers at those of
    /// their grants, lowest first; with its balance after all of it.
    pub(super) fn charges_of(
        &self,
        place: Option<u32>,
        account: &Account,
        metered: MeteredUse,
        mono_ms: u64,
    ) -> (Charge, Vec<GraceCharge>, Credits) {
        let interval_ms = self.meter.length_ms();
        let (charge, mut balance) = account.charge(metered, interval_ms);
        let mut by_rate: BTreeMap<Credits, Vec<(SlotHolder, PerPool<u64>)>> = BTreeMap::new();
        if let Some(place) = place.filter(|place| self.meter.has_graces(*place)) {
            for (rate, holder, slot_ms) in self.meter.held_in_graces(place, mono_ms) {
                let held = by_rate.entry(rate).or_default();
                // Containers of one application follow each other.
                match held.last_mut().filter(|(last, _)| *last == holder) {
                    Some((_, sum)) => sum.container = sum.container.saturating_add(slot_ms.container),
                    None => held.push((holder, slot_ms)),
                }
            }
        }
        let mut graces = Vec::new();
        for (rate, held) in by_rate {
            let sum_ms = held.iter().fold(0, |sum: u64, (_, slot_ms)| sum.saturating_add(slot_ms.container));
            let slot_ms = PerPool::new(0, 0, sum_ms.min(most_slot_ms(balance, rate, interval_ms)));
            let charge = Charge { rate, interval_ms, slot_ms };
            if charge.amount() > Credits::ZERO {
                balance = Credits::from_units(balance.units() - charge.amount().units());
                graces.push((charge, held));
            }
        }
        (charge, graces, balance)
    }

    /// Lays charges on the queue's jobs and applications: what the owner's bid would cost on all, what an order has added to the
    /// rate on its job, what graces cost on their applications. Returns the charges for these.
    fn lay_charges(
        &self,
        place: Option<u32>,
        account: &Account,
        charge: &Charge,
        graces: Vec<GraceCharge>,
        mono_ms: u64,
        laid: &mut Vec<LaidCharge>,
    ) -> Vec<Charge> {
        let first = laid.len();
        self.lay_charge(place, account, charge, mono_ms, laid);
        let lay_grace = |(charge, held): GraceCharge| {
            let mut parts = Vec::new();
            lay(charge.amount(), None, held.into_iter(), &mut parts);
            add_parts(laid, first, parts);
            charge
        };
        graces.into_iter().map(lay_grace).collect()
    }

    fn lay_charge(
        &self,
        place: Option<u32>,
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
        lay(of_all, ordered, place.into_iter().flat_map(|place| self.meter.held_by(place, mono_ms)), laid);
    }

    /// The accounts that slots are used or wanted for, or were held for since the last tick.
    fn concerned<'a>(&'a self, usage: &'a [QueueUse], mono_ms: u64) -> Vec<Concerned<'a>> {
        let mut usage: Vec<&QueueUse> = usage.iter().collect();
        if !usage.is_sorted_by(|left, right| left.queue < right.queue) {
            usage.sort_by(|left, right| left.queue.cmp(&right.queue));
            usage.dedup_by(|left, right| left.queue == right.queue);
        }
        let (mut usage, mut sums) = (usage.into_iter().peekable(), self.meter.uses(mono_ms).peekable());
        let concerned = self.accounts.iter().filter_map(|(queue, account)| {
            let queue_use = row_at(&mut usage, |queue_use| queue_use.queue.cmp(queue));
            let metered =
                row_at(&mut sums, |(name, ..)| (*name).cmp(queue)).map(|(_, place, metered)| (place, metered));
            if queue_use.is_none() && metered.is_none() {
                return None;
            }
            let queue_use = queue_use.map_or_else(|| Cow::Owned(QueueUse::idle(queue)), Cow::Borrowed);
            let (place, metered) = metered.unzip();
            Some(Concerned { queue, place, account, queue_use, metered: metered.unwrap_or_default() })
        });
        concerned.collect()
    }
}

/// The interval of an active queue; share and quota follow with the allocation.
fn interval_to_open(account: &Account, queue_use: &QueueUse, past: PastUse) -> Interval {
    let sold = account.interval().map(|interval| interval.quota).unwrap_or_default();
    let (used, pending) = (total(within(queue_use.held(), sold)), queue_use.waiting());
    Interval { used, pending, in_vain: past.in_vain, ..Interval::default() }
}

/// Allocates the slots to the bids, whose queues have the intervals, in the same order; returns the price.
fn sell(bids: &OpenBids<'_>, slots: PerPool<u32>, queue_ticks: &mut [QueueTick]) -> Credits {
    let (price, grants) = allocate(&bids.bids, slots);
    let intervals = queue_ticks.iter_mut().filter_map(|queue_tick| queue_tick.interval.as_mut());
    for (place, (interval, grant)) in intervals.zip(grants).enumerate() {
        (interval.share, interval.quota, interval.remainder) = (grant.share, grant.quota, grant.remainder);
        (interval.by_order, interval.own_rate) = bids.order_at(place);
        interval.most_paid = Some(bids.affordable_slots(place));
    }
    price
}
