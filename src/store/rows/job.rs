//! What happens to jobs and attempts, as rows: also of their histories, and of owners who are to be notified of the ends.

use rusqlite::{Params, Transaction, params};

use crate::mapreduce::{AcceptedJob, AttemptRole, EndedAttempt, JobEstimate, JobFact};
use crate::model::{EndNotification, FactNumber, JobId, LogKey, RunState};
use crate::store::counter_encoding::CounterNames;
use crate::store::durable::{MissedUpdates, update_row};
use crate::store::enum_text;
use crate::store::enum_text::json;
use crate::store::error::StoreError;
use crate::store::loader::Loader;
use crate::store::split_encoding::encode_splits;
use crate::wire::TaskCompletionEvent;
use crate::wire::file::job_token_password;

/// The secret of a finished job is not needed.
const END_JOB: &str = "UPDATE job SET state = ?2, outcome = ?2, finish_ms = ?3, failure_info = ?4, counters = ?5,
                     token_file = NULL
                 WHERE job = ?1";
/// A replay sets the first hundred changes when they were made.
const SET_DEADLINE: &str =
    "UPDATE job SET deadline = ?2, deadline_changes = json_insert(coalesce(deadline_changes, '[]'),
                 CASE WHEN json_array_length(coalesce(deadline_changes, '[]')) < 100 THEN '$[#]' ELSE '$[0]' END,
                 json_array(?3, json(?4)))
             WHERE job = ?1";
const LAUNCH_TASK_CLEANUP: &str =
    "UPDATE attempt SET cleanup_tracker = ?2, cleanup_response_id = ?3, cleanup_launch_ms = ?4
                 WHERE attempt = ?1";
const ADD_ATTEMPT: &str = "INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, slots, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'RUNNING')";
const LOSE_TASK_CLEANUP: &str =
    "UPDATE attempt SET cleanup_tracker = NULL, cleanup_response_id = NULL, cleanup_launch_ms = NULL,
                 kill_request = CASE WHEN kill_request <> 'PREEMPTED' THEN NULL ELSE kill_request END
             WHERE attempt = ?1";
const RESTART: &str = "UPDATE job SET state = ?2, running_ms = NULL, first_attempt = ?3, token_file = ?4, log_key = ?5
                 WHERE job = ?1";

pub(super) fn record(
    transaction: &Transaction<'_>,
    names: &mut CounterNames,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    fact: &JobFact,
) -> rusqlite::Result<()> {
    let mut change =
        |sql, values: &[&dyn rusqlite::ToSql]| update_row(transaction, missed_updates, number, sql, values);
    match fact {
        JobFact::Accepted(job) => accept(transaction, job),
        JobFact::Running { job, at_ms } => change(
            "UPDATE job SET state = ?2, running_ms = ?3 WHERE job = ?1",
            params![job.to_string(), RunState::Running.name(), at_ms],
        ),
        JobFact::Ending { job, outcome, reason, at_ms } => change(
            "UPDATE job SET outcome = ?2, reason = ?3, ending_ms = ?4 WHERE job = ?1",
            params![job.to_string(), outcome.name(), reason, at_ms],
        ),
        JobFact::Ended { job, state, finish_ms, failure_info, counters } => {
            history_due(transaction, *job)?;
            let (job, state, counters) = (job.to_string(), state.name(), names.text(transaction, counters)?);
            change(END_JOB, params![job, state, finish_ms, failure_info, counters])
        }
        JobFact::Priority { job, priority } => change(
            "UPDATE job SET priority = ?2 WHERE job = ?1",
            params![job.to_string(), enum_text::priority(*priority)],
        ),
        JobFact::PoolSet { job, pool } => {
            change("UPDATE job SET pool = ?2 WHERE job = ?1", params![job.to_string(), pool])
        }
        JobFact::DeadlineSet { job, deadline, at_ms } => {
            change(SET_DEADLINE, params![job.to_string(), json(&**deadline)?, at_ms, json(&deadline.spec)?])
        }
        JobFact::Estimated { job, estimate } => {
            change("UPDATE job SET estimate = ?2 WHERE job = ?1", params![job.to_string(), json(estimate)?])
        }
        JobFact::AttemptLaunched { attempt, role: AttemptRole::TaskCleanup, tracker, response_id, at_ms, .. } => {
            change(LAUNCH_TASK_CLEANUP, params![attempt.to_string(), tracker, response_id, at_ms])
        }
        JobFact::AttemptLaunched { attempt, role, tracker, response_id, slots, at_ms } => {
            let (id, job, role) = (attempt.to_string(), attempt.task.job.to_string(), enum_text::role(*role));
            execute(transaction, ADD_ATTEMPT, params![id, job, role, tracker, response_id, at_ms, slots]).map(drop)
        }
        JobFact::AttemptEnded(ended) => end_attempt(transaction, names, missed_updates, number, ended),
        // Failed fetches of reduces are not kept: they are counted from zero after a restart.
        JobFact::AttemptReported { attempt, diagnostics, .. } => {
            change("UPDATE attempt SET diagnostics = ?2 WHERE attempt = ?1", params![attempt.to_string(), diagnostics])
        }
        JobFact::AttemptKillRequested { attempt, request } => change(
            "UPDATE attempt SET kill_request = ?2 WHERE attempt = ?1",
            params![attempt.to_string(), enum_text::kill_request(*request)],
        ),
        JobFact::CommitGranted { attempt } => {
            change("UPDATE attempt SET commit_granted = 1 WHERE attempt = ?1", params![attempt.to_string()])
        }
        JobFact::TaskCleanupLost { attempt } => change(LOSE_TASK_CLEANUP, params![attempt.to_string()]),
        JobFact::Restarted { job, first_attempt, token_file } => {
            let job = job.to_string();
            execute(transaction, "DELETE FROM attempt WHERE attempt >= ?1 AND attempt < ?2", attempts_of(&job))?;
            execute(transaction, "DELETE FROM completion_event WHERE job = ?1", [&job])?;
            let state = RunState::Prep.name();
            change(RESTART, params![job, state, first_attempt, token_file, log_key(token_file)])
        }
        JobFact::AttemptBlockSkipped { job, first_attempt } => {
            change("UPDATE job SET first_attempt = ?2 WHERE job = ?1", params![job.to_string(), first_attempt])
        }
        JobFact::CompletionEvent { job, event } => place_event(transaction, *job, event),
    }
}

/// The range of keys of a job's attempts: their ids have a common prefix.
pub(in crate::store) fn attempts_of(job: &str) -> [String; 2] {
    let prefix = job.replacen("job_", "attempt_", 1);
    [format!("{prefix}_"), format!("{prefix}`")]
}

fn accept(transaction: &Transaction<'_>, job: &AcceptedJob) -> rusqlite::Result<()> {
    let is_estimated = job.estimate != JobEstimate::default();
    execute(
        transaction,
        "INSERT INTO job (job, accept_order, submit_ms, spec, splits, token_file, priority, state, first_attempt,
             estimate, log_key, deadline)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            job.id.to_string(),
            job.order.cast_signed(),
            job.submit_ms,
            json(&*job.spec)?,
            encode_splits(&job.splits),
            job.token_file,
            enum_text::priority(job.spec.priority),
            RunState::Prep.name(),
            job.first_attempt,
            is_estimated.then(|| json(&job.estimate)).transpose()?,
            log_key(&job.token_file),
            job.tested_deadline().map(|deadline| json(&deadline)).transpose()?,
        ],
    )?;
    add_history(transaction, job)
}

/// What the job's token leaves when it is cleared.
fn log_key(token_file: &[u8]) -> Option<Vec<u8>> {
    let password = job_token_password(token_file)?;
    Some(LogKey::of_token(&password).as_bytes().to_vec())
}

fn end_attempt(
    transaction: &Transaction<'_>,
    names: &mut CounterNames,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    ended: &EndedAttempt,
) -> rusqlite::Result<()> {
    let counters = ended.counters.as_ref().map(|counters| names.text(transaction, counters)).transpose()?;
    update_row(
        transaction,
        missed_updates,
        number,
        "UPDATE attempt SET state = ?2, start_ms = ?3, finish_ms = ?4, shuffle_finish_ms = ?5, sort_finish_ms = ?6,
             output_bytes = ?7, diagnostics = ?8, state_text = ?9, counters = ?10,
             kill_request = CASE WHEN ?2 LIKE '%_UNCLEAN' AND kill_request <> 'PREEMPTED' THEN NULL ELSE kill_request END
         WHERE attempt = ?1",
        params![
            ended.attempt.to_string(),
            enum_text::attempt_state(ended.state),
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

fn place_event(transaction: &Transaction<'_>, job: JobId, event: &TaskCompletionEvent) -> rusqlite::Result<()> {
    execute(
        transaction,
        "INSERT OR REPLACE INTO completion_event
             (job, event_id, attempt, id_within_job, is_map, status, tracker_http, run_time_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            job.to_string(),
            event.event_id,
            event.attempt.to_string(),
            event.id_within_job,
            event.is_map,
            enum_text::completion_status(event.status),
            event.tracker_http.0,
            event.run_time_ms,
        ],
    )
    .map(drop)
}

fn execute(transaction: &Transaction<'_>, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
    transaction.prepare_cached(sql)?.execute(values)
}

/// A job is accepted: what its history needs beside the other rows is kept.
pub(super) fn add_history(transaction: &Transaction<'_>, job: &AcceptedJob) -> rusqlite::Result<()> {
    let job_xml = (!job.job_xml.is_empty()).then_some(&job.job_xml);
    let sql = "INSERT INTO job_history (job, job_xml) VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute(params![job.id.to_string(), job_xml]).map(drop)
}

/// A job is over: its history is due, also if an older build has accepted it.
pub(super) fn history_due(transaction: &Transaction<'_>, job: JobId) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO job_history (job) VALUES (?1)";
    transaction.prepare_cached(sql)?.execute([job.to_string()]).map(drop)
}

pub(super) fn history_written(
    transaction: &Transaction<'_>,
    job: JobId,
    path: &str,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let sql = "UPDATE job_history SET job_xml = NULL, written_ms = ?2, path = ?3 WHERE job = ?1";
    transaction.prepare_cached(sql)?.execute(params![job.to_string(), at_ms, path]).map(drop)
}

pub(super) fn expect_end_notification(
    transaction: &Transaction<'_>,
    number: FactNumber,
    job: JobId,
    notification: &EndNotification,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO end_notification (job, number, notification) VALUES (?1, ?2, ?3)")?
        .execute(params![job.to_string(), number.0.cast_signed(), json(notification)?])
        .map(drop)
}

/// The owner was notified, or never will be.
pub(super) fn settle_end_notification(transaction: &Transaction<'_>, job: JobId) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM end_notification WHERE job = ?1")?.execute([job.to_string()]).map(drop)
}

/// All of them, oldest first.
pub(in crate::store) fn load_end_notifications(
    loader: &Loader<'_>,
) -> Result<Vec<(JobId, EndNotification)>, StoreError> {
    let rows = loader.texts("SELECT job, notification FROM end_notification ORDER BY number")?;
    let typed = |[job, notification]: [String; 2]| {
        let job = loader.parse("end_notification.job", job, "a job id")?;
        let notification = serde_json::from_str(&notification)
            .map_err(|_| loader.wrong("end_notification.notification", notification, "a notification as JSON"))?;
        Ok((job, notification))
    };
    rows.into_iter().map(typed).collect()
}
