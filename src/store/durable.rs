//! How far the store has come, and how it fares.

use crate::engine::FactNumber;

/// What the store tells everybody who waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durable {
    /// All facts up to and with this one survive a crash of process and machine.
    pub number: FactNumber,
    /// Whether it can write.
    pub health: Health,
}

/// Whether the store can write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// The last commit succeeded.
    #[default]
    Good,
    /// The last commit failed; it is tried again and again, and nothing is lost or reordered meanwhile.
    Failing {
        /// When the first of the failed tries ended, epoch ms.
        since_ms: i64,
        /// Tries since then.
        tries: u64,
        /// What the last one said.
        text: String,
    },
    /// What came to the store cannot be recorded and trying again does not help: facts out of order. The durable
    /// number stands still for good; only a restart from what is durable helps.
    Broken {
        /// What was wrong.
        text: String,
    },
}

// === impl Health ===

impl Health {
    /// Whether facts become durable.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }
}
