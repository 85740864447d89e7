//! Loads attempts and completion events of one job.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Row, params};

use crate::mapreduce::{StoredAttempt, StoredEvent};
use crate::model::{AttemptId, JobId, Kind};

use super::counter_encoding::StoredCounters;
use super::enum_text;
use super::error::StoreError;
use super::loader::Loader;

#[derive(Default)]
pub(super) struct SharedTexts(BTreeSet<Arc<str>>);

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

/// The attempts of a job are adjacent: their ids have a common prefix. '`' is the character after `_`.
const ATTEMPTS: &str = "SELECT attempt, role, tracker, launch_ms, cleanup_tracker, state, kill_request, commit_granted,
         start_ms, finish_ms, shuffle_finish_ms, sort_finish_ms, output_bytes, diagnostics, state_text, counters, slots
     FROM attempt WHERE attempt >= ?1 AND attempt < ?2";

const EVENTS: &str = "SELECT event_id, attempt, status, tracker_http, run_time_ms FROM completion_event
     WHERE job = ?1 ORDER BY event_id";

struct AttemptRow {
    attempt: String,
    role: String,
    tracker: String,
    launch_ms: i64,
    cleanup_tracker: Option<String>,
    state: String,
    kill_request: Option<String>,
    commit_granted: bool,
    /// Start, finish, end of shuffle, end of sort.
    times_ms: [i64; 4],
    output_bytes: i64,
    diagnostics: String,
    state_text: String,
    counters: Option<String>,
    slots: u32,
}

impl AttemptRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let time_ms = |index| row.get::<_, Option<i64>>(index).map(Option::unwrap_or_default);
        let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
        Ok(Self {
            attempt: row.get(0)?,
            role: row.get(1)?,
            tracker: row.get(2)?,
            launch_ms: row.get(3)?,
            cleanup_tracker: row.get(4)?,
            state: row.get(5)?,
            kill_request: row.get(6)?,
            commit_granted: row.get(7)?,
            times_ms: [time_ms(8)?, time_ms(9)?, time_ms(10)?, time_ms(11)?],
            output_bytes: row.get::<_, Option<i64>>(12)?.unwrap_or(-1),
            diagnostics: text(13)?,
            state_text: text(14)?,
            counters: row.get(15)?,
            slots: row.get(16)?,
        })
    }

    fn typed(
        self,
        loader: &Loader<'_>,
        counters: &mut StoredCounters,
        texts: &mut SharedTexts,
    ) -> Result<StoredAttempt, StoreError> {
        let word = |column, text: String, value: Option<_>, expected| {
            value.ok_or_else(|| loader.wrong(column, text, expected))
        };
        let role = enum_text::parse_role(&self.role);
        let Some(role) = role else { return Err(loader.wrong("attempt.role", self.role, "the role of an attempt")) };
        let state = enum_text::parse_attempt_state(&self.state);
        let state = word("attempt.state", self.state, state, "the state of an attempt")?;
        let kill_request = match self.kill_request {
            None => None,
            Some(text) => match enum_text::parse_kill_request(&text) {
                Some(asked) => Some(asked),
                None => return Err(loader.wrong("attempt.kill_request", text, "KILLED, FAILED or PREEMPTED")),
            },
        };
        let [start_ms, finish_ms, shuffle_finish_ms, sort_finish_ms] = self.times_ms;
        Ok(StoredAttempt {
            id: loader.parse("attempt.attempt", self.attempt, "an attempt id")?,
            role,
            tracker: texts.share(self.tracker),
            launch_ms: self.launch_ms,
            slots: self.slots,
            cleanup_tracker: self.cleanup_tracker.map(|tracker| texts.share(tracker)),
            state,
            kill_request,
            commit_granted: self.commit_granted,
            start_ms,
            finish_ms,
            shuffle_finish_ms,
            sort_finish_ms,
            output_bytes: self.output_bytes,
            diagnostics: self.diagnostics,
            state_text: self.state_text,
            counters: match self.counters {
                None => None,
                Some(text) => Some(counters.of(loader, "attempt.counters", text)?),
            },
        })
    }
}

/// What the ids of a job's attempts begin with, before a `_`.
pub(super) fn job_prefix(job: JobId) -> String {
    let mut first = job.task(Kind::Map, 0).attempt(0).to_string();
    first.truncate(first.find("_m_").unwrap_or(first.len()));
    first
}

pub(super) fn attempts(
    loader: &Loader<'_>,
    job: JobId,
    counters: &mut StoredCounters,
    texts: &mut SharedTexts,
) -> Result<Vec<StoredAttempt>, StoreError> {
    let prefix = job_prefix(job);
    let rows = loader.rows_with(ATTEMPTS, params![format!("{prefix}_"), format!("{prefix}`")], AttemptRow::read)?;
    let typed = rows.into_iter().map(|row| row.typed(loader, counters, texts));
    let mut attempts: Vec<StoredAttempt> = typed.collect::<Result<_, _>>()?;
    attempts.sort_unstable_by_key(|attempt| attempt.id);
    Ok(attempts)
}

/// The trackers of a job's attempts.
pub(super) fn trackers(loader: &Loader<'_>, job: JobId) -> Result<Vec<String>, StoreError> {
    let prefix = job_prefix(job);
    let sql = "SELECT DISTINCT tracker FROM attempt WHERE attempt >= ?1 AND attempt < ?2";
    loader.rows_with(sql, params![format!("{prefix}_"), format!("{prefix}`")], |row| row.get(0))
}

/// Id, attempt, status, address of the tracker, run time in ms.
pub(super) type EventRow = (i64, String, String, String, i32);

/// Reads a row that begins with those columns.
pub(super) fn event_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    let http: Option<String> = row.get(3)?;
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, http.unwrap_or_default(), row.get(4)?))
}

pub(super) fn typed_event(
    loader: &Loader<'_>,
    row: EventRow,
    texts: &mut SharedTexts,
) -> Result<StoredEvent, StoreError> {
    let (_, attempt, status, http, run_time_ms) = row;
    let attempt: AttemptId = loader.parse("completion_event.attempt", attempt, "an attempt id")?;
    match enum_text::parse_completion_status(&status) {
        Some(status) => Ok(StoredEvent { attempt, status, http: texts.share(http), run_time_ms }),
        None => Err(loader.wrong("completion_event.status", status, "the status of a completion event")),
    }
}

pub(super) fn events(loader: &Loader<'_>, job: JobId, texts: &mut SharedTexts) -> Result<Vec<StoredEvent>, StoreError> {
    let rows = loader.rows_with(EVENTS, [job.to_string()], event_row)?;
    let mut events: Vec<StoredEvent> = Vec::with_capacity(rows.len());
    for row in rows {
        if usize::try_from(row.0) != Ok(events.len()) {
            return Err(loader.wrong("completion_event.event_id", row.0.to_string(), "a list without gaps, from 0 on"));
        }
        events.push(typed_event(loader, row, texts)?);
    }
    Ok(events)
}
