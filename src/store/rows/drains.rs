//! Rows of drained workers.

use rusqlite::{Transaction, params};

use crate::engine::Drain;

pub(super) fn drain(transaction: &Transaction<'_>, drain: &Drain) -> rusqlite::Result<()> {
    let Drain { worker, user, since_ms } = drain;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO drained_worker (worker, user, since_ms) VALUES (?1, ?2, ?3)")?
        .execute(params![worker, user, since_ms])
        .map(drop)
}

/// A worker is drained no more.
pub(super) fn resume(transaction: &Transaction<'_>, worker: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM drained_worker WHERE worker = ?1")?.execute(params![worker]).map(drop)
}
