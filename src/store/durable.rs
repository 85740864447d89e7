//! The store's progress and health.

use std::sync::Arc;

use crate::model::FactNumber;

/// What the store publishes after each commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// All facts up to and with this one survive a crash of process and machine.
    pub number: FactNumber,
    /// Whether it can write.
    pub health: Health,
    /// Durable facts that changed no row.
    pub missed_updates: MissedUpdates,
}

/// Facts that should have changed a row and found none, since the store was opened. Each is a defect of its maker, and
/// lost with the next restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissedUpdates {
    /// How many facts.
    pub updates: u64,
    /// Fact and row of the first one.
    pub first: Option<Arc<str>>,
}

/// Whether the store can write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// The last commit succeeded.
    #[default]
    Good,
    /// The last commit failed; it is retried, and nothing is lost or reordered meanwhile.
    Failing {
        /// When the first failed try ended, epoch ms.
        since_ms: i64,
        /// Tries since then.
        tries: u64,
        /// Error of the last one.
        text: String,
    },
    /// Facts came out of order, and a retry cannot help: the durable number stays until a restart.
    Broken {
        /// The error.
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

// === impl MissedUpdates ===

impl MissedUpdates {
    /// Counts an update that found no row; `about` names fact and row.
    pub(super) fn count(&mut self, about: impl FnOnce() -> String) {
        self.updates += 1;
        self.first.get_or_insert_with(|| about().into());
    }

    /// Adds those of another transaction; whether they are the first.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let is_first = self.updates == 0 && other.updates > 0;
        self.updates += other.updates;
        self.first = self.first.take().or(other.first);
        is_first
    }

    /// The error text, if there are any.
    pub fn complaint(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let updates = self.updates;
        Some(format!("facts that found no row to change in state.db: {updates}, the first of them {first}"))
    }
}
