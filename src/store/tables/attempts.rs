//! Rows of attempts and completion events.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use crate::mapreduce::{AttemptRole, EndedAttempt, StoredAttempt, StoredEvent};
use crate::model::{AttemptId, AttemptState, JobId};
use crate::store::counter_encoding::StoredCounters;
use crate::store::enum_text;
use crate::store::loader::{LoadError, bound, named, parse, rows, wrong};
use crate::wire::{CompletionStatus, TaskCompletionEvent};

use super::row_writer::RowWriter;

pub(super) fn launch(
    writer: &mut RowWriter<'_>,
    attempt: AttemptId,
    role: AttemptRole,
    (tracker, response_id): (&str, i16),
    slots: u32,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let (id, job) = (attempt.to_string(), attempt.task.job.to_string());
    if role == AttemptRole::TaskCleanup {
        let launch = "UPDATE attempt SET cleanup_tracker = ?2, cleanup_response_id = ?3, cleanup_launch_ms = ?4
                 WHERE attempt = ?1";
        return writer.update(launch, params![id, tracker, response_id, at_ms]);
    }
    let add = "INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, slots, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'RUNNING')";
    writer.execute(add, params![id, job, enum_text::role(role), tracker, response_id, at_ms, slots])
}

pub(super) fn lose_task_cleanup(writer: &mut RowWriter<'_>, attempt: AttemptId) -> rusqlite::Result<()> {
    let lose = "UPDATE attempt SET cleanup_tracker = NULL, cleanup_response_id = NULL, cleanup_launch_ms = NULL,
                 kill_request = CASE WHEN kill_request <> 'PREEMPTED' THEN NULL ELSE kill_request END
             WHERE attempt = ?1";
    writer.update(lose, params![attempt.to_string()])
}

pub(super) fn end(writer: &mut RowWriter<'_>, ended: &EndedAttempt) -> rusqlite::Result<()> {
    let counters = ended.counters.as_ref().map(|counters| writer.counters(counters)).transpose()?;
    writer.update(
        "UPDATE attempt SET state = ?2, start_ms = ?3, finish_ms = ?4, shuffle_finish_ms = ?5, sort_finish_ms = ?6,
             output_bytes = ?7, diagnostics = ?8, state_text = ?9, counters = ?10,
             kill_request = CASE WHEN ?2 LIKE '%_UNCLEAN' AND kill_request <> 'PREEMPTED' THEN NULL ELSE kill_request END
         WHERE attempt = ?1",
        params![
            ended.attempt.to_string(),
            ended.state.name(),
            ended.start_ms,
            ended.finish_ms,
            ended.shuffle_finish_ms,
            ended.sort_finish_ms,
            ended.output_bytes,
            ended.diagnostics,
            ended.state_text,
            counters,
        ],
    )
}

pub(super) fn place_event(writer: &RowWriter<'_>, job: JobId, event: &TaskCompletionEvent) -> rusqlite::Result<()> {
    writer.execute(
        "INSERT OR REPLACE INTO completion_event
             (job, event_id, attempt, id_within_job, is_map, status, tracker_http, run_time_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            job.to_string(),
            event.event_id,
            event.attempt.to_string(),
            event.id_within_job,
            event.is_map,
            event.status.name(),
            event.tracker_http.0,
            event.run_time_ms,
        ],
    )
}

/// Deletes those of a job that is restarted.
pub(super) fn delete_of(writer: &RowWriter<'_>, job: &str) -> rusqlite::Result<()> {
    writer.execute("DELETE FROM attempt WHERE attempt >= ?1 AND attempt < ?2", attempts_of(job))?;
    writer.execute("DELETE FROM completion_event WHERE job = ?1", [job])
}

/// The range of keys of a job's attempts: their ids have a common prefix. '`' is the character after `_`.
pub(in crate::store) fn attempts_of(job: &str) -> [String; 2] {
    let prefix = job.replacen("job_", "attempt_", 1);
    [format!("{prefix}_"), format!("{prefix}`")]
}

#[derive(Default)]
pub(in crate::store) struct SharedTexts(BTreeSet<Arc<str>>);

impl SharedTexts {
    fn share(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.0.get(text.as_str()) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.0.insert(text.clone());
        text
    }
}

const ATTEMPTS: &str = "SELECT attempt, role, tracker, launch_ms, cleanup_tracker, state, kill_request, commit_granted,
         start_ms, finish_ms, shuffle_finish_ms, sort_finish_ms, output_bytes, diagnostics, state_text, counters, slots
     FROM attempt WHERE attempt >= ?1 AND attempt < ?2";

const EVENTS: &str = "SELECT event_id, attempt, status, tracker_http, run_time_ms FROM completion_event
     WHERE job = ?1 ORDER BY event_id";

pub(super) fn load_attempts(
    database: &Connection,
    job: JobId,
    counters: &mut StoredCounters,
    texts: &mut SharedTexts,
) -> Result<Vec<StoredAttempt>, LoadError> {
    let mut attempts = rows(database, ATTEMPTS, attempts_of(&job.to_string()), |row| {
        let time_ms = |index| row.get::<_, Option<i64>>(index).map(Option::unwrap_or_default);
        let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
        let kill_request = row.get::<_, Option<String>>(6)?.map(|name| {
            let expected = "KILLED, FAILED or PREEMPTED";
            named("attempt.kill_request", name, enum_text::parse_kill_request, expected)
        });
        let stored_counters: Option<String> = row.get(15)?;
        Ok(StoredAttempt {
            id: attempt_id(row, 0)?,
            role: role(row, 1)?,
            tracker: texts.share(row.get(2)?),
            launch_ms: row.get(3)?,
            slots: row.get(16)?,
            cleanup_tracker: row.get::<_, Option<String>>(4)?.map(|tracker| texts.share(tracker)),
            state: state(row, 5)?,
            kill_request: kill_request.transpose()?,
            commit_granted: row.get(7)?,
            start_ms: time_ms(8)?,
            finish_ms: time_ms(9)?,
            shuffle_finish_ms: time_ms(10)?,
            sort_finish_ms: time_ms(11)?,
            output_bytes: row.get::<_, Option<i64>>(12)?.unwrap_or(-1),
            diagnostics: text(13)?,
            state_text: text(14)?,
            counters: stored_counters.map(|text| counters.of("attempt.counters", text)).transpose()?,
        })
    })?;
    attempts.sort_unstable_by_key(|attempt| attempt.id);
    Ok(attempts)
}

pub(in crate::store) fn attempt_id(row: &Row<'_>, column: usize) -> Result<AttemptId, LoadError> {
    parse("attempt.attempt", row.get(column)?, "an attempt id")
}

pub(in crate::store) fn role(row: &Row<'_>, column: usize) -> Result<AttemptRole, LoadError> {
    named("attempt.role", row.get(column)?, enum_text::parse_role, "the role of an attempt")
}

pub(in crate::store) fn state(row: &Row<'_>, column: usize) -> Result<AttemptState, LoadError> {
    named("attempt.state", row.get(column)?, AttemptState::from_name, "the state of an attempt")
}

pub(super) fn load_events(
    database: &Connection,
    job: JobId,
    texts: &mut SharedTexts,
) -> Result<Vec<StoredEvent>, LoadError> {
    let mut next = 0_i64;
    rows(database, EVENTS, [job.to_string()], |row| {
        let event_id: i64 = row.get(0)?;
        if event_id != next {
            let expected = "a list without gaps, from 0 on";
            return Err(wrong("completion_event.event_id", event_id.to_string(), expected));
        }
        next += 1;
        event(row, texts)
    })
}

/// The event of a row that begins with its number, attempt, status, address of the tracker and run time in ms.
pub(in crate::store) fn event(row: &Row<'_>, texts: &mut SharedTexts) -> Result<StoredEvent, LoadError> {
    let http: Option<String> = row.get(3)?;
    let (column, expected) = ("completion_event.status", "the status of a completion event");
    Ok(StoredEvent {
        attempt: parse("completion_event.attempt", row.get(1)?, "an attempt id")?,
        status: named(column, row.get(2)?, CompletionStatus::from_name, expected)?,
        http: texts.share(http.unwrap_or_default()),
        run_time_ms: row.get(4)?,
    })
}

/// Deletes at most `limit_rows` attempts and events of a job; returns how many.
pub(in crate::store) fn delete_some_of(database: &Connection, job: &str, limit_rows: usize) -> rusqlite::Result<usize> {
    let [first, end] = attempts_of(job);
    let limit = bound(limit_rows);
    // No tracker can repeat the heartbeats that launched these attempts: each has acknowledged the end of the job.
    let answers = "DELETE FROM launch_answer WHERE (tracker, response_id) IN (
                       SELECT tracker, response_id FROM attempt
                           WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3)
                       UNION SELECT cleanup_tracker, cleanup_response_id FROM attempt
                           WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3))";
    database.prepare_cached(answers)?.execute(params![first, end, limit])?;
    let attempts = "DELETE FROM attempt
                    WHERE rowid IN (SELECT rowid FROM attempt WHERE attempt >= ?1 AND attempt < ?2 LIMIT ?3)";
    let attempts = database.prepare_cached(attempts)?.execute(params![first, end, limit])?;
    let events = "DELETE FROM completion_event WHERE job = ?1 AND event_id IN (
                      SELECT event_id FROM completion_event WHERE job = ?1 ORDER BY event_id LIMIT ?2)";
    let events = database.prepare_cached(events)?.execute(params![job, bound(limit_rows - attempts)])?;
    Ok(attempts + events)
}
