//! Whether there is a market, and whether it rules, for other threads: a switch of the scheduler changes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::engine::Engine;
use crate::web::MarketPresence;

/// The presence of the market now. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SharedPresence(Arc<AtomicU8>);

const ABSENT: u8 = 0;
const IDLE: u8 = 1;
const RULING: u8 = 2;
const SIGNING: u8 = 3;

impl SharedPresence {
    #[must_use]
    pub(crate) fn new(presence: MarketPresence) -> Self {
        Self(Arc::new(AtomicU8::new(code(presence))))
    }

    #[must_use]
    pub(crate) fn get(&self) -> MarketPresence {
        match self.0.load(Ordering::Relaxed) {
            ABSENT => MarketPresence::Absent,
            IDLE => MarketPresence::Idle,
            SIGNING => MarketPresence::Signing,
            _ => MarketPresence::Ruling,
        }
    }

    pub(crate) fn set(&self, presence: MarketPresence) {
        self.0.store(code(presence), Ordering::Relaxed);
    }
}

/// What the engine's market is now.
#[must_use]
pub(crate) fn presence_of(engine: &Engine) -> MarketPresence {
    match engine.market() {
        None => MarketPresence::Absent,
        Some(market) if market.is_ruling() => MarketPresence::Ruling,
        Some(_) if engine.needs_signatures() => MarketPresence::Signing,
        Some(_) => MarketPresence::Idle,
    }
}

const fn code(presence: MarketPresence) -> u8 {
    match presence {
        MarketPresence::Absent => ABSENT,
        MarketPresence::Idle => IDLE,
        MarketPresence::Ruling => RULING,
        MarketPresence::Signing => SIGNING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shows_what_was_set() {
        let presence = SharedPresence::new(MarketPresence::Absent);
        let clone = presence.clone();
        for set in [MarketPresence::Idle, MarketPresence::Ruling, MarketPresence::Signing, MarketPresence::Absent] {
            presence.set(set);
            assert_eq!(clone.get(), set);
        }
    }
}
