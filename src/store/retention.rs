//! Deletes the oldest finished jobs, and the oldest applications that are over, once they are too many or too old.
//!
//! Invariants: a job is deleted with all its rows, and only once every tracker has acknowledged its end; an application
//! last of its rows, and only once no container of it lives; the sum of what the jobs, and the applications, of a queue
//! have cost stays the same; no id is used twice. The size of the steps changes nothing.

use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, TransactionBehavior, params};

use crate::model::JobId;

use super::fault_point::FaultPoint;
use super::loader::units_column;
use super::options::{Retention, days_before};
use super::schema::{meta, set_meta};
use super::tables::{attempts, containers};

/// Tables with rows of an application, beside its containers and itself.
const APPLICATION_TABLES: [&str; 6] = [
    "application_context",
    "application_spec",
    "application_request",
    "application_launch",
    "application_item",
    "application_blacklist",
];

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
            rows_left -= attempts::delete_some_of(&transaction, &job, rows_left)?;
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
fn too_old_before_ms(database: &Connection, retention: &Retention) -> rusqlite::Result<i64> {
    if retention.days == 0 {
        return Ok(i64::MIN);
    }
    let sql = "SELECT max(coalesce((SELECT max(finish_ms) FROM job WHERE finish_ms IS NOT NULL), 0),
                   coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0))";
    let last_ms: i64 = database.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(days_before(last_ms, retention.days))
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
    fold_cost(
        transaction,
        "job",
        "jobs",
        &["map_slots", "reduce_slots", "map_slot_ms", "reduce_slot_ms"],
        (job, payer),
    )?;
    let through_ms = meta::<i64>(transaction, DELETED_THROUGH_MS)?.unwrap_or(i64::MIN);
    set_meta(transaction, DELETED_THROUGH_MS, through_ms.max(*finish_ms))?;
    transaction.prepare_cached("DELETE FROM job_history WHERE job = ?1")?.execute([job])?;
    transaction.prepare_cached("DELETE FROM job WHERE job = ?1")?.execute([job]).map(drop)
}

/// Adds what a job or an application has cost to the sum of those of its queue that were deleted.
fn fold_cost(
    transaction: &Transaction<'_>,
    of: &'static str,
    many: &'static str,
    columns: &[&str],
    (id, queue): (&str, &str),
) -> rusqlite::Result<()> {
    let names = columns.join(", ");
    let read = |row: &Row<'_>| {
        let numbers = (0..columns.len()).map(|column| row.get(column)).collect::<rusqlite::Result<Vec<i64>>>()?;
        Ok((numbers, units_column(row, columns.len())?))
    };
    let own = format!("SELECT {names}, cost_units FROM {of}_cost WHERE {of} = ?1");
    let Some((mut slots, cost)) = transaction.prepare_cached(&own)?.query_row([id], read).optional()? else {
        return Ok(());
    };
    let before = format!("SELECT {names}, cost_units FROM deleted_{of}_cost WHERE queue = ?1");
    let before = transaction.prepare_cached(&before)?.query_row([queue], read).optional()?;
    let (slots_before, cost_before) = before.unwrap_or_default();
    let out_of_range = || failed(format!("the cost of the deleted {many} of {queue} is out of range"));
    let cost = cost_before.checked_add(cost).ok_or_else(out_of_range)?;
    for (sum, before) in slots.iter_mut().zip(slots_before) {
        *sum = sum.checked_add(before).ok_or_else(out_of_range)?;
    }
    let (text, units) = (cost.to_string(), cost.units().to_string());
    let sums: Vec<&dyn ToSql> = slots.iter().map(|sum| sum as &dyn ToSql).collect();
    let values = [&[&queue as &dyn ToSql], &*sums, &[&text, &units]].concat();
    let places: Vec<String> = (2..=values.len()).map(|place| format!("?{place}")).collect();
    let updates: Vec<String> = columns.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let (places, updates) = (places.join(", "), updates.join(", "));
    let sql = format!(
        "INSERT INTO deleted_{of}_cost (queue, {many}, {names}, cost, cost_units) VALUES (?1, 1, {places})
             ON CONFLICT (queue) DO UPDATE SET {many} = {many} + 1, {updates}, cost = excluded.cost,
                 cost_units = excluded.cost_units"
    );
    transaction.prepare_cached(&sql)?.execute(&*values)?;
    transaction.prepare_cached(&format!("DELETE FROM {of}_cost WHERE {of} = ?1"))?.execute([id]).map(drop)
}

/// Deletes at most about `limit_rows` rows of applications beyond the limits. Returns whether there may be more.
pub(super) fn delete_applications(
    database: &mut Connection,
    retention: &Retention,
    limit_rows: usize,
) -> rusqlite::Result<bool> {
    let Some(oldest) = oldest_beyond(database, retention)? else { return Ok(false) };
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let containers = containers::delete_some_of(&transaction, &oldest, limit_rows)?;
    if containers < limit_rows {
        let queue = "SELECT queue FROM application WHERE application = ?1";
        let queue: String = transaction.query_row(queue, [&oldest], |row| row.get(0))?;
        let columns = ["container_slots", "container_slot_ms"];
        fold_cost(&transaction, "application", "applications", &columns, (&oldest, &queue))?;
        for table in APPLICATION_TABLES {
            transaction.execute(&format!("DELETE FROM {table} WHERE application = ?1"), params![oldest])?;
        }
        for table in ["used_signature", "forgotten_signature"] {
            let of_secret = format!("DELETE FROM {table} WHERE consumer = 'secret' AND user = ?1");
            transaction.execute(&of_secret, params![oldest])?;
        }
        transaction.execute("DELETE FROM application WHERE application = ?1", params![oldest])?;
    }
    FaultPoint::RetentionWritten.pass();
    transaction.commit()?;
    Ok(true)
}

/// The application that ended first, if it is beyond the limits.
fn oldest_beyond(database: &Connection, retention: &Retention) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT count(*), coalesce(max(finished_ms), 0) FROM application WHERE finished_ms IS NOT NULL";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?));
    let (over, last_ms) = database.prepare_cached(sql)?.query_row([], read)?;
    if over <= retention.always {
        return Ok(None);
    }
    let own_ms = match retention.days {
        0 => i64::MIN,
        days => days_before(last_ms, days),
    };
    // Jobs and ticks tell the time too.
    let before_ms = too_old_before_ms(database, retention)?.max(own_ms);
    let sql = "SELECT application FROM application
               WHERE finished_ms IS NOT NULL AND (?1 OR finished_ms < ?2) AND NOT EXISTS
                   (SELECT 1 FROM container WHERE container.application = application.application AND ended_ms IS NULL)
                   AND (NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.queue = application.queue)
                       OR finished_ms < (SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1))
               ORDER BY finished_ms LIMIT 1";
    let are_too_many = over > retention.most();
    database.prepare_cached(sql)?.query_row(params![are_too_many, before_ms], |row| row.get(0)).optional()
}

fn failed(text: String) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(text.into())
}

#[cfg(test)]
#[path = "tests/retention.rs"]
mod tests;
