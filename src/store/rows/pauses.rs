//! Rows of held jobs and paused queues.

use rusqlite::{Transaction, params};

use crate::engine::{Pause, PauseTarget};

/// A job is held, or a queue paused.
pub(super) fn add(transaction: &Transaction<'_>, pause: &Pause) -> rusqlite::Result<()> {
    let Pause { target, user, since_ms } = pause;
    let (kind, name) = columns(target);
    transaction
        .prepare_cached("INSERT OR REPLACE INTO pause (kind, name, user, since_ms) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![kind, name, user, since_ms])
        .map(drop)
}

pub(super) fn remove(transaction: &Transaction<'_>, target: &PauseTarget) -> rusqlite::Result<()> {
    let (kind, name) = columns(target);
    transaction
        .prepare_cached("DELETE FROM pause WHERE kind = ?1 AND name = ?2")?
        .execute(params![kind, name])
        .map(drop)
}

fn columns(target: &PauseTarget) -> (&'static str, String) {
    match target {
        PauseTarget::Job(job) => ("job", job.to_string()),
        PauseTarget::Queue(queue) => ("queue", queue.to_string()),
    }
}
