//! The account of a queue: balance, bid, open interval, and the state published at the last tick.

use crate::model::{Credits, PerKind, Pool};

use super::allocation::{Bid, cost};
use super::interval::{Charge, Interval, most_slot_ms};
use super::metered::{MeteredUse, total_ms};
use super::share::Share;
use super::tick::{MOST_IN_VAIN, QueueUse};

/// The state at the last tick, which `info`, `infos` and `price` show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublishedAccount {
    pub(crate) budget: Credits,
    /// The effective rate.
    pub(crate) rate: Credits,
    pub(crate) share: Share,
    /// Slots used within the quota.
    pub(crate) used: u64,
    pub(crate) pending: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    balance: Credits,
    bid: Credits,
    published: PublishedAccount,
    interval: Option<Interval>,
    /// Intervals before the open one of which it has held next to nothing; kept while none is open.
    in_vain: PerKind<u8>,
    /// Intervals before the open one in which it had too little to run for what it was sold, and held next to nothing of it; a
    /// restart forgets them.
    flickers: u8,
    /// Whether it had too little in the open one.
    had_too_little: bool,
}

/// How an account has used what it was sold, the open interval included, and what it may be sold after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PastUse {
    /// Intervals in which it has held next to nothing of what it was sold though it could have, or could not have used it, since it
    /// last held more.
    pub(super) in_vain: PerKind<u8>,
    /// Intervals in which it had too little to run for what it was sold and held next to nothing of it, since it last held more.
    pub(super) flickers: u8,
    /// The most slots of each pool that it may be sold.
    most: u32,
}

impl Account {
    pub(super) fn new(balance: Credits, bid: Credits) -> Self {
        let published = PublishedAccount { budget: balance, ..PublishedAccount::default() };
        let in_vain = PerKind::default();
        Account { balance, bid, published, interval: None, in_vain, flickers: 0, had_too_little: false }
    }

    /// The balance; never below zero.
    pub fn balance(&self) -> Credits {
        self.balance
    }

    /// The spending rate its owner has set. It counts from the next tick.
    pub fn bid(&self) -> Credits {
        self.bid
    }

    pub(crate) fn published(&self) -> &PublishedAccount {
        &self.published
    }

    /// The open interval; `None` while the queue is idle.
    pub fn interval(&self) -> Option<&Interval> {
        self.interval.as_ref()
    }

    pub(super) fn pays(&self) -> bool {
        self.interval.as_ref().is_some_and(|interval| interval.share.rate() > Credits::ZERO)
    }

    /// The highest cost of the open interval within its quota.
    pub(super) fn committed(&self) -> Credits {
        self.interval.as_ref().map_or(Credits::ZERO, |interval| cost(interval.share.rate(), interval.quota))
    }

    /// The charge for the open interval, given what was held of what it pays for, at the rate that opened it. Returns it with the balance
    /// after it. What containers held beyond the quota is paid as far as the balance reaches: it is not committed.
    pub(super) fn charge(&self, metered: MeteredUse, interval_ms: u64) -> (Charge, Credits) {
        let rate = self.interval.as_ref().map_or(Credits::ZERO, |interval| interval.share.rate());
        let whole = Charge { rate, interval_ms, slot_ms: metered.slot_ms() };
        if rate <= Credits::ZERO || metered.is_nothing() {
            return (Charge::default(), self.balance);
        }
        let (charge, amount) = match whole.amount() {
            amount if amount <= self.balance => (whole, amount),
            _ => {
                let cut = self.cut_to_balance(whole, metered);
                (cut, cut.amount())
            }
        };
        // Never below zero: the charge is cut.
        (charge, Credits::from_units(self.balance.units() - amount.units()))
    }

    /// Withdrawals stop at the committed amount, so more than what is beyond the quota is cut only if stored state was tampered with.
    fn cut_to_balance(&self, whole: Charge, metered: MeteredUse) -> Charge {
        let mut left_ms = most_slot_ms(self.balance, whole.rate, whole.interval_ms);
        let mut slot_ms = metered.slot_ms();
        for pool in Pool::ALL {
            slot_ms[pool] = slot_ms[pool].min(left_ms);
            left_ms -= slot_ms[pool];
        }
        Charge { slot_ms, ..whole }
    }

    /// Whether a charge is for all that was held within the quota.
    pub(super) fn is_whole(&self, charge: &Charge, metered: MeteredUse) -> bool {
        let is_paid = self.interval.as_ref().is_some_and(|interval| interval.share.rate() > Credits::ZERO);
        !is_paid || total_ms(charge.slot_ms) >= total_ms(metered.within_ms)
    }

    /// The same without the open one.
    pub(super) fn was_in_vain(&self) -> (PerKind<u8>, u8) {
        (self.in_vain, self.flickers)
    }

    /// How it has used what it was sold. One that flickers may be sold twice what it has held, until that is all it wants.
    pub(super) fn past_use(
        &self,
        metered: MeteredUse,
        length_ms: u64,
        queue_use: &QueueUse,
        had_free_maps: bool,
    ) -> PastUse {
        let with = |interval: Interval| {
            interval.in_vain_with(self.in_vain, metered.within_ms, length_ms, queue_use.want, had_free_maps)
        };
        let in_vain = self.interval.map_or(self.in_vain, with);
        let want = queue_use.want_after(in_vain, u32::MAX);
        let most = (total_ms(metered.within_ms).saturating_mul(2) / length_ms.max(1)).max(1);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let was_limited = self.flickers >= MOST_IN_VAIN;
        let wants_more = Pool::ALL.into_iter().any(|pool| want[pool] > most);
        let is_used = self.interval.and_then(|interval| interval.is_used(metered.within_ms, length_ms));
        let flickers = match is_used {
            Some(true) if !(was_limited && wants_more) => 0,
            Some(false) => self.flickers.saturating_add(self.had_too_little.into()),
            Some(true) | None => self.flickers,
        };
        PastUse { in_vain, flickers, most: if flickers < MOST_IN_VAIN { u32::MAX } else { most } }
    }

    pub(super) fn note_too_little(&mut self) {
        self.had_too_little = true;
    }

    /// Its bid in the next allocation, with the balance after the charge; none: nothing of it runs, is held or may be sold.
    pub(super) fn to_bid(&self, balance: Credits, queue_use: &QueueUse, past: PastUse) -> Option<Bid> {
        let remainder = self.interval.as_ref().map(|interval| interval.remainder).unwrap_or_default();
        let want = queue_use.want_after(past.in_vain, past.most);
        let &QueueUse { running, containers, .. } = queue_use;
        let bid = Bid { balance, rate: self.bid, running, containers, want, remainder };
        queue_use.is_active(want).then_some(bid)
    }

    pub(super) fn set(&mut self, balance: Credits, bid: Credits) {
        self.balance = balance;
        self.bid = bid;
    }

    pub(super) fn open_interval(
        &mut self,
        balance: Credits,
        interval: Option<Interval>,
        (in_vain, flickers): (PerKind<u8>, u8),
    ) {
        self.balance = balance;
        self.interval = interval;
        (self.in_vain, self.flickers, self.had_too_little) = (in_vain, flickers, false);
        let Interval { share, used, pending, .. } = interval.unwrap_or_default();
        self.published = PublishedAccount { budget: balance, rate: share.rate(), share, used, pending };
    }
}
