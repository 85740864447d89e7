//! Deletes the oldest finished jobs once they are too many or too old.
//!
//! Invariants: a job is deleted with all its rows, and only once every tracker has acknowledged its end; the sum of
//! what the jobs of a queue have cost stays the same; no id is used twice. The size of the steps changes nothing.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::model::{Credits, JobId};

use super::fault_point::FaultPoint;
use super::loader::units_column;
use super::options::Retention;
use super::rows::attempts_of;
use super::schema::{meta, set_meta};

const DAY_MS: i64 = 86_400_000;

/// Key in `meta` of the latest end of a deleted job, epoch ms.
const DELETED_THROUGH_MS: &str = "jobs_deleted_through_ms";

/// Key in `meta` of the deleted job of which attempts and events are left. Empty: none.
const BEING_DELETED: &str = "job_being_deleted";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deleted {
    pub(super) jobs: u64,
    pub(super) has_more: bool,
}

/// A finished job whose end every tracker has acknowledged.
struct Candidate {
    job: String,
    /// The queue of the market that paid for it.
    payer: String,
    finish_ms: i64,
}

pub(super) fn count_finished(database: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM job WHERE finish_ms IS NOT NULL";
    database.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
}

/// Deletes jobs beyond the limits, of `finished` ones, at most `limit_rows` rows: the jobs that ended first go first.
pub(super) fn delete_some(
    database: &mut Connection,
    retention: &Retention,
    finished: u64,
    limit_rows: usize,
) -> rusqlite::Result<Deleted> {
    let mut deleted = Deleted { jobs: 0, has_more: false };
    let begun = being_deleted(database)?;
    let before_ms = too_old_before_ms(database, retention)?;
    let is_due = |candidate: &Candidate, left: u64| {
        left > retention.most() || left > retention.always && candidate.finish_ms < before_ms
    };
    if begun.is_none() && oldest(database)?.filter(|oldest| is_due(oldest, finished)).is_none() {
        return Ok(deleted);
    }
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rows_left = limit_rows;
    let mut unfinished = begun;
    loop {
        if let Some(job) = unfinished.take() {
            rows_left -= delete_tasks(&transaction, &job, rows_left)?;
            if rows_left == 0 {
                // Perhaps that was the last row; the next step finds out.
                set_meta(&transaction, BEING_DELETED, &job)?;
                deleted.has_more = true;
                break;
            }
            set_meta(&transaction, BEING_DELETED, "")?;
        }
        let Some(next) = oldest(&transaction)?.filter(|oldest| is_due(oldest, finished - deleted.jobs)) else { break };
        delete_job(&transaction, &next)?;
        deleted.jobs += 1;
        rows_left = rows_left.saturating_sub(1);
        unfinished = Some(next.job);
        FaultPoint::RetentionDeleted.pass();
    }
    FaultPoint::RetentionWritten.pass();
    transaction.commit()?;
    FaultPoint::RetentionDone.pass();
    Ok(deleted)
}

/// From when on all jobs that ended are there, epoch ms; none if none was ever deleted. Earlier programs deleted without
/// keeping that time: then it is the end of the first one that is left, or else now.
pub(super) fn jobs_complete_since_ms(database: &Connection, now_ms: i64) -> rusqlite::Result<Option<i64>> {
    if let Some(through_ms) = meta::<i64>(database, DELETED_THROUGH_MS)? {
        return Ok(Some(through_ms.saturating_add(1)));
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM deleted_job), (SELECT min(finish_ms) FROM job WHERE finish_ms IS NOT NULL)";
    let read = |row: &Row<'_>| Ok((row.get::<_, bool>(0)?, row.get::<_, Option<i64>>(1)?));
    let (has_deleted, first_ms) = database.query_row(sql, [], read)?;
    Ok(has_deleted.then_some(first_ms.unwrap_or(now_ms)))
}

fn being_deleted(database: &Connection) -> rusqlite::Result<Option<String>> {
    Ok(meta::<String>(database, BEING_DELETED)?.filter(|job| !job.is_empty()))
}

/// Jobs that ended before this are too old. The clock is the last tick or the last end of a job.
pub(super) fn too_old_before_ms(database: &Connection, retention: &Retention) -> rusqlite::Result<i64> {
    if retention.days == 0 {
        return Ok(i64::MIN);
    }
    let sql = "SELECT max(coalesce((SELECT max(finish_ms) FROM job WHERE finish_ms IS NOT NULL), 0),
                   coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0))";
    let last_ms: i64 = database.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok((last_ms.div_euclid(DAY_MS) - i64::from(retention.days)).saturating_mul(DAY_MS))
}

fn oldest(database: &Connection) -> rusqlite::Result<Option<Candidate>> {
    let sql = "SELECT job, user, finish_ms FROM job INDEXED BY job_finished
               WHERE finish_ms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pending_kill_job WHERE pending_kill_job.job = job.job)
                   AND (NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.queue = job.user)
                       OR finish_ms < (SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1))
               ORDER BY finish_ms, accept_order LIMIT 1";
    let read = |row: &Row<'_>| Ok(Candidate { job: row.get(0)?, payer: row.get(1)?, finish_ms: row.get(2)? });
    database.prepare_cached(sql)?.query_row([], read).optional()
}

/// Deletes the job itself; its id stays used, and its cost is added to that of the queue that paid for it: its user's,
/// whatever queue it was moved to under another scheduler.
fn delete_job(transaction: &Transaction<'_>, Candidate { job, payer, finish_ms }: &Candidate) -> rusqlite::Result<()> {
    let id: JobId = job.parse().map_err(|_| failed(format!("job.job holds {job:?}")))?;
    let sql = "INSERT INTO deleted_job (identifier, last_number, jobs) VALUES (?1, ?2, 1)
               ON CONFLICT (identifier) DO UPDATE SET last_number = max(last_number, excluded.last_number), jobs = jobs + 1";
    transaction.prepare_cached(sql)?.execute(params![id.identifier.to_string(), id.number])?;
    fold_cost(transaction, job, payer)?;
    let through_ms = meta::<i64>(transaction, DELETED_THROUGH_MS)?.unwrap_or(i64::MIN);
    set_meta(transaction, DELETED_THROUGH_MS, through_ms.max(*finish_ms))?;
    transaction.prepare_cached("DELETE FROM job_history WHERE job = ?1")?.execute([job])?;
    transaction.prepare_cached("DELETE FROM job WHERE job = ?1")?.execute([job]).map(drop)
}

fn fold_cost(transaction: &Transaction<'_>, job: &str, queue: &str) -> rusqlite::Result<()> {
    let read = |row: &Row<'_>| {
        let number = |column: usize| row.get::<_, i64>(column);
        Ok(([number(0)?, number(1)?, number(2)?, number(3)?], units_column(row, 4)?))
    };
    let own = "SELECT map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost_units FROM job_cost WHERE job = ?1";
    let Some((slots, cost)) = transaction.prepare_cached(own)?.query_row([job], read).optional()? else {
        return Ok(());
    };
    let before = "SELECT map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost_units FROM deleted_job_cost
                  WHERE queue = ?1";
    let before = transaction.prepare_cached(before)?.query_row([queue], read).optional()?;
    let (slots_before, cost_before) = before.unwrap_or(([0; 4], Credits::ZERO));
    let out_of_range = || failed(format!("the cost of the deleted jobs of {queue} is out of range"));
    let cost = cost_before.checked_add(cost).ok_or_else(out_of_range)?;
    let mut sums = [0; 4];
    for (sum, (before, own)) in sums.iter_mut().zip(slots_before.into_iter().zip(slots)) {
        *sum = before.checked_add(own).ok_or_else(out_of_range)?;
    }
    let [maps, reduces, map_ms, reduce_ms] = sums;
    transaction
        .prepare_cached(
            "INSERT INTO deleted_job_cost
                 (queue, jobs, map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost, cost_units)
             VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (queue) DO UPDATE SET jobs = jobs + 1, map_slots = excluded.map_slots,
                 reduce_slots = excluded.reduce_slots, map_slot_ms = excluded.map_slot_ms,
                 reduce_slot_ms = excluded.reduce_slot_ms, cost = excluded.cost, cost_units = excluded.cost_units",
        )?
        .execute(params![queue, maps, reduces, map_ms, reduce_ms, cost.to_string(), cost.units().to_string()])?;
    transaction.prepare_cached("DELETE FROM job_cost WHERE job = ?1")?.execute([job]).map(drop)
}

/// Deletes at most `limit_rows` attempts and events of a job; returns how many.
fn delete_tasks(transaction: &Transaction<'_>, job: &str, limit_rows: usize) -> rusqlite::Result<usize> {
    let [first, end] = attempts_of(job);
    // No tracker can repeat the heartbeats that launched these attempts: each has acknowledged the end of the job.
    let answers = "DELETE FROM launch_answer WHERE (tracker, response_id) IN (
                       SELECT tracker, response_id FROM attempt
                           WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3)
                       UNION SELECT cleanup_tracker, cleanup_response_id FROM attempt
                           WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3))";
    let limit = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    transaction.prepare_cached(answers)?.execute(params![first, end, limit(limit_rows)])?;
    let attempts = "DELETE FROM attempt
                    WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3)";
    let attempts = transaction.prepare_cached(attempts)?.execute(params![first, end, limit(limit_rows)])?;
    let events = "DELETE FROM completion_event WHERE job = ?1 AND event_id IN (
                      SELECT event_id FROM completion_event WHERE job = ?1 ORDER BY event_id LIMIT ?2)";
    let events = transaction.prepare_cached(events)?.execute(params![job, limit(limit_rows - attempts)])?;
    Ok(attempts + events)
}

fn failed(text: String) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(text.into())
}

#[cfg(test)]
#[path = "tests/retention.rs"]
mod tests;
