//! The account of a queue: balance, bid, open interval, and the state published at the last tick.

use crate::model::{Credits, PerPool};

use super::allocation::{Bid, cost, cut_to_affordable, total, within};
use super::interval::{Charge, Interval};
use super::share::Share;
use super::tick::QueueUse;

/// The state at the last tick, which `info`, `infos` and `price` show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// The balance.
    pub budget: Credits,
    /// The effective rate.
    pub rate: Credits,
    /// The part of the cluster.
    pub share: Share,
    /// Slots used within the quota.
    pub used: u64,
    /// Tasks and containers waiting.
    pub pending: u64,
}

/// A queue's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    balance: Credits,
    bid: Credits,
    published: Published,
    interval: Option<Interval>,
}

// === impl Account ===

impl Account {
    pub(super) fn new(balance: Credits, bid: Credits) -> Self {
        let published = Published { budget: balance, ..Published::default() };
        Account { balance, bid, published, interval: None }
    }

    /// The balance; never below zero.
    pub fn balance(&self) -> Credits {
        self.balance
    }

    /// The spending rate its owner has set. It counts from the next tick.
    pub fn bid(&self) -> Credits {
        self.bid
    }

    /// The state at the last tick.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// The open interval; `None` while the queue is idle.
    pub fn interval(&self) -> Option<&Interval> {
        self.interval.as_ref()
    }

    /// The highest cost of the open interval: credits that cannot be withdrawn before the next tick.
    pub fn committed(&self) -> Credits {
        self.interval.as_ref().map_or(Credits::ZERO, |interval| cost(interval.share.rate(), interval.quota))
    }

    /// The charge for the open interval, given the slots in use at its end: those within the quotas, at the rate that
    /// opened it. Returns it with the balance after it.
    pub(super) fn charge(&self, in_use: PerPool<u32>) -> (Charge, Credits) {
        let charge = self.owed(in_use);
        if charge == Charge::default() {
            return (charge, self.balance);
        }
        let Charge { rate, used } = charge;
        if let Some(balance) = self.balance.checked_sub(charge.amount()).filter(|balance| *balance >= Credits::ZERO) {
            return (charge, balance);
        }
        // Withdrawals stop at the committed amount, so the charge is reduced only if stored state was tampered with.
        let affordable = (self.balance.units() / rate.units()).max(0);
        let charge = Charge { rate, used: cut_to_affordable(used, used.slots(), affordable) };
        (charge, Credits::from_units(self.balance.units() - charge.amount().units()))
    }

    /// What the open interval costs, whether the balance can pay it or not.
    pub(super) fn owed(&self, in_use: PerPool<u32>) -> Charge {
        let Some(interval) = &self.interval else { return Charge::default() };
        let (rate, used) = (interval.share.rate(), within(in_use, interval.quota));
        if rate == Credits::ZERO || total(used) == 0 { Charge::default() } else { Charge { rate, used } }
    }

    /// Its bid in the next allocation, with the balance after the charge.
    pub(super) fn to_bid(&self, balance: Credits, queue_use: &QueueUse) -> Bid {
        let remainder = self.interval.as_ref().map(|interval| interval.remainder).unwrap_or_default();
        let &QueueUse { running, containers, want, .. } = queue_use;
        Bid { balance, rate: self.bid, running, containers, want, remainder }
    }

    pub(super) fn set(&mut self, balance: Credits, bid: Credits) {
        self.balance = balance;
        self.bid = bid;
    }

    /// Replaces the open interval and publishes the new state.
    pub(super) fn open_interval(&mut self, balance: Credits, interval: Option<Interval>) {
        self.balance = balance;
        self.interval = interval;
        let Interval { share, used, pending, .. } = interval.unwrap_or_default();
        self.published = Published { budget: balance, rate: share.rate(), share, used, pending };
    }
}
