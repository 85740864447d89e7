//! Rows of the cluster: which trackers were there and when, drained workers, held jobs and paused queues, the scheduler.

use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::engine::{Drain, Pause, PauseTarget, Presence, SchedulerChoice};
use crate::model::{JobId, PerKind};
use crate::store::enum_text::json;
use crate::store::fault_point::FaultPoint;
use crate::store::loader::{LoadError, parse, rows};
use crate::store::schema::SCHEDULER_CHOICE;

use super::row_writer::RowWriter;

pub(super) fn tracker_came(writer: &RowWriter<'_>, presence: &Presence, at_ms: i64) -> rusqlite::Result<()> {
    let Presence { tracker, host, slots } = presence;
    tracker_went(writer, tracker, at_ms)?;
    writer.execute(
        "INSERT OR REPLACE INTO tracker_presence (tracker, from_ms, until_ms, host, map_slots, reduce_slots)
             VALUES (?1, ?2, NULL, ?3, ?4, ?5)",
        params![tracker, at_ms, host, slots.map, slots.reduce],
    )
}

pub(super) fn tracker_went(writer: &RowWriter<'_>, tracker: &str, at_ms: i64) -> rusqlite::Result<()> {
    let end = "UPDATE tracker_presence SET until_ms = max(?2, from_ms) WHERE tracker = ?1 AND until_ms IS NULL";
    writer.execute(end, params![tracker, at_ms])
}

pub(in crate::store) fn load_presences(database: &Connection) -> Result<Vec<Presence>, LoadError> {
    let sql = "SELECT tracker, host, map_slots, reduce_slots FROM tracker_presence WHERE until_ms IS NULL";
    rows(database, sql, [], |row| {
        let slots = PerKind::new(row.get(2)?, row.get(3)?);
        Ok(Presence { tracker: row.get(0)?, host: row.get(1)?, slots })
    })
}

pub(super) fn drain_worker(writer: &RowWriter<'_>, drain: &Drain) -> rusqlite::Result<()> {
    let Drain { worker, user, since_ms } = drain;
    let insert = "INSERT OR REPLACE INTO drained_worker (worker, user, since_ms) VALUES (?1, ?2, ?3)";
    writer.execute(insert, params![worker, user, since_ms])
}

pub(in crate::store) fn load_drains(database: &Connection) -> Result<Vec<Drain>, LoadError> {
    rows(database, "SELECT worker, user, since_ms FROM drained_worker", [], |row| {
        Ok(Drain { worker: row.get(0)?, user: row.get(1)?, since_ms: row.get(2)? })
    })
}

pub(super) fn add_pause(writer: &RowWriter<'_>, pause: &Pause) -> rusqlite::Result<()> {
    let Pause { target, user, since_ms } = pause;
    let (kind, name) = pause_columns(target);
    let insert = "INSERT OR REPLACE INTO pause (kind, name, user, since_ms) VALUES (?1, ?2, ?3, ?4)";
    writer.execute(insert, params![kind, name, user, since_ms])
}

pub(super) fn remove_pause(writer: &RowWriter<'_>, target: &PauseTarget) -> rusqlite::Result<()> {
    let (kind, name) = pause_columns(target);
    writer.execute("DELETE FROM pause WHERE kind = ?1 AND name = ?2", params![kind, name])
}

fn pause_columns(target: &PauseTarget) -> (&'static str, String) {
    match target {
        PauseTarget::Job(job) => ("job", job.to_string()),
        PauseTarget::Queue(queue) => ("queue", queue.to_string()),
    }
}

pub(in crate::store) fn load_pauses(database: &Connection) -> Result<Vec<Pause>, LoadError> {
    rows(database, "SELECT kind, name, user, since_ms FROM pause", [], |row| {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let target = match &*kind {
            "job" => PauseTarget::Job(parse("pause.name", name, "a job id")?),
            _ => PauseTarget::Queue(name.into()),
        };
        Ok(Pause { target, user: row.get(2)?, since_ms: row.get(3)? })
    })
}

/// Records a choice, and the queues of the jobs that moved with it.
pub(super) fn record_choice(
    writer: &mut RowWriter<'_>,
    choice: &SchedulerChoice,
    moved: &[(JobId, Arc<str>)],
) -> rusqlite::Result<()> {
    let text = json(choice)?;
    writer.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", params![SCHEDULER_CHOICE, text])?;
    FaultPoint::SwitchChoiceWritten.pass();
    for (job, queue) in moved {
        // An older job was signed where its queue is its user's.
        let change = "UPDATE job SET spec = json_set(spec, '$.queue', ?2, '$.is_signed',
             json(iif(coalesce(spec ->> 'is_signed', spec ->> 'queue' = spec ->> 'user'), 'true', 'false')))
             WHERE job = ?1";
        writer.update(change, params![job.to_string(), queue])?;
    }
    FaultPoint::SwitchJobsWritten.pass();
    Ok(())
}
