//! A queue's account: what it has, what it bids, what it was granted and what the world was told of it.

use serde::{Deserialize, Serialize};

use crate::model::PerKind;

use super::allocation::{Bid, Carry, cost, cut_to_affordable, total, within};
use super::answer::QueueInfo;
use super::credits::Credits;
use super::queue_name::QueueName;
use super::share::Share;
use super::turn::Charge;

/// The interval that is open for an active queue, as its tick opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The queue's part of the cluster, and in it the rate that the interval will be charged at; 0 when not funded.
    pub share: Share,
    /// The slots it pays for, if it uses them.
    pub quota: PerKind<u32>,
    /// What rounding left over.
    pub carry: PerKind<Carry>,
    /// Slots that were used within the quota when the interval before ended.
    pub used: u64,
    /// Tasks that waited then.
    pub pending: u64,
}

/// What `info`, `infos` and `price` show: the state at the last tick.
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
    /// Tasks waiting.
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

    /// The most that the open interval can cost: money that cannot be taken out before the next tick.
    pub fn committed(&self) -> Credits {
        self.interval.as_ref().map_or(Credits::ZERO, |interval| cost(interval.share.rate(), interval.quota))
    }

    /// What the open interval costs, given the running attempts at its end: within the quota of each kind, at the
    /// rate that opened it; and the balance after that.
    pub(super) fn charge(&self, running: PerKind<u32>) -> (Charge, Credits) {
        let nothing = (Charge::default(), self.balance);
        let Some(interval) = &self.interval else { return nothing };
        let rate = interval.share.rate();
        let used = within(running, interval.quota);
        if rate == Credits::ZERO || total(used) == 0 {
            return nothing;
        }
        let charge = Charge { rate, used };
        if let Some(balance) = self.balance.checked_sub(charge.amount()).filter(|balance| *balance >= Credits::ZERO) {
            return (charge, balance);
        }
        // Withdrawals stop at what is committed, so nothing is cut here unless stored state was tampered with.
        let affordable = (self.balance.units() / rate.units()).max(0);
        let charge = Charge { rate, used: cut_to_affordable(used, used, affordable) };
        (charge, Credits::from_units(self.balance.units() - charge.amount().units()))
    }

    /// What it brings to the next allocation, with the balance that the charge leaves.
    pub(super) fn to_bid(&self, balance: Credits, running: PerKind<u32>) -> Bid {
        let carry = self.interval.as_ref().map(|interval| interval.carry).unwrap_or_default();
        Bid { balance, rate: self.bid, running, carry }
    }

    pub(super) fn set(&mut self, balance: Credits, bid: Credits) {
        self.balance = balance;
        self.bid = bid;
    }

    /// Closes the open interval, opens the next and publishes.
    pub(super) fn turn(&mut self, balance: Credits, interval: Option<Interval>) {
        self.balance = balance;
        self.interval = interval;
        let Interval { share, used, pending, .. } = interval.unwrap_or_default();
        self.published = Published { budget: balance, rate: share.rate(), share, used, pending };
    }

    /// As `info` and `infos` show it.
    pub(super) fn published_info(&self, queue: &QueueName) -> QueueInfo {
        let Published { budget, rate, share, used, pending } = self.published;
        QueueInfo { queue: queue.clone(), budget, spending: rate, share, used, pending }
    }

    /// As changes answer it: balance and bid of now, the rest of the last tick.
    pub(super) fn live_info(&self, queue: &QueueName) -> QueueInfo {
        QueueInfo { budget: self.balance, spending: self.bid, ..self.published_info(queue) }
    }
}
