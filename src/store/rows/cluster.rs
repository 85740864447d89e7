//! Rows of the cluster: which trackers were there and when, drained workers, held jobs and paused queues, the scheduler.

use std::sync::Arc;

use rusqlite::{Transaction, params};

use crate::engine::{Drain, Pause, PauseTarget, Presence, SchedulerChoice};
use crate::model::{FactNumber, JobId, PerKind};
use crate::store::durable::{MissedUpdates, update_row};
use crate::store::enum_text::json;
use crate::store::error::StoreError;
use crate::store::fault_point::FaultPoint;
use crate::store::loader::Loader;
use crate::store::schema::SCHEDULER_CHOICE;

pub(super) fn tracker_came(transaction: &Transaction<'_>, presence: &Presence, at_ms: i64) -> rusqlite::Result<()> {
    let Presence { tracker, host, slots } = presence;
    tracker_went(transaction, tracker, at_ms)?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO tracker_presence (tracker, from_ms, until_ms, host, map_slots, reduce_slots)
             VALUES (?1, ?2, NULL, ?3, ?4, ?5)",
        )?
        .execute(params![tracker, at_ms, host, slots.map, slots.reduce])
        .map(drop)
}

pub(super) fn tracker_went(transaction: &Transaction<'_>, tracker: &str, at_ms: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE tracker_presence SET until_ms = max(?2, from_ms) WHERE tracker = ?1 AND until_ms IS NULL",
        )?
        .execute(params![tracker, at_ms])
        .map(drop)
}

pub(in crate::store) fn load_presences(loader: &Loader<'_>) -> Result<Vec<Presence>, StoreError> {
    let sql = "SELECT tracker, host, map_slots, reduce_slots FROM tracker_presence WHERE until_ms IS NULL";
    loader.rows(sql, |row| {
        let slots = PerKind::new(row.get(2)?, row.get(3)?);
        Ok(Presence { tracker: row.get(0)?, host: row.get(1)?, slots })
    })
}

pub(super) fn drain_worker(transaction: &Transaction<'_>, drain: &Drain) -> rusqlite::Result<()> {
    let Drain { worker, user, since_ms } = drain;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO drained_worker (worker, user, since_ms) VALUES (?1, ?2, ?3)")?
        .execute(params![worker, user, since_ms])
        .map(drop)
}

pub(super) fn resume_worker(transaction: &Transaction<'_>, worker: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM drained_worker WHERE worker = ?1")?.execute(params![worker]).map(drop)
}

pub(in crate::store) fn load_drains(loader: &Loader<'_>) -> Result<Vec<Drain>, StoreError> {
    loader.rows("SELECT worker, user, since_ms FROM drained_worker", |row| {
        Ok(Drain { worker: row.get(0)?, user: row.get(1)?, since_ms: row.get(2)? })
    })
}

pub(super) fn add_pause(transaction: &Transaction<'_>, pause: &Pause) -> rusqlite::Result<()> {
    let Pause { target, user, since_ms } = pause;
    let (kind, name) = pause_columns(target);
    transaction
        .prepare_cached("INSERT OR REPLACE INTO pause (kind, name, user, since_ms) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![kind, name, user, since_ms])
        .map(drop)
}

pub(super) fn remove_pause(transaction: &Transaction<'_>, target: &PauseTarget) -> rusqlite::Result<()> {
    let (kind, name) = pause_columns(target);
    transaction
        .prepare_cached("DELETE FROM pause WHERE kind = ?1 AND name = ?2")?
        .execute(params![kind, name])
        .map(drop)
}

fn pause_columns(target: &PauseTarget) -> (&'static str, String) {
    match target {
        PauseTarget::Job(job) => ("job", job.to_string()),
        PauseTarget::Queue(queue) => ("queue", queue.to_string()),
    }
}

pub(in crate::store) fn load_pauses(loader: &Loader<'_>) -> Result<Vec<Pause>, StoreError> {
    let rows = loader.rows("SELECT kind, name, user, since_ms FROM pause", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Arc<str>>(2)?, row.get(3)?))
    })?;
    let pause = |(kind, name, user, since_ms): (String, String, Arc<str>, i64)| {
        let target = match &*kind {
            "job" => PauseTarget::Job(loader.parse("pause.name", name, "a job id")?),
            _ => PauseTarget::Queue(name.into()),
        };
        Ok(Pause { target, user, since_ms })
    };
    rows.into_iter().map(pause).collect()
}

/// Records a choice, and the queues of the jobs that moved with it.
pub(super) fn record_choice(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    choice: &SchedulerChoice,
    moved: &[(JobId, Arc<str>)],
) -> rusqlite::Result<()> {
    let text = json(choice)?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute(params![SCHEDULER_CHOICE, text])?;
    FaultPoint::SwitchChoiceWritten.pass();
    for (job, queue) in moved {
        // An older job was signed where its queue is its user's.
        let change = "UPDATE job SET spec = json_set(spec, '$.queue', ?2, '$.is_signed',
             json(iif(coalesce(spec ->> 'is_signed', spec ->> 'queue' = spec ->> 'user'), 'true', 'false')))
             WHERE job = ?1";
        update_row(transaction, missed_updates, number, change, params![job.to_string(), queue])?;
    }
    FaultPoint::SwitchJobsWritten.pass();
    Ok(())
}
