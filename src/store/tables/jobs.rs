//! Rows of jobs, of their histories and costs, and of owners who are to be notified of the ends.
//!
//! Invariant: a start does not read attempts and events of finished jobs, however many there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use crate::engine::JobCost;
use crate::mapreduce::{
    AcceptedJob, ChangedDeadline, CounterInterner, Ending, FinishedJob, JobEstimate, JobFact, JobOutcome, JobSpec,
    SplitTable, StoredJob,
};
use crate::model::{AttemptId, EndNotification, JobId, Kind, LogKey, PerKind, Priority, RunState};
use crate::store::counter_encoding::StoredCounters;
use crate::store::enum_text;
use crate::store::enum_text::json;
use crate::store::loader::{LoadError, bound, first_row, from_json, named, parse, rows, units, unsigned, wrong};
use crate::store::split_encoding::{decode_splits, encode_splits};
use crate::wire::file::job_token_password;

use super::attempts::{self, SharedTexts, load_attempts, load_events};
use super::market;
use super::row_writer::RowWriter;

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
const RESTART: &str = "UPDATE job SET state = ?2, running_ms = NULL, first_attempt = ?3, token_file = ?4, log_key = ?5
                 WHERE job = ?1";

pub(super) fn record(writer: &mut RowWriter<'_>, fact: &JobFact) -> rusqlite::Result<()> {
    match fact {
        JobFact::Accepted(job) => accept(writer, job),
        JobFact::Running { job, at_ms } => {
            let run = "UPDATE job SET state = ?2, running_ms = ?3 WHERE job = ?1";
            writer.update(run, params![job.to_string(), RunState::Running.name(), at_ms])
        }
        JobFact::Ending { job, outcome, reason, at_ms } => {
            let end = "UPDATE job SET outcome = ?2, reason = ?3, ending_ms = ?4 WHERE job = ?1";
            writer.update(end, params![job.to_string(), outcome.name(), reason, at_ms])
        }
        JobFact::Ended { job, state, finish_ms, failure_info, counters } => {
            let job = job.to_string();
            // Its history is due, also if an older build has accepted it.
            writer.execute("INSERT OR IGNORE INTO job_history (job) VALUES (?1)", [&job])?;
            let counters = writer.counters(counters)?;
            writer.update(END_JOB, params![job, state.name(), finish_ms, failure_info, counters])
        }
        JobFact::Priority { job, priority } => {
            writer.update("UPDATE job SET priority = ?2 WHERE job = ?1", params![job.to_string(), priority.name()])
        }
        JobFact::PoolSet { job, pool } => {
            writer.update("UPDATE job SET pool = ?2 WHERE job = ?1", params![job.to_string(), pool])
        }
        JobFact::DeadlineSet { job, deadline, at_ms } => {
            let (changed, spec) = (json(&**deadline)?, json(&deadline.spec)?);
            writer.update(SET_DEADLINE, params![job.to_string(), changed, at_ms, spec])
        }
        JobFact::Estimated { job, estimate } => {
            writer.update("UPDATE job SET estimate = ?2 WHERE job = ?1", params![job.to_string(), json(estimate)?])
        }
        JobFact::AttemptLaunched { attempt, role, tracker, response_id, slots, at_ms } => {
            attempts::launch(writer, *attempt, *role, (tracker, *response_id), *slots, *at_ms)
        }
        JobFact::AttemptEnded(ended) => attempts::end(writer, ended),
        // Failed fetches of reduces are not kept: they are counted from zero after a restart.
        JobFact::AttemptReported { attempt, diagnostics, .. } => {
            let report = "UPDATE attempt SET diagnostics = ?2 WHERE attempt = ?1";
            writer.update(report, params![attempt.to_string(), diagnostics])
        }
        JobFact::AttemptKillRequested { attempt, request } => {
            let request = enum_text::kill_request(*request);
            writer.update(
                "UPDATE attempt SET kill_request = ?2 WHERE attempt = ?1",
                params![attempt.to_string(), request],
            )
        }
        JobFact::CommitGranted { attempt } => {
            writer.update("UPDATE attempt SET commit_granted = 1 WHERE attempt = ?1", params![attempt.to_string()])
        }
        JobFact::TaskCleanupLost { attempt } => attempts::lose_task_cleanup(writer, *attempt),
        JobFact::Restarted { job, first_attempt, token_file } => {
            let job = job.to_string();
            attempts::delete_of(writer, &job)?;
            let values = params![job, RunState::Prep.name(), first_attempt, token_file, log_key(token_file)];
            writer.update(RESTART, values)
        }
        JobFact::AttemptBlockSkipped { job, first_attempt } => {
            writer.update("UPDATE job SET first_attempt = ?2 WHERE job = ?1", params![job.to_string(), first_attempt])
        }
        JobFact::CompletionEvent { job, event } => attempts::place_event(writer, *job, event),
    }
}

fn accept(writer: &RowWriter<'_>, job: &AcceptedJob) -> rusqlite::Result<()> {
    let is_estimated = job.estimate != JobEstimate::default();
    writer.execute(
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
            job.spec.priority.name(),
            RunState::Prep.name(),
            job.first_attempt,
            is_estimated.then(|| json(&job.estimate)).transpose()?,
            log_key(&job.token_file),
            job.tested_deadline().map(|deadline| json(&deadline)).transpose()?,
        ],
    )?;
    // What its history needs beside the other rows.
    let job_xml = (!job.job_xml.is_empty()).then_some(&job.job_xml);
    writer.execute("INSERT INTO job_history (job, job_xml) VALUES (?1, ?2)", params![job.id.to_string(), job_xml])
}

/// What the job's token leaves when it is cleared.
fn log_key(token_file: &[u8]) -> Option<Vec<u8>> {
    let password = job_token_password(token_file)?;
    Some(LogKey::of_token(&password).as_bytes().to_vec())
}

pub(super) fn history_written(writer: &RowWriter<'_>, job: JobId, path: &str, at_ms: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE job_history SET job_xml = NULL, written_ms = ?2, path = ?3 WHERE job = ?1";
    writer.execute(sql, params![job.to_string(), at_ms, path])
}

pub(super) fn expect_end_notification(
    writer: &RowWriter<'_>,
    job: JobId,
    notification: &EndNotification,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO end_notification (job, number, notification) VALUES (?1, ?2, ?3)";
    writer.execute(sql, params![job.to_string(), writer.fact(), json(notification)?])
}

/// All of them, oldest first.
pub(in crate::store) fn load_end_notifications(
    database: &Connection,
) -> Result<Vec<(JobId, EndNotification)>, LoadError> {
    rows(database, "SELECT job, notification FROM end_notification ORDER BY number", [], |row| {
        let job = parse("end_notification.job", row.get(0)?, "a job id")?;
        let (column, expected) = ("end_notification.notification", "a notification as JSON");
        Ok((job, from_json(column, row.get(1)?, expected)?))
    })
}

pub(super) fn record_cost(writer: &RowWriter<'_>, tick: u64, cost: &JobCost) -> rusqlite::Result<()> {
    let JobCost { job, cost, slot_ms, sampled_slots } = cost;
    writer.execute(
        "INSERT OR REPLACE INTO job_cost
                 (job, tick, map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost, cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            job.to_string(),
            tick.cast_signed(),
            sampled_slots.map.cast_signed(),
            sampled_slots.reduce.cast_signed(),
            slot_ms.map.cast_signed(),
            slot_ms.reduce.cast_signed(),
            cost.to_string(),
            cost.units().to_string(),
        ],
    )
}

#[derive(Debug, Default)]
pub struct LoadedJobs {
    /// Unfinished jobs, in the order of their acceptance.
    pub unfinished: Vec<StoredJob>,
    /// Finished jobs, in the order of their end.
    pub finished: Vec<FinishedJob>,
    /// The last heartbeat response with launches of each tracker: its name, the response id, the exact bytes.
    pub launch_answers: Vec<(Arc<str>, i16, Arc<[u8]>)>,
    /// Cost of the jobs, where not zero.
    pub costs: Vec<JobCost>,
    pub interner: CounterInterner,
}

const UNFINISHED: &str =
    "SELECT job, accept_order, submit_ms, spec, splits, token_file, priority, state, outcome, reason, first_attempt,
         pool, deadline, estimate
     FROM job WHERE finish_ms IS NULL ORDER BY accept_order";

/// Of finished jobs; without `splits`, which may be large.
const FINISHED: &str = "SELECT job, submit_ms, spec, priority, running_ms, state, finish_ms, failure_info, counters
     FROM job WHERE finish_ms IS NOT NULL";

/// A finished job with all its attempts and events, as if its end had just been decided.
pub(in crate::store) fn finished_with_tasks(database: &Connection, job: JobId) -> Result<Option<StoredJob>, LoadError> {
    let is_over = "SELECT count(*) FROM job WHERE job = ?1 AND finish_ms IS NOT NULL";
    match first_row(database, is_over, [job.to_string()], |row| Ok(row.get::<_, i64>(0)?))? {
        Some(1) => with_tasks(database, job),
        _ => Ok(None),
    }
}

/// A job with all its attempts and events, as if its end had just been decided.
pub(in crate::store) fn with_tasks(database: &Connection, job: JobId) -> Result<Option<StoredJob>, LoadError> {
    let sql =
        "SELECT job, accept_order, submit_ms, spec, splits, NULL, priority, iif(running_ms IS NULL, 'PREP', 'RUNNING'),
             outcome, failure_info, first_attempt, pool, deadline, estimate
         FROM job WHERE job = ?1";
    let Some(mut stored) = first_row(database, sql, [job.to_string()], unfinished_job)? else { return Ok(None) };
    load_tasks(database, &mut stored, &mut StoredCounters::load(database)?, &mut SharedTexts::default())?;
    Ok(Some(stored))
}

pub(in crate::store) fn finished_without_tasks(
    database: &Connection,
    job: JobId,
) -> Result<Option<FinishedJob>, LoadError> {
    let mut counters = StoredCounters::load(database)?;
    let sql = format!("{FINISHED} AND job = ?1");
    first_row(database, &sql, [job.to_string()], |row| finished_job(row, &mut counters))
}

/// Loads jobs; of finished ones the `newest` and those whose end a tracker has not acknowledged.
pub(in crate::store) fn load(database: &Connection, newest: usize) -> Result<LoadedJobs, LoadError> {
    let mut counters = StoredCounters::load(database)?;
    let mut texts = SharedTexts::default();
    let mut unfinished = rows(database, UNFINISHED, [], unfinished_job)?;
    for job in &mut unfinished {
        load_tasks(database, job, &mut counters, &mut texts)?;
    }
    let finished = finished(database, &mut counters, newest)?;
    let answers = "SELECT tracker, response_id, answer FROM launch_answer ORDER BY tracker";
    let launch_answers = rows(database, answers, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let unfinished_ids = unfinished.iter().map(|job| job.accepted.id);
    let metered = market::metered_jobs(database)?;
    let known: BTreeSet<JobId> = unfinished_ids.chain(finished.iter().map(|job| job.id)).chain(metered).collect();
    let costs = known.into_iter().filter_map(|job| cost(database, job).transpose()).collect::<Result<_, _>>()?;
    Ok(LoadedJobs { unfinished, finished, launch_answers, costs, interner: counters.interner })
}

/// The cost of a job, where not zero.
fn cost(database: &Connection, job: JobId) -> Result<Option<JobCost>, LoadError> {
    let sql = "SELECT map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost_units FROM job_cost WHERE job = ?1";
    first_row(database, sql, [job.to_string()], |row| {
        Ok(JobCost {
            job,
            cost: units("job_cost.cost_units", row.get(4)?)?,
            slot_ms: PerKind::new(unsigned(row, 2)?, unsigned(row, 3)?),
            sampled_slots: PerKind::new(unsigned(row, 0)?, unsigned(row, 1)?),
        })
    })
}

fn finished(
    database: &Connection,
    counters: &mut StoredCounters,
    newest: usize,
) -> Result<Vec<FinishedJob>, LoadError> {
    let mut read = |row: &Row<'_>| finished_job(row, counters);
    let sql = format!("{FINISHED} ORDER BY finish_ms DESC, accept_order DESC LIMIT ?1");
    let mut jobs = rows(database, &sql, [bound(newest)], &mut read)?;
    let sql = format!("{FINISHED} AND job IN (SELECT job FROM pending_kill_job)");
    jobs.extend(rows(database, &sql, [], read)?);
    jobs.sort_by_key(|job| (job.finish_ms, job.id));
    jobs.dedup_by_key(|job| job.id);
    Ok(jobs)
}

/// Loads the attempts and events of a job, and checks that each belongs to one of its tasks.
fn load_tasks(
    database: &Connection,
    job: &mut StoredJob,
    counters: &mut StoredCounters,
    texts: &mut SharedTexts,
) -> Result<(), LoadError> {
    const EXPECTED: &str = "an attempt at a task of the job";
    job.attempts = load_attempts(database, job.accepted.id, counters, texts)?;
    job.events = load_events(database, job.accepted.id, texts)?;
    let spec = &job.accepted.spec;
    // The numbers after the last map or reduce are the cleanup's and the setup's.
    let has = |id: AttemptId| {
        let count = match id.task.kind {
            Kind::Map => spec.maps,
            Kind::Reduce => spec.reduces,
        };
        id.number >= 0 && u32::try_from(id.task.number).is_ok_and(|number| number <= count.saturating_add(1))
    };
    if let Some(attempt) = job.attempts.iter().find(|attempt| !has(attempt.id)) {
        return Err(wrong("attempt.attempt", attempt.id.to_string(), EXPECTED));
    }
    let is_known = |id: AttemptId| job.attempts.binary_search_by_key(&id, |attempt| attempt.id).is_ok();
    match job.events.iter().find(|event| !is_known(event.attempt)) {
        Some(event) => Err(wrong("completion_event.attempt", event.attempt.to_string(), EXPECTED)),
        None => Ok(()),
    }
}

/// A row of [`UNFINISHED`] as a job, still without attempts and events.
fn unfinished_job(row: &Row<'_>) -> Result<StoredJob, LoadError> {
    let job: String = row.get(0)?;
    let spec = spec_of(row.get(3)?)?;
    let splits = splits_of(&job, &row.get::<_, Vec<u8>>(4)?, &spec)?;
    let state: String = row.get(7)?;
    let is_running = match RunState::from_name(&state) {
        Some(RunState::Prep) => false,
        Some(RunState::Running) => true,
        _ => return Err(wrong("job.state", state, "PREP or RUNNING of an unfinished job")),
    };
    let (outcome, reason): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
    let outcome = outcome.map(|outcome| outcome_of("job.outcome", outcome, ENDS)).transpose()?;
    let ending = outcome.map(|outcome| Ending { outcome, reason: reason.unwrap_or_default() });
    let priority = priority_of(row.get(6)?)?;
    let changed_deadline = row.get::<_, Option<String>>(12)?.map(changed_deadline).transpose()?.map(Arc::new);
    let estimate = row.get::<_, Option<String>>(13)?.map(|text| {
        let expected = "the JSON of a changed deadline";
        from_json("job.estimate", text, expected)
    });
    let accepted = AcceptedJob {
        id: job_id(job)?,
        spec: Arc::new(spec),
        splits: Arc::new(splits),
        order: unsigned(row, 1)?,
        submit_ms: row.get(2)?,
        token_file: row.get::<_, Option<Arc<[u8]>>>(5)?.unwrap_or_default(),
        first_attempt: row.get(10)?,
        estimate: estimate.transpose()?.unwrap_or_default(),
        plan: changed_deadline.as_ref().and_then(|tested| tested.plan),
        job_xml: Arc::default(),
    };
    let (attempts, events) = (Vec::new(), Vec::new());
    Ok(StoredJob { accepted, priority, pool: row.get(11)?, changed_deadline, is_running, ending, attempts, events })
}

/// A row of [`FINISHED`].
fn finished_job(row: &Row<'_>, counters: &mut StoredCounters) -> Result<FinishedJob, LoadError> {
    let stored_counters: Option<String> = row.get(8)?;
    Ok(FinishedJob {
        id: job_id(row.get(0)?)?,
        spec: Arc::new(spec_of(row.get(2)?)?),
        submit_ms: row.get(1)?,
        priority: priority_of(row.get(3)?)?,
        has_run: row.get::<_, Option<i64>>(4)?.is_some(),
        outcome: outcome_of("job.state", row.get(5)?, ENDS)?,
        finish_ms: row.get(6)?,
        failure_info: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        counters: stored_counters.map(|text| counters.of("job.counters", text)).transpose()?,
    })
}

pub(in crate::store) fn job_id(text: String) -> Result<JobId, LoadError> {
    parse("job.job", text, "a job id")
}

pub(in crate::store) fn spec_of(text: String) -> Result<JobSpec, LoadError> {
    from_json("job.spec", text, "the JSON of a job's specification")
}

pub(in crate::store) fn splits_of(job: &str, blob: &[u8], spec: &JobSpec) -> Result<SplitTable, LoadError> {
    let splits =
        decode_splits(blob).map_err(|error| wrong("job.splits", format!("{job}: {error}"), "a table of splits"))?;
    if splits.len() != spec.maps as usize {
        return Err(wrong("job.splits", format!("{} of {job}", splits.len()), "one for each map"));
    }
    Ok(splits)
}

pub(in crate::store) fn changed_deadline(text: String) -> Result<ChangedDeadline, LoadError> {
    from_json("job.deadline", text, "the JSON of a changed deadline")
}

fn priority_of(name: String) -> Result<Priority, LoadError> {
    named("job.priority", name, Priority::from_name, "a priority")
}

const ENDS: &str = "SUCCEEDED, FAILED or KILLED";

pub(in crate::store) fn outcome_of(
    column: &'static str,
    name: String,
    expected: &'static str,
) -> Result<JobOutcome, LoadError> {
    let outcome = |name: &str| match RunState::from_name(name)? {
        RunState::Succeeded => Some(JobOutcome::Succeeded),
        RunState::Failed => Some(JobOutcome::Failed),
        RunState::Killed => Some(JobOutcome::Killed),
        RunState::Prep | RunState::Running => None,
    };
    named(column, name, outcome, expected)
}
