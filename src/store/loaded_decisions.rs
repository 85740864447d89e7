//! Loads the newest decisions.

use crate::engine::Decision;
use crate::model::FactNumber;

use super::decision_pruning::DECISIONS_KEPT;
use super::error::StoreError;
use super::loader::Loader;

/// With their numbers, the oldest first.
pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<(FactNumber, Decision)>, StoreError> {
    let sql = "SELECT number, decision FROM decision ORDER BY number DESC LIMIT ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let rows = loader.rows_with(sql, [i64::try_from(DECISIONS_KEPT).unwrap_or(i64::MAX)], read)?;
    let typed = rows.into_iter().rev().map(|(number, text)| {
        let wrong = |_| loader.wrong("decision.decision", text.clone(), "a decision, JSON");
        Ok((FactNumber(number.cast_unsigned()), serde_json::from_str(&text).map_err(wrong)?))
    });
    typed.collect()
}
