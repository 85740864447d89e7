//! What outlives the simulated daemon.

use crate::engine::{Fact, Restored};
use crate::model::FactNumber;

/// Where the facts of a run go that are durable when its daemon crashes. The simulator does not know how they are kept:
/// the store implements this by its own rows.
pub trait Journal {
    /// These facts, which follow all those before, are durable.
    ///
    /// # Errors
    /// What cannot be kept.
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String>;

    /// What the next daemon finds.
    ///
    /// # Errors
    /// What cannot be read.
    fn reopen(&mut self) -> Result<Restored, String>;
}
