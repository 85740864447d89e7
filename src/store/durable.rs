//! How far the store has come, and how it fares.

use std::sync::Arc;

use crate::model::FactNumber;

/// What the store tells everybody who waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// All facts up to and with this one survive a crash of process and machine.
    pub number: FactNumber,
    /// Whether it can write.
    pub health: Health,
    /// Facts that are counted as durable though no row tells of them.
    pub rowless: Rowless,
}

/// Facts that should have changed a row and found none, since the store was opened. Each is a defect of whoever made it:
/// what it says is lost with the next restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rowless {
    /// How many rows were missed.
    pub updates: u64,
    /// What the first one was about.
    pub first: Option<Arc<str>>,
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

// === impl Rowless ===

impl Rowless {
    /// Counts an update that found no row; `about` names fact and row.
    pub(super) fn note(&mut self, about: impl FnOnce() -> String) {
        self.updates += 1;
        self.first.get_or_insert_with(|| about().into());
    }

    /// Adds those of another transaction; true when they are the first.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let is_first = self.updates == 0 && other.updates > 0;
        self.updates += other.updates;
        self.first = self.first.take().or(other.first);
        is_first
    }

    /// What is wrong, for people; none when nothing is.
    pub fn complaint(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let updates = self.updates;
        Some(format!("facts that found no row to change in state.db: {updates}, the first of them {first}"))
    }
}
