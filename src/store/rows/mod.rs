//! Facts as rows: what each fact changes in the database.

mod job;
mod market;

pub(super) use job::attempts_of;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ToSql, Transaction, params};

use crate::engine::Fact;
use crate::model::FactNumber;

use super::counter_names::CounterNames;
use super::durable::Rowless;
use super::schema::COPIED;

/// Records one fact within a transaction. What should have changed a row and found none is counted in `rowless`: stopping
/// the daemon over it would cost more than the fact.
///
/// Which statements may find nothing: deletions, but that of an account, of what may be gone for another reason (the last answer to a tracker,
/// which goes with its job; a paid debt; attempts and events of a job that begins anew; the mark of a copy; an interval
/// of a queue that never had one). No update may: a job goes from the disk only once no fact can name it any more.
pub(super) fn record(
    transaction: &Transaction<'_>,
    names: &mut CounterNames,
    rowless: &mut Rowless,
    number: FactNumber,
    fact: &Fact,
) -> rusqlite::Result<()> {
    match fact {
        Fact::RunStarted { identifier, start_ms } => {
            // The facts that follow it see to what a copy does not know.
            transaction.prepare_cached("DELETE FROM meta WHERE key = ?1")?.execute([COPIED])?;
            transaction
                .prepare_cached("INSERT INTO incarnation (identifier, start_ms) VALUES (?1, ?2)")?
                .execute(params![identifier.to_string(), start_ms])
                .map(drop)
        }
        Fact::LaunchAnswer { tracker, response_id, answer } => transaction
            .prepare_cached(
                "INSERT INTO launch_answer (tracker, response_id, answer) VALUES (?1, ?2, ?3)
                 ON CONFLICT (tracker) DO UPDATE SET response_id = excluded.response_id, answer = excluded.answer",
            )?
            .execute(params![tracker, response_id, answer])
            .map(drop),
        Fact::TrackerForgotten { tracker } => transaction
            .prepare_cached("DELETE FROM launch_answer WHERE tracker = ?1")?
            .execute(params![tracker])
            .map(drop),
        Fact::KillJobPending { job, trackers } => {
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO kill_debt (job, tracker) VALUES (?1, ?2)")?;
            let job = job.to_string();
            trackers.iter().try_for_each(|tracker| insert.execute(params![job, tracker]).map(drop))
        }
        Fact::KillJobAcknowledged { job, tracker } => transaction
            .prepare_cached("DELETE FROM kill_debt WHERE job = ?1 AND tracker = ?2")?
            .execute(params![job.to_string(), tracker])
            .map(drop),
        Fact::JobsCharged { tick, jobs } => jobs.iter().try_for_each(|cost| market::cost(transaction, *tick, cost)),
        Fact::Market(fact) => market::record(transaction, rowless, number, fact),
        Fact::Job(fact) => job::record(transaction, names, rowless, number, fact),
    }
}

/// Changes a row that an earlier fact has made; the first of `values` is its key. Counts it where there is none.
fn change(
    transaction: &Transaction<'_>,
    rowless: &mut Rowless,
    number: FactNumber,
    sql: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    if transaction.prepare_cached(sql)?.execute(values)? == 0 {
        rowless.note(|| format!("fact {} about {}", number.0, values.first().map(text_of).unwrap_or_default()));
    }
    Ok(())
}

fn text_of(key: &&dyn ToSql) -> String {
    match key.to_sql() {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(text))) => String::from_utf8_lossy(text).into_owned(),
        Ok(ToSqlOutput::Owned(Value::Text(text))) => text,
        _ => String::new(),
    }
}
