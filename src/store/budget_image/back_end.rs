//! What may stand behind the market's budgets: [`BudgetBackEnd`].

use crate::market::BudgetLine;
use crate::model::FactNumber;

use super::BudgetImageError;

/// A place outside of `state.db` where budgets come from once and are shown from then on.
///
/// It is an image, never the truth: money comes in by [`load`](Self::load) at the very first start and is written as
/// facts; what [`publish`](Self::publish) shows follows the facts and is read by people and other programs only. All
/// calls come from one thread, never the owner's, so they may block.
pub trait BudgetBackEnd: std::fmt::Debug + Send {
    /// The budgets that a cluster begins with. Asked once, at the very first start.
    ///
    /// # Errors
    /// There are none, or not all of them can be understood: the start is refused, nothing is taken in.
    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetImageError>;

    /// Has the back-end show these accounts, all there are, as they stand after a tick (at a stop: after what came
    /// after it, too).
    ///
    /// Called again, later and with accounts that may be newer, until it succeeds, so it must leave the same behind
    /// however often it is called: what is shown of the same tick is replaced, and an earlier tick than the one shown
    /// changes nothing.
    ///
    /// # Errors
    /// Not shown, or perhaps in part; told to the operator, and tried again after a pause.
    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetImageError>;

    /// The daemon stops cleanly; all that was published is shown, up to this fact.
    ///
    /// # Errors
    /// That could not be noted.
    fn stopped(&mut self, _shown: FactNumber) -> Result<(), BudgetImageError> {
        Ok(())
    }
}
