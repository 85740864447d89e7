//! Rows of which trackers were there, and when.

use rusqlite::{Transaction, params};

use crate::engine::Presence;

/// A tracker is there from now on, with these slots.
pub(super) fn come(transaction: &Transaction<'_>, presence: &Presence, at_ms: i64) -> rusqlite::Result<()> {
    let Presence { tracker, host, slots } = presence;
    go(transaction, tracker, at_ms)?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO tracker_presence (tracker, from_ms, until_ms, host, map_slots, reduce_slots)
             VALUES (?1, ?2, NULL, ?3, ?4, ?5)",
        )?
        .execute(params![tracker, at_ms, host, slots.map, slots.reduce])
        .map(drop)
}

/// A tracker is gone, or has other slots from now on.
pub(super) fn go(transaction: &Transaction<'_>, tracker: &str, at_ms: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE tracker_presence SET until_ms = max(?2, from_ms) WHERE tracker = ?1 AND until_ms IS NULL",
        )?
        .execute(params![tracker, at_ms])
        .map(drop)
}
