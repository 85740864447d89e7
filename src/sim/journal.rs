//! The durable state of the simulated daemon.

use crate::engine::{Fact, Restored};
use crate::model::FactNumber;

/// Records the facts that are durable when the daemon crashes. The simulator does not know how: the store implements
/// this by its own rows.
pub trait Journal {
    /// Records durable facts, which follow all those before.
    ///
    /// # Errors
    /// What cannot be kept.
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String>;

    /// Loads the state for the next daemon.
    ///
    /// # Errors
    /// What cannot be read.
    fn reopen(&mut self) -> Result<Restored, String>;
}
