//! What happens in the market, as rows.

use rusqlite::Transaction;

use crate::market::MarketFact;

/// Records one fact of the market.
pub(super) fn record(_transaction: &Transaction<'_>, fact: &MarketFact) -> rusqlite::Result<()> {
    match *fact {}
}
