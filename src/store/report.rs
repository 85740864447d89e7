//! Reads reports on its own connection: what it sees is durable. A report is of one moment.

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{Connection, Row, Transaction, params};

use crate::api::{Report, ReportRow, ReportSubject};
use crate::market::{ReportKind, ReportRequest};
use crate::model::Credits;

use super::error::StoreError;
use super::loader::{optional_units_column, units_column};
use super::retention::jobs_complete_since_ms;
use super::rows::attempts_of;
use super::statement::LedgerReader;

/// Most jobs that a report of jobs shows.
const MOST_JOBS: usize = 10_000;

/// What is left to report of a job.
struct UsedByJob {
    job: String,
    user: String,
    queue: String,
    is_failed: bool,
    /// Slot-milliseconds of maps and of reduces.
    slot_ms: [i64; 2],
    waited_ms: i64,
    cost: Credits,
}

/// Sums of jobs, with what an account was charged.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    jobs: u64,
    failed: u64,
    slot_ms: [i64; 2],
    waited_ms: i64,
    charged: Credits,
}

// === impl LedgerReader: reports ===

impl LedgerReader {
    /// A report; jobs that have not ended count as if they did at `now_ms`, epoch ms. Blocks on the disk.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn report(&self, request: &ReportRequest, now_ms: i64) -> Result<Report, StoreError> {
        self.read(|database| report(database, request, now_ms, MOST_JOBS))
    }
}

fn report(
    database: &mut Connection,
    request: &ReportRequest,
    now_ms: i64,
    most_jobs: usize,
) -> rusqlite::Result<Report> {
    let moment = database.transaction()?;
    let jobs = jobs(&moment, request, now_ms)?;
    let charges = charges(&moment, request)?;
    let left_out = match request.kind {
        ReportKind::Jobs => jobs.len().saturating_sub(most_jobs),
        ReportKind::Users | ReportKind::Queues => 0,
    };
    let rows = match request.kind {
        ReportKind::Users => summed(jobs, charges, |job| job.user.clone(), ReportSubject::User)?,
        ReportKind::Queues => summed(jobs, charges, |job| job.queue.clone(), ReportSubject::Queue)?,
        ReportKind::Jobs => one_by_one(jobs, charges, left_out)?,
    };
    let daily = "SELECT max(wall_ms) FROM ledger WHERE day IS NOT NULL AND reason = 'charge'";
    let daily_until_ms: Option<i64> = moment.query_row(daily, [], |row| row.get(0))?;
    let reaches_back = |before_ms: &i64| request.since_ms.is_none_or(|since_ms| since_ms < *before_ms);
    Ok(Report {
        report: request.kind.name().to_owned(),
        since_ms: request.since_ms,
        until_ms: request.until_ms,
        rows,
        complete_since_ms: jobs_complete_since_ms(&moment, now_ms)?.filter(reaches_back),
        daily_until_ms: daily_until_ms.filter(|last_ms| reaches_back(&last_ms.saturating_add(1))),
        left_out: (left_out > 0).then_some(left_out as u64),
    })
}

/// The jobs of the range in the order of their acceptance.
fn jobs(moment: &Transaction<'_>, request: &ReportRequest, now_ms: i64) -> rusqlite::Result<Vec<UsedByJob>> {
    let (since_ms, until_ms) = bounds(request);
    let mut select = moment.prepare(
        "SELECT job.job, user, queue, state, submit_ms, finish_ms, cost_units FROM job
         LEFT JOIN job_cost ON job_cost.job = job.job
         WHERE ((finish_ms IS NULL AND ?3 >= ?1 AND ?3 < ?2) OR (finish_ms >= ?1 AND finish_ms < ?2))
             AND (?4 IS NULL OR user = ?4)
         ORDER BY accept_order",
    )?;
    let mut attempts = moment.prepare(
        "SELECT coalesce(sum(CASE WHEN attempt LIKE '%\\_m\\_%' ESCAPE '\\' THEN slots * ran_ms ELSE 0 END), 0),
             coalesce(sum(CASE WHEN attempt LIKE '%\\_m\\_%' ESCAPE '\\' THEN 0 ELSE slots * ran_ms END), 0),
             min(CASE WHEN role = 'work' THEN launch_ms END)
         FROM (SELECT attempt, role, slots, launch_ms, max(0, CASE
                   WHEN state = 'RUNNING' THEN ?3 - launch_ms
                   WHEN start_ms > 0 AND finish_ms > 0 THEN finish_ms - start_ms
                   ELSE 0 END) AS ran_ms
               FROM attempt WHERE attempt >= ?1 AND attempt < ?2)",
    )?;
    let mut found = select.query(params![since_ms, until_ms, now_ms, request.user])?;
    let mut jobs = Vec::new();
    while let Some(row) = found.next()? {
        let job: String = row.get(0)?;
        let [first, end] = attempts_of(&job);
        let read = |row: &Row<'_>| Ok(([row.get(0)?, row.get(1)?], row.get::<_, Option<i64>>(2)?));
        let (slot_ms, first_launch_ms) = attempts.query_row(params![first, end, now_ms], read)?;
        let (submit_ms, finish_ms): (i64, Option<i64>) = (row.get(4)?, row.get(5)?);
        let waits_until_ms = first_launch_ms.or(finish_ms).unwrap_or(now_ms);
        jobs.push(UsedByJob {
            job,
            user: row.get(1)?,
            queue: row.get(2)?,
            is_failed: row.get::<_, String>(3)? == "FAILED",
            slot_ms,
            waited_ms: waits_until_ms.saturating_sub(submit_ms).max(0),
            cost: optional_units_column(row, 6)?.unwrap_or_default(),
        });
    }
    Ok(jobs)
}

/// What the account of each queue was charged in the range.
fn charges(moment: &Transaction<'_>, request: &ReportRequest) -> rusqlite::Result<BTreeMap<String, Credits>> {
    let (since_ms, until_ms) = bounds(request);
    let mut select = moment.prepare(
        "SELECT queue, amount_units FROM ledger
         WHERE reason = 'charge' AND wall_ms >= ?1 AND wall_ms < ?2 AND (?3 IS NULL OR queue = ?3)",
    )?;
    let mut found = select.query(params![since_ms, until_ms, request.user])?;
    let mut charges = BTreeMap::new();
    while let Some(row) = found.next()? {
        let sum: &mut Credits = charges.entry(row.get(0)?).or_default();
        *sum = sum.checked_add(units_column(row, 1)?).ok_or_else(out_of_range)?;
    }
    Ok(charges)
}

fn bounds(request: &ReportRequest) -> (i64, i64) {
    (request.since_ms.unwrap_or(i64::MIN), request.until_ms.unwrap_or(i64::MAX))
}

/// A row for each name; an account has the name of its user and queue.
fn summed(
    jobs: Vec<UsedByJob>,
    charges: BTreeMap<String, Credits>,
    name_of: impl Fn(&UsedByJob) -> String,
    subject: impl Fn(String) -> ReportSubject,
) -> rusqlite::Result<Vec<ReportRow>> {
    let mut sums: BTreeMap<String, Used> = BTreeMap::new();
    for job in jobs {
        sums.entry(name_of(&job)).or_default().add(&job);
    }
    for (queue, charged) in charges {
        sums.entry(queue).or_default().charged = charged;
    }
    Ok(sums.into_iter().map(|(name, used)| used.row(subject(name))).collect())
}

/// A row for each job but the first ones, and one for the charges that none of them accounts for.
fn one_by_one(
    jobs: Vec<UsedByJob>,
    charges: BTreeMap<String, Credits>,
    left_out: usize,
) -> rusqlite::Result<Vec<ReportRow>> {
    let mut rest = Credits::ZERO;
    for charged in charges.into_values() {
        rest = rest.checked_add(charged).ok_or_else(out_of_range)?;
    }
    let mut rows = Vec::with_capacity(jobs.len() + 1);
    for job in jobs.into_iter().skip(left_out) {
        let mut used = Used { charged: job.cost, ..Used::default() };
        used.add(&job);
        rest = rest.checked_sub(job.cost).ok_or_else(out_of_range)?;
        rows.push(used.row(ReportSubject::Job(job.job)));
    }
    if rest != Credits::ZERO {
        let other = ReportSubject::Job(ReportSubject::OTHER.to_owned());
        rows.push(Used { charged: rest, ..Used::default() }.row(other));
    }
    Ok(rows)
}

fn out_of_range() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, "a sum of money is out of range".into())
}

// === impl Used ===

impl Used {
    fn add(&mut self, job: &UsedByJob) {
        self.jobs += 1;
        self.failed += u64::from(job.is_failed);
        for (sum, slot_ms) in self.slot_ms.iter_mut().zip(job.slot_ms) {
            *sum = sum.saturating_add(slot_ms);
        }
        self.waited_ms = self.waited_ms.saturating_add(job.waited_ms);
    }

    fn row(self, subject: ReportSubject) -> ReportRow {
        let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
        let Used { jobs, failed, slot_ms: [maps, reduces], waited_ms, charged } = self;
        ReportRow {
            subject,
            jobs,
            map_slot_seconds: seconds(maps),
            reduce_slot_seconds: seconds(reduces),
            waited_s: seconds(waited_ms),
            failed,
            charged,
        }
    }
}

#[cfg(test)]
#[path = "tests/report.rs"]
mod tests;
