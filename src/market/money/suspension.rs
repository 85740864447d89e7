//! A market that does not rule: another scheduler assigns the slots. Accounts and operations stay; no tick comes, so
//! nothing is bought and nothing is charged, and price and shares are 0.

use crate::model::{Credits, Now};

use super::fact::MarketFact;
use super::queue_meter::Holding;
use super::state::Market;
use super::tick::Tick;

impl Market {
    /// Whether it assigns the slots: whether rates buy shares, and jobs need signatures.
    pub(crate) fn is_ruling(&self) -> bool {
        self.is_ruling
    }

    /// Begins to rule: the next tick sells slots.
    pub(crate) fn resume(&mut self) {
        self.is_ruling = true;
    }

    /// Begins to count what is held, or continues after a restart: `holdings` are all that hold anything now.
    /// `interval_ms` is the length of an open interval whose tick has not noted it. Returns the fact of what facts say is held
    /// and is not, if there is any.
    pub fn start_meter(&mut self, holdings: Vec<Holding>, interval_ms: u64, now: Now) -> Option<MarketFact> {
        self.meter.start(holdings, interval_ms, now).map(MarketFact::Metered)
    }

    /// Stops ruling. What it has sold ends without a charge, so all balances may be withdrawn; returns the fact of that,
    /// none if nothing was sold.
    pub(crate) fn suspend(&mut self, now: Now) -> Option<MarketFact> {
        self.is_ruling = false;
        self.meter.stop();
        let has_sold = self.accounts.values().any(|account| account.interval().is_some());
        if !has_sold && self.price() == Credits::ZERO {
            return None;
        }
        let tick = Tick {
            number: self.tick_number() + 1,
            wall_ms: now.wall_ms,
            interval_ms: 0,
            price: Credits::ZERO,
            ledger: self.ledger(),
            queue_ticks: Vec::new(),
            laid: Vec::new(),
        };
        self.apply_tick(&tick);
        Some(tick.into_fact())
    }
}
