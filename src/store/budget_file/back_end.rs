//! The interface of back-ends for budgets: [`BudgetBackEnd`].

use crate::market::BudgetLine;
use crate::model::FactNumber;

use super::BudgetBackEndError;

/// A place outside of `state.db` that budgets are loaded from once and published to from then on.
///
/// The ledger is authoritative: [`load`](Self::load) credits the budgets at the very first start, as facts;
/// [`publish`](Self::publish) follows the facts, for people and other programs. All calls come from one thread, never
/// the owner's, so they may block.
pub trait BudgetBackEnd: std::fmt::Debug + Send {
    /// Loads the initial budgets. Called once, at the very first start.
    ///
    /// # Errors
    /// No budgets, or invalid ones: the start is refused, nothing is credited.
    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError>;

    /// Publishes all accounts, as they are after a tick (at a stop: after all facts).
    ///
    /// Retried, perhaps with newer accounts, until it succeeds, so it must be idempotent: the same tick replaces what
    /// was published, and an earlier tick changes nothing.
    ///
    /// # Errors
    /// Not published, or perhaps in part; logged, and retried after a pause.
    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError>;

    /// Records that the daemon stopped cleanly, with everything up to this fact published.
    ///
    /// # Errors
    /// It could not be recorded.
    fn stopped(&mut self, _shown: FactNumber) -> Result<(), BudgetBackEndError> {
        Ok(())
    }
}
