//! Deletes old ticks: of those older than a day one a minute stays, of those older than thirty days one an hour.
//!
//! The last tick of each minute or hour stays; the newest tick is never deleted: a start needs it.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};

use super::fault_point::FaultPoint;
use super::schema::{meta, set_meta};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// An age, and how many ticks stay beyond it.
struct Age {
    /// Key in `meta` of the last tick pruned by this rule.
    done: &'static str,
    /// Measured from the last tick.
    older_than_ms: i64,
    /// One tick stays of each span of this length.
    one_each_ms: i64,
}

const AGES: [Age; 2] = [
    Age { done: "ticks_by_minute", older_than_ms: DAY_MS, one_each_ms: MINUTE_MS },
    Age { done: "ticks_by_hour", older_than_ms: 30 * DAY_MS, one_each_ms: HOUR_MS },
];

/// Reads at most `limit_rows` ticks of each age. Returns whether there may be more to delete.
pub(super) fn prune_ticks(database: &mut Connection, limit_rows: usize) -> rusqlite::Result<bool> {
    let mut has_more = false;
    for age in &AGES {
        has_more |= prune_age(database, age, limit_rows)?;
    }
    Ok(has_more)
}

fn prune_age(database: &mut Connection, age: &Age, limit_rows: usize) -> rusqlite::Result<bool> {
    let newest = "SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1";
    let newest: Option<i64> = database.prepare_cached(newest)?.query_row([], |row| row.get(0)).optional()?;
    let Some(newest_ms) = newest else { return Ok(false) };
    let done: i64 = meta(database, age.done)?.unwrap_or(0);
    let ticks = ticks(database, done, limit_rows)?;
    let old: Vec<(i64, i64)> =
        ticks.iter().copied().take_while(|(_, wall_ms)| *wall_ms < newest_ms - age.older_than_ms).collect();
    // The last one read is read again, to compare it with the one after it.
    let Some((last, _)) = old.last().copied().filter(|(last, _)| *last > done) else { return Ok(false) };
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for pair in old.windows(2) {
        let of = |at: usize| pair[at].1.div_euclid(age.one_each_ms);
        if of(0) == of(1) {
            transaction.prepare_cached("DELETE FROM tick WHERE number = ?1")?.execute([pair[0].0])?;
            FaultPoint::PruneDeleted.pass();
        }
    }
    set_meta(&transaction, age.done, last)?;
    FaultPoint::PruneWritten.pass();
    transaction.commit()?;
    FaultPoint::PruneDone.pass();
    Ok(old.len() == limit_rows)
}

/// Number and time of at most `limit_rows` ticks from this number on.
fn ticks(database: &Connection, from: i64, limit_rows: usize) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut statement =
        database.prepare_cached("SELECT number, wall_ms FROM tick WHERE number >= ?1 ORDER BY number LIMIT ?2")?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    statement.query_map([from, limit_rows as i64], read)?.collect()
}

#[cfg(test)]
#[path = "tests/tick_pruning.rs"]
mod tests;
