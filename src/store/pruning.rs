//! Deletes old ticks (of those older than a day one a minute stays, of those older than thirty days one an hour), and what a replay
//! of the past no longer needs: when trackers were there, and old bids and orders.
//!
//! The last tick of each minute or hour stays; the newest tick is never deleted: a start needs it. Of the past, what is older than
//! the oldest job goes; bids and orders also after a week, for they may change at every tick. Of each queue the last bid of before
//! stays: it is the one that it began with.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::fault_point::FaultPoint;
use super::options::DAY_MS;
use super::schema::{meta, set_meta};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

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

const WEEK_MS: i64 = 7 * DAY_MS;

/// Deletes at most `limit_rows` rows of each table. Returns whether there may be more to delete.
pub(super) fn prune_past(database: &Connection, limit_rows: usize) -> rusqlite::Result<bool> {
    let at = |sql: &str| database.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).optional();
    let Some(oldest_job_ms) = at("SELECT submit_ms FROM job ORDER BY accept_order LIMIT 1")? else { return Ok(false) };
    let newest_tick_ms = at("SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1")?.unwrap_or(0);
    let before_ms = oldest_job_ms.max(newest_tick_ms.saturating_sub(WEEK_MS));
    let limit = i64::try_from(limit_rows).unwrap_or(i64::MAX);
    let delete = |sql: &str, before_ms: i64| database.prepare_cached(sql)?.execute(params![before_ms, limit]);
    let trackers = delete(
        "DELETE FROM tracker_presence WHERE (tracker, from_ms) IN
             (SELECT tracker, from_ms FROM tracker_presence WHERE until_ms IS NOT NULL AND until_ms < ?1 LIMIT ?2)",
        oldest_job_ms,
    )?;
    let bids = delete(
        "DELETE FROM bid_change WHERE number IN (SELECT number FROM bid_change AS old WHERE wall_ms < ?1 AND EXISTS
             (SELECT 1 FROM bid_change WHERE queue = old.queue AND number > old.number AND wall_ms < ?1) LIMIT ?2)",
        before_ms,
    )?;
    let orders = delete(
        "DELETE FROM order_change WHERE number IN (SELECT number FROM order_change WHERE wall_ms < ?1 LIMIT ?2)",
        before_ms,
    )?;
    Ok(trackers.max(bids).max(orders) == limit_rows)
}

#[cfg(test)]
#[path = "tests/tick_pruning.rs"]
mod tests;

#[cfg(test)]
mod past_pruning_tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn what_no_job_needs_goes_and_the_first_bid_stays() {
        let database = schema::in_memory().unwrap();
        database
            .execute_batch(
                "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state)
                     VALUES ('job_1_0001', 1, 1000, '{}', x'00', 'NORMAL', 'SUCCEEDED');
                 INSERT INTO tracker_presence VALUES ('a', 1, 900, 'h', 2, 2), ('b', 1, 1200, 'h', 2, 2),
                     ('c', 1, NULL, 'h', 2, 2);
                 INSERT INTO bid_change VALUES (1, 100, 'q', '1'), (2, 200, 'q', '2'), (3, 1300, 'q', '3');
                 INSERT INTO order_change (number, wall_ms, job, queue) VALUES (4, 100, 'j', 'q'), (5, 2000, 'j', 'q');",
            )
            .unwrap();
        assert!(prune_past(&database, 1).unwrap());
        assert!(!prune_past(&database, 9).unwrap());
        let left = |sql: &str| -> Vec<i64> {
            let mut select = database.prepare(sql).unwrap();
            select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(left("SELECT from_ms FROM tracker_presence"), [1, 1]);
        assert_eq!(left("SELECT number FROM bid_change"), [2, 3]);
        assert_eq!(left("SELECT number FROM order_change"), [5]);
    }
}
