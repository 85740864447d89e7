//! Loads jobs at a start.
//!
//! Invariant: attempts and events of finished jobs are not read, however many there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Row, params};

use crate::engine::JobCost;
use crate::mapreduce::{
    AcceptedJob, ChangedDeadline, CounterInterner, DeadlineSpec, Ending, FinishedJob, JobEstimate, JobOutcome, JobSpec,
    SplitTable, StoredJob,
};
use crate::model::{AttemptId, Credits, JobId, Kind, PerKind, RunState};

use super::counter_encoding::StoredCounters;
use super::error::StoreError;
use super::loaded_attempts::{SharedTexts, attempts, events};
use super::loader::Loader;
use super::split_encoding::decode_splits;
use super::{enum_text, loaded_market};

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
pub(super) fn finished_with_tasks(loader: &Loader<'_>, job: JobId) -> Result<Option<StoredJob>, StoreError> {
    let is_over = "SELECT count(*) FROM job WHERE job = ?1 AND finish_ms IS NOT NULL";
    match loader.rows_with(is_over, [job.to_string()], |row| row.get::<_, i64>(0))?.first() {
        Some(1) => with_tasks(loader, job),
        _ => Ok(None),
    }
}

/// A job with all its attempts and events, as if its end had just been decided.
pub(super) fn with_tasks(loader: &Loader<'_>, job: JobId) -> Result<Option<StoredJob>, StoreError> {
    let sql =
        "SELECT job, accept_order, submit_ms, spec, splits, NULL, priority, iif(running_ms IS NULL, 'PREP', 'RUNNING'),
             outcome, failure_info, first_attempt, pool, deadline, estimate
         FROM job WHERE job = ?1";
    let rows = loader.rows_with(sql, [job.to_string()], UnfinishedRow::read)?;
    let Some(row) = rows.into_iter().next() else { return Ok(None) };
    let mut stored = row.typed(loader)?;
    let mut texts = SharedTexts::default();
    stored.attempts = attempts(loader, job, &mut StoredCounters::load(loader)?, &mut texts)?;
    stored.events = events(loader, job, &mut texts)?;
    check_tasks(loader, &stored)?;
    Ok(Some(stored))
}

pub(super) fn finished_without_tasks(loader: &Loader<'_>, job: JobId) -> Result<Option<FinishedJob>, StoreError> {
    let rows = loader.rows_with(&format!("{FINISHED} AND job = ?1"), [job.to_string()], FinishedJobRow::read)?;
    let Some(row) = rows.into_iter().next() else { return Ok(None) };
    row.typed(loader, &mut StoredCounters::load(loader)?).map(Some)
}

/// Loads jobs; of finished ones the `newest` and those whose end a tracker has not acknowledged.
pub(super) fn load(loader: &Loader<'_>, newest: usize) -> Result<LoadedJobs, StoreError> {
    let mut counters = StoredCounters::load(loader)?;
    let mut texts = SharedTexts::default();
    let mut unfinished = Vec::new();
    for row in loader.rows(UNFINISHED, UnfinishedRow::read)? {
        let mut job = row.typed(loader)?;
        let id = job.accepted.id;
        job.attempts = attempts(loader, id, &mut counters, &mut texts)?;
        job.events = events(loader, id, &mut texts)?;
        check_tasks(loader, &job)?;
        unfinished.push(job);
    }
    let finished = finished(loader, &mut counters, newest)?;
    let answers = "SELECT tracker, response_id, answer FROM launch_answer ORDER BY tracker";
    let launch_answers = loader.rows(answers, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let unfinished_ids = unfinished.iter().map(|job: &StoredJob| job.accepted.id);
    let metered = loaded_market::metered_jobs(loader)?;
    let known: BTreeSet<JobId> = unfinished_ids.chain(finished.iter().map(|job| job.id)).chain(metered).collect();
    let costs = costs(loader, known.into_iter())?;
    Ok(LoadedJobs { unfinished, finished, launch_answers, costs, interner: counters.interner })
}

/// Costs of these jobs, where not zero.
fn costs(loader: &Loader<'_>, jobs: impl Iterator<Item = JobId>) -> Result<Vec<JobCost>, StoreError> {
    let sql = "SELECT map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost_units FROM job_cost WHERE job = ?1";
    let mut costs = Vec::new();
    for job in jobs {
        let read = |row: &Row<'_>| {
            let number = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned());
            let (slots, slot_ms) = (PerKind::new(number(0)?, number(1)?), PerKind::new(number(2)?, number(3)?));
            Ok((slots, slot_ms, row.get::<_, String>(4)?))
        };
        for (sampled_slots, slot_ms, units) in loader.rows_with(sql, [job.to_string()], read)? {
            let units = loader.parse("job_cost.cost_units", units, "a whole number of units of 10^-12 credit")?;
            costs.push(JobCost { job, cost: Credits::from_units(units), slot_ms, sampled_slots });
        }
    }
    Ok(costs)
}

fn finished(loader: &Loader<'_>, counters: &mut StoredCounters, newest: usize) -> Result<Vec<FinishedJob>, StoreError> {
    let newest = i64::try_from(newest).unwrap_or(i64::MAX);
    let sql = format!("{FINISHED} ORDER BY finish_ms DESC, accept_order DESC LIMIT ?1");
    let mut rows = loader.rows_with(&sql, params![newest], FinishedJobRow::read)?;
    let sql = format!("{FINISHED} AND job IN (SELECT job FROM pending_kill_job)");
    rows.extend(loader.rows(&sql, FinishedJobRow::read)?);
    let typed = rows.into_iter().map(|row| row.typed(loader, counters));
    let mut jobs: Vec<FinishedJob> = typed.collect::<Result<_, _>>()?;
    jobs.sort_by_key(|job| (job.finish_ms, job.id));
    jobs.dedup_by_key(|job| job.id);
    Ok(jobs)
}

/// Checks that every attempt and event belongs to a task of the job.
fn check_tasks(loader: &Loader<'_>, job: &StoredJob) -> Result<(), StoreError> {
    const EXPECTED: &str = "an attempt at a task of the job";
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
        return Err(loader.wrong("attempt.attempt", attempt.id.to_string(), EXPECTED));
    }
    let is_known = |id: AttemptId| job.attempts.binary_search_by_key(&id, |attempt| attempt.id).is_ok();
    match job.events.iter().find(|event| !is_known(event.attempt)) {
        Some(event) => Err(loader.wrong("completion_event.attempt", event.attempt.to_string(), EXPECTED)),
        None => Ok(()),
    }
}

struct UnfinishedRow {
    job: String,
    order: i64,
    submit_ms: i64,
    spec: String,
    splits: Vec<u8>,
    token_file: Option<Arc<[u8]>>,
    priority: String,
    state: String,
    outcome: Option<String>,
    reason: Option<String>,
    first_attempt: i32,
    pool: Option<Arc<str>>,
    deadline: Option<String>,
    estimate: Option<String>,
}

impl UnfinishedRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            job: row.get(0)?,
            order: row.get(1)?,
            submit_ms: row.get(2)?,
            spec: row.get(3)?,
            splits: row.get(4)?,
            token_file: row.get(5)?,
            priority: row.get(6)?,
            state: row.get(7)?,
            outcome: row.get(8)?,
            reason: row.get(9)?,
            first_attempt: row.get(10)?,
            pool: row.get(11)?,
            deadline: row.get(12)?,
            estimate: row.get(13)?,
        })
    }

    /// The job, still without attempts and events.
    fn typed(self, loader: &Loader<'_>) -> Result<StoredJob, StoreError> {
        let spec = spec_of(loader, self.spec)?;
        let splits = splits_of(loader, &self.job, &self.splits, &spec)?;
        let is_running = match RunState::from_name(&self.state) {
            Some(RunState::Prep) => false,
            Some(RunState::Running) => true,
            _ => return Err(loader.wrong("job.state", self.state, "PREP or RUNNING of an unfinished job")),
        };
        let ending = match self.outcome {
            None => None,
            Some(outcome) => Some(Ending {
                outcome: outcome_of(loader, "job.outcome", outcome)?,
                reason: self.reason.unwrap_or_default(),
            }),
        };
        let Some(priority) = enum_text::parse_priority(&self.priority) else {
            return Err(loader.wrong("job.priority", self.priority, "a priority"));
        };
        let changed_deadline = self.deadline.map(|text| changed_deadline(loader, text)).transpose()?.map(Arc::new);
        let accepted = AcceptedJob {
            id: loader.parse("job.job", self.job, "a job id")?,
            spec: Arc::new(spec),
            splits: Arc::new(splits),
            order: self.order.cast_unsigned(),
            submit_ms: self.submit_ms,
            token_file: self.token_file.unwrap_or_default(),
            first_attempt: self.first_attempt,
            estimate: match self.estimate {
                None => JobEstimate::default(),
                Some(text) => estimate(loader, text)?,
            },
            plan: changed_deadline.as_ref().and_then(|tested| tested.plan),
            job_xml: Arc::default(),
        };
        Ok(StoredJob {
            accepted,
            priority,
            pool: self.pool,
            changed_deadline,
            is_running,
            ending,
            attempts: Vec::new(),
            events: Vec::new(),
        })
    }
}

/// A finished job as it was submitted, with how and when it ended.
pub(super) struct RecordedRow {
    pub(super) job: String,
    pub(super) submit_ms: i64,
    spec: String,
    splits: Vec<u8>,
    pub(super) state: String,
    pub(super) finish_ms: i64,
    deadline: Option<String>,
    pub(super) ending_ms: Option<i64>,
    deadline_changes: Option<String>,
}

impl RecordedRow {
    /// Those submitted from one time to another, epoch ms, in the order of their acceptance.
    pub(super) const SELECT: &str =
        "SELECT job, submit_ms, spec, splits, state, finish_ms, deadline, ending_ms, deadline_changes FROM job
         WHERE finish_ms IS NOT NULL AND submit_ms >= ?1 AND submit_ms < ?2 ORDER BY submit_ms, accept_order";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            job: row.get(0)?,
            submit_ms: row.get(1)?,
            spec: row.get(2)?,
            splits: row.get(3)?,
            state: row.get(4)?,
            finish_ms: row.get(5)?,
            deadline: row.get(6)?,
            ending_ms: row.get(7)?,
            deadline_changes: row.get(8)?,
        })
    }

    /// The deadlines that it was given later, with when, epoch ms.
    pub(super) fn deadline_changes(
        &mut self,
        loader: &Loader<'_>,
    ) -> Result<Vec<(i64, Option<DeadlineSpec>)>, StoreError> {
        let Some(text) = self.deadline_changes.take() else { return Ok(Vec::new()) };
        serde_json::from_str(&text)
            .map_err(|_| loader.wrong("job.deadline_changes", text, "the JSON of deadlines with their times"))
    }

    /// What was submitted, and the deadline as it was changed last.
    pub(super) fn submission(
        &mut self,
        loader: &Loader<'_>,
    ) -> Result<(JobSpec, SplitTable, Option<ChangedDeadline>), StoreError> {
        let spec = spec_of(loader, std::mem::take(&mut self.spec))?;
        let splits = splits_of(loader, &self.job, &self.splits, &spec)?;
        let deadline = self.deadline.take().map(|text| changed_deadline(loader, text)).transpose()?;
        Ok((spec, splits, deadline))
    }
}

struct FinishedJobRow {
    job: String,
    submit_ms: i64,
    spec: String,
    priority: String,
    running_ms: Option<i64>,
    state: String,
    finish_ms: i64,
    failure_info: Option<String>,
    counters: Option<String>,
}

impl FinishedJobRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            job: row.get(0)?,
            submit_ms: row.get(1)?,
            spec: row.get(2)?,
            priority: row.get(3)?,
            running_ms: row.get(4)?,
            state: row.get(5)?,
            finish_ms: row.get(6)?,
            failure_info: row.get(7)?,
            counters: row.get(8)?,
        })
    }

    fn typed(self, loader: &Loader<'_>, counters: &mut StoredCounters) -> Result<FinishedJob, StoreError> {
        let Some(priority) = enum_text::parse_priority(&self.priority) else {
            return Err(loader.wrong("job.priority", self.priority, "a priority"));
        };
        Ok(FinishedJob {
            id: loader.parse::<JobId>("job.job", self.job, "a job id")?,
            spec: Arc::new(spec_of(loader, self.spec)?),
            submit_ms: self.submit_ms,
            priority,
            has_run: self.running_ms.is_some(),
            outcome: outcome_of(loader, "job.state", self.state)?,
            finish_ms: self.finish_ms,
            failure_info: self.failure_info.unwrap_or_default(),
            counters: match self.counters {
                None => None,
                Some(text) => Some(counters.of(loader, "job.counters", text)?),
            },
        })
    }
}

fn spec_of(loader: &Loader<'_>, text: String) -> Result<JobSpec, StoreError> {
    serde_json::from_str(&text).map_err(|_| loader.wrong("job.spec", text, "the JSON of a job's specification"))
}

fn splits_of(loader: &Loader<'_>, job: &str, blob: &[u8], spec: &JobSpec) -> Result<SplitTable, StoreError> {
    let splits = decode_splits(blob)
        .map_err(|error| loader.wrong("job.splits", format!("{job}: {error}"), "a table of splits"))?;
    if splits.len() != spec.maps as usize {
        return Err(loader.wrong("job.splits", format!("{} of {job}", splits.len()), "one for each map"));
    }
    Ok(splits)
}

fn changed_deadline(loader: &Loader<'_>, text: String) -> Result<ChangedDeadline, StoreError> {
    serde_json::from_str(&text).map_err(|_| loader.wrong("job.deadline", text, "the JSON of a changed deadline"))
}

fn estimate(loader: &Loader<'_>, text: String) -> Result<JobEstimate, StoreError> {
    serde_json::from_str(&text).map_err(|_| loader.wrong("job.estimate", text, "the JSON of a changed deadline"))
}

fn outcome_of(loader: &Loader<'_>, column: &'static str, text: String) -> Result<JobOutcome, StoreError> {
    match RunState::from_name(&text) {
        Some(RunState::Succeeded) => Ok(JobOutcome::Succeeded),
        Some(RunState::Failed) => Ok(JobOutcome::Failed),
        Some(RunState::Killed) => Ok(JobOutcome::Killed),
        _ => Err(loader.wrong(column, text, "SUCCEEDED, FAILED or KILLED")),
    }
}
