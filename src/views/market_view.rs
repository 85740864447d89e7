//! The market as facts have it, as far as it is shown: the last tick, bids and orders.

use crate::market::{MarketFact, Order};
use crate::model::{Credits, JobId, QueueName};

use super::shared_map::SharedMap;

/// The market.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarketView {
    tick: Option<LastTick>,
    bids: SharedMap<QueueName, Credits>,
    orders: SharedMap<(QueueName, JobId), Order>,
}

/// The last tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastTick {
    /// Its number; the first is 1.
    pub number: u64,
    /// When, epoch ms.
    pub at_ms: i64,
    /// Length of the interval that it opened, ms.
    pub interval_ms: u64,
    /// The price at it.
    pub price: Credits,
}

impl MarketView {
    pub(super) fn apply(&mut self, fact: &MarketFact) {
        match fact {
            MarketFact::Account { queue, rate, .. } => self.bids.insert(queue.clone(), *rate),
            MarketFact::AccountRemoved { queue } => {
                self.bids.remove(queue);
                let of_queue: Vec<_> =
                    self.orders.iter().map(|(key, _)| key).filter(|key| key.0 == *queue).cloned().collect();
                for key in of_queue {
                    self.orders.remove(&key);
                }
            }
            MarketFact::OrderSet { queue, order } => self.orders.insert((queue.clone(), order.job), *order),
            MarketFact::OrderEnded { queue, job, .. } => drop(self.orders.remove(&(queue.clone(), *job))),
            MarketFact::Tick(tick) => {
                let (number, at_ms) = (tick.number, tick.wall_ms);
                self.tick = Some(LastTick { number, at_ms, interval_ms: tick.interval_ms, price: tick.price });
            }
            // Balances are what the owner says last, and the ledger is in `state.db`.
            MarketFact::Ledger(_)
            | MarketFact::Stamp(_)
            | MarketFact::StampsForgotten(_)
            | MarketFact::AllowanceSet { .. }
            | MarketFact::AllowanceEnded { .. }
            | MarketFact::TopUpTaken(_)
            | MarketFact::Metered(_) => {}
        }
    }

    /// The last tick.
    pub fn tick(&self) -> Option<LastTick> {
        self.tick
    }

    /// The rate that a queue's owner has set for the next tick.
    pub fn bid(&self, queue: &str) -> Option<Credits> {
        self.bids.get(queue).copied()
    }

    /// Deadline orders that stand, by queue and job.
    pub fn orders(&self) -> impl Iterator<Item = (&QueueName, &Order)> {
        self.orders.iter().map(|((queue, _), order)| (queue, order))
    }
}
