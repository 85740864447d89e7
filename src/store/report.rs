//! Reads reports on its own connection: what it sees is durable. A report is of one moment, and takes no more memory than its answer.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rusqlite::types::Type;
use rusqlite::{Connection, Row, Rows, Statement, params};

use crate::api::{Report, ReportRow, ReportSubject, WorkRow};
use crate::market::{ReportKind, ReportRequest};
use crate::model::{Capability, Credits};

use super::error::StoreError;
use super::ledger_reader::LedgerReader;
use super::loader::{optional_units_column, units_column};
use super::retention::jobs_complete_since_ms;
use super::tables::attempts::attempts_of;

const MOST_ROWS: usize = 10_000;

struct ReportedWork {
    /// In the order of acceptance of both.
    order: i64,
    id: String,
    row: WorkRow,
    used: Used,
}

/// Sums of jobs and applications, with what an account was charged.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    jobs: u64,
    failed: u64,
    /// Slot-milliseconds of maps, of reduces and of containers.
    slot_ms: [i64; 3],
    waited_ms: i64,
    charged: Credits,
}

/// What a row of sums stands for: its month, if it has one, and its name.
type SumKey = (Option<String>, String, String);

impl LedgerReader {
    /// A report; what has not ended counts as if it did at `now_ms`, epoch ms. Blocks on the disk.
    pub(crate) fn report(&self, request: &ReportRequest, now_ms: i64) -> Result<Report, StoreError> {
        self.read(|database| {
            report(database, request, self.container_slot, now_ms, request.most.unwrap_or(MOST_ROWS).min(MOST_ROWS))
        })
    }
}

fn report(
    moment: &Connection,
    request: &ReportRequest,
    slot: Capability,
    now_ms: i64,
    most_rows: usize,
) -> rusqlite::Result<Report> {
    let mut reader = WorkReader::new(moment, slot, now_ms)?;
    let mut next = None;
    let rows = match request.kind {
        ReportKind::Users => summed(moment, &mut reader, request, |row| &row.user, ReportSubject::User)?,
        ReportKind::Queues => summed(moment, &mut reader, request, |row| &row.queue, ReportSubject::Queue)?,
        ReportKind::Jobs if request.by_month => months_of_work(&mut reader, request)?,
        ReportKind::Jobs => {
            let (mut rows, more) = one_by_one(&mut reader, request, most_rows)?;
            next = more;
            if next.is_none() && request.filter.is_empty() {
                rows.extend(others(moment, request, now_ms)?);
            }
            rows
        }
    };
    let daily = "SELECT max(wall_ms) FROM ledger WHERE day IS NOT NULL AND reason = 'charge'";
    let daily_until_ms: Option<i64> = moment.query_row(daily, [], |row| row.get(0))?;
    let reaches_back = |before_ms: &i64| request.since_ms.is_none_or(|since_ms| since_ms < *before_ms);
    Ok(Report {
        report: request.kind.name().to_owned(),
        since_ms: request.since_ms,
        until_ms: request.until_ms,
        rows,
        complete_since_ms: jobs_complete_since_ms(moment, now_ms)?.filter(reaches_back),
        daily_until_ms: daily_until_ms.filter(|last_ms| reaches_back(&last_ms.saturating_add(1))),
        next,
    })
}

fn bounds(request: &ReportRequest) -> (i64, i64) {
    (request.since_ms.unwrap_or(i64::MIN), request.until_ms.unwrap_or(i64::MAX))
}

/// Parameters: the range, now, whose alone may be seen, the three filters, the order that all must follow.
const JOBS: &str =
    "SELECT accept_order, job.job, user, queue, coalesce(name, ''), state, submit_ms, finish_ms, cost_units
     FROM job LEFT JOIN job_cost ON job_cost.job = job.job
     WHERE accept_order > ?8
         AND ((finish_ms IS NULL AND ?3 >= ?1 AND ?3 < ?2) OR (finish_ms >= ?1 AND finish_ms < ?2))
         AND (?4 IS NULL OR user = ?4) AND (?5 IS NULL OR user = ?5) AND (?6 IS NULL OR queue = ?6)
         AND (?7 IS NULL OR state = ?7)
     ORDER BY accept_order";

/// The same of applications, whose state is how they ended once they have.
const APPLICATIONS: &str = "SELECT accept_order, application, user, queue, name, state, submit_ms, finished_ms, cost_units
     FROM (SELECT accept_order, application.application, user, queue, coalesce(submitted ->> 'name', '') AS name,
               CASE WHEN finished_ms IS NULL THEN state
                    WHEN standing ->> 'final_status' IN ('SUCCEEDED', 'FAILED', 'KILLED') THEN standing ->> 'final_status'
                    WHEN state = 'FINISHED' THEN 'SUCCEEDED' ELSE state END AS state,
               coalesce(submitted ->> 'submitted_ms', 0) AS submit_ms, finished_ms, cost_units
           FROM application LEFT JOIN application_cost ON application_cost.application = application.application)
     WHERE accept_order > ?8
         AND ((finished_ms IS NULL AND ?3 >= ?1 AND ?3 < ?2) OR (finished_ms >= ?1 AND finished_ms < ?2))
         AND (?4 IS NULL OR user = ?4) AND (?5 IS NULL OR user = ?5) AND (?6 IS NULL OR queue = ?6)
         AND (?7 IS NULL OR state = ?7)
     ORDER BY accept_order";

/// Nothing counts beyond the end of its job, ?3.
const ATTEMPTS: &str =
    "SELECT coalesce(sum(CASE WHEN attempt LIKE '%\\_m\\_%' ESCAPE '\\' THEN slots * ran_ms ELSE 0 END), 0),
         coalesce(sum(CASE WHEN attempt LIKE '%\\_m\\_%' ESCAPE '\\' THEN 0 ELSE slots * ran_ms END), 0),
         min(CASE WHEN role = 'work' THEN launch_ms END)
     FROM (SELECT attempt, role, slots, launch_ms, max(0, CASE
               WHEN state = 'RUNNING' THEN ?3 - launch_ms
               WHEN start_ms > 0 AND finish_ms > 0 THEN min(finish_ms, ?3) - start_ms
               ELSE 0 END) AS ran_ms
           FROM attempt WHERE attempt >= ?1 AND attempt < ?2)";

/// Of an application until ?2, with slots of ?3 MB and ?4 cores.
const CONTAINERS: &str = "SELECT coalesce(sum(max(1, (memory_mb + ?3 - 1) / ?3, (vcores + ?4 - 1) / ?4)
                 * max(0, coalesce(ended_ms, ?2) - granted_ms)), 0), min(granted_ms)
     FROM container WHERE application = ?1";

/// Reads jobs and applications, each with what it used.
struct WorkReader<'a> {
    jobs: Statement<'a>,
    applications: Statement<'a>,
    attempts: Statement<'a>,
    containers: Statement<'a>,
    slot: Capability,
    now_ms: i64,
}

impl<'a> WorkReader<'a> {
    fn new(moment: &'a Connection, slot: Capability, now_ms: i64) -> rusqlite::Result<Self> {
        Ok(Self {
            jobs: moment.prepare(JOBS)?,
            applications: moment.prepare(APPLICATIONS)?,
            attempts: moment.prepare(ATTEMPTS)?,
            containers: moment.prepare(CONTAINERS)?,
            slot,
            now_ms,
        })
    }

    /// Visits what is asked for in the order of acceptance, until `visit` has enough.
    fn visit(
        &mut self,
        request: &ReportRequest,
        mut visit: impl FnMut(ReportedWork) -> rusqlite::Result<ControlFlow<()>>,
    ) -> rusqlite::Result<()> {
        let (since_ms, until_ms) = bounds(request);
        let after = request.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
        let filter = &request.filter;
        let Self { jobs, applications, attempts, containers, slot, now_ms } = self;
        let now_ms = *now_ms;
        let wanted = params![since_ms, until_ms, now_ms, request.user, filter.user, filter.queue, filter.state, after];
        let mut jobs = jobs.query(wanted)?;
        let mut applications = applications.query(wanted)?;
        let (mut job, mut application) = (next_head(&mut jobs)?, next_head(&mut applications)?);
        loop {
            let is_job = match (&job, &application) {
                (None, None) => return Ok(()),
                (Some(job), Some(application)) => job.order < application.order,
                (job, _) => job.is_some(),
            };
            let (next, rows) = if is_job { (&mut job, &mut jobs) } else { (&mut application, &mut applications) };
            let Some(mut work) = next.take() else { return Ok(()) };
            *next = next_head(rows)?;
            if is_job {
                work.used_by_attempts(attempts, now_ms)?;
            } else {
                work.used_by_containers(containers, *slot, now_ms)?;
            }
            if visit(work)?.is_break() {
                return Ok(());
            }
        }
    }
}

fn next_head(rows: &mut Rows<'_>) -> rusqlite::Result<Option<ReportedWork>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    let state: String = row.get(5)?;
    let used = Used {
        jobs: 1,
        failed: u64::from(state == "FAILED"),
        charged: optional_units_column(row, 8)?.unwrap_or_default(),
        ..Used::default()
    };
    let (submit_ms, end_ms) = (row.get(6)?, row.get(7)?);
    let (user, queue, name) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let row_of_work = WorkRow { user, queue, name, state, submit_ms: Some(submit_ms), start_ms: None, end_ms };
    Ok(Some(ReportedWork { order: row.get(0)?, id: row.get(1)?, row: row_of_work, used }))
}

impl ReportedWork {
    fn used_by_attempts(&mut self, attempts: &mut Statement<'_>, now_ms: i64) -> rusqlite::Result<()> {
        let [first, end] = attempts_of(&self.id);
        let until_ms = self.row.end_ms.unwrap_or(now_ms);
        let read = |row: &Row<'_>| Ok(([row.get(0)?, row.get(1)?, 0], row.get::<_, Option<i64>>(2)?));
        let (slot_ms, start_ms) = attempts.query_row(params![first, end, until_ms], read)?;
        self.start(start_ms, until_ms);
        self.used.slot_ms = slot_ms;
        Ok(())
    }

    fn used_by_containers(
        &mut self,
        containers: &mut Statement<'_>,
        slot: Capability,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        let until_ms = self.row.end_ms.unwrap_or(now_ms);
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
        // Its containers may end after it.
        let wanted = params![self.id, now_ms, slot.memory_mb.max(1), slot.vcores.max(1)];
        let (slot_ms, start_ms) = containers.query_row(wanted, read)?;
        self.start(start_ms, until_ms);
        self.used.slot_ms[2] = slot_ms;
        Ok(())
    }

    fn start(&mut self, start_ms: Option<i64>, until_ms: i64) {
        self.row.start_ms = start_ms;
        let waits_until_ms = start_ms.unwrap_or(until_ms);
        self.used.waited_ms = waits_until_ms.saturating_sub(self.row.submit_ms.unwrap_or(0)).max(0);
    }

    /// The month in which it ended, or that of now.
    fn month(&self, now_ms: i64) -> String {
        month_of(self.row.end_ms.unwrap_or(now_ms))
    }
}

/// Such as 2026-11, in UTC.
fn month_of(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m").to_string()
}

/// A row for each of them, and the last of them if more follow.
fn one_by_one(
    reader: &mut WorkReader<'_>,
    request: &ReportRequest,
    most_rows: usize,
) -> rusqlite::Result<(Vec<ReportRow>, Option<u64>)> {
    let (mut rows, mut last, mut next) = (Vec::new(), 0, None);
    reader.visit(request, |work| {
        if rows.len() == most_rows {
            next = Some(last);
            return Ok(ControlFlow::Break(()));
        }
        last = work.order.cast_unsigned();
        rows.push(work.used.row(None, ReportSubject::Job(work.id), Some(work.row)));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((rows, next))
}

/// A row for each month, user and queue.
fn months_of_work(reader: &mut WorkReader<'_>, request: &ReportRequest) -> rusqlite::Result<Vec<ReportRow>> {
    let now_ms = reader.now_ms;
    let mut sums: BTreeMap<SumKey, Used> = BTreeMap::new();
    reader.visit(request, |work| {
        let month = work.month(now_ms);
        sums.entry((Some(month), work.row.user, work.row.queue)).or_default().add(&work.used)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let row = |((month, user, queue), used): (SumKey, Used)| {
        let whose = WorkRow { user, queue, ..WorkRow::default() };
        used.row(month, ReportSubject::Job(ReportSubject::ALL.to_owned()), Some(whose))
    };
    Ok(sums.into_iter().map(row).collect())
}

/// A row for each name, or month and name; an account has the name of its user and queue.
fn summed(
    moment: &Connection,
    reader: &mut WorkReader<'_>,
    request: &ReportRequest,
    name_of: impl Fn(&WorkRow) -> &String,
    subject: impl Fn(String) -> ReportSubject,
) -> rusqlite::Result<Vec<ReportRow>> {
    let now_ms = reader.now_ms;
    let by_month = request.by_month;
    let mut sums: BTreeMap<SumKey, Used> = BTreeMap::new();
    reader.visit(request, |work| {
        let month = by_month.then(|| work.month(now_ms));
        let key = (month, name_of(&work.row).clone(), String::new());
        // What moved in the range is in the ledger.
        sums.entry(key).or_default().add(&Used { charged: Credits::ZERO, ..work.used })?;
        Ok(ControlFlow::Continue(()))
    })?;
    each_charge(moment, request, |queue, at_ms, charged| {
        let key = (by_month.then(|| month_of(at_ms)), queue, String::new());
        sums.entry(key).or_default().charge(charged)
    })?;
    Ok(sums.into_iter().map(|((month, name, _), used)| used.row(month, subject(name), None)).collect())
}

/// The charges of the range that the jobs and applications in it do not account for, if there are any.
fn others(moment: &Connection, request: &ReportRequest, now_ms: i64) -> rusqlite::Result<Option<ReportRow>> {
    let mut rest = Credits::ZERO;
    each_charge(moment, request, |_, _, charged| {
        rest = rest.checked_add(charged).ok_or_else(out_of_range)?;
        Ok(())
    })?;
    let (since_ms, until_ms) = bounds(request);
    for sql in [JOBS, APPLICATIONS] {
        let none: Option<String> = None;
        let wanted = params![since_ms, until_ms, now_ms, request.user, none, none, none, -1];
        let mut statement = moment.prepare(sql)?;
        let mut found = statement.query(wanted)?;
        while let Some(row) = found.next()? {
            let cost = optional_units_column(row, 8)?.unwrap_or_default();
            rest = rest.checked_sub(cost).ok_or_else(out_of_range)?;
        }
    }
    let other = || ReportSubject::Job(ReportSubject::OTHER.to_owned());
    Ok((rest != Credits::ZERO).then(|| Used { charged: rest, ..Used::default() }.row(None, other(), None)))
}

/// Visits what the account of each queue was charged in the range: queue, time, amount.
fn each_charge(
    moment: &Connection,
    request: &ReportRequest,
    mut visit: impl FnMut(String, i64, Credits) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let (since_ms, until_ms) = bounds(request);
    let mut select = moment.prepare(
        "SELECT queue, amount_units, wall_ms FROM ledger
         WHERE reason = 'charge' AND wall_ms >= ?1 AND wall_ms < ?2 AND (?3 IS NULL OR queue = ?3)
             AND (?4 IS NULL OR queue = ?4)",
    )?;
    let mut found = select.query(params![since_ms, until_ms, request.user, request.filter.user])?;
    while let Some(row) = found.next()? {
        visit(row.get(0)?, row.get(2)?, units_column(row, 1)?)?;
    }
    Ok(())
}

fn out_of_range() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, "a sum of money is out of range".into())
}

impl Used {
    fn add(&mut self, other: &Used) -> rusqlite::Result<()> {
        self.jobs += other.jobs;
        self.failed += other.failed;
        for (sum, slot_ms) in self.slot_ms.iter_mut().zip(other.slot_ms) {
            *sum = sum.saturating_add(slot_ms);
        }
        self.waited_ms = self.waited_ms.saturating_add(other.waited_ms);
        self.charge(other.charged)
    }

    fn charge(&mut self, charged: Credits) -> rusqlite::Result<()> {
        self.charged = self.charged.checked_add(charged).ok_or_else(out_of_range)?;
        Ok(())
    }

    fn row(self, month: Option<String>, subject: ReportSubject, work: Option<WorkRow>) -> ReportRow {
        let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
        let Used { jobs, failed, slot_ms: [maps, reduces, containers], waited_ms, charged } = self;
        ReportRow {
            month,
            subject,
            work,
            jobs,
            map_slot_seconds: seconds(maps),
            reduce_slot_seconds: seconds(reduces),
            container_slot_seconds: seconds(containers),
            waited_s: seconds(waited_ms),
            failed,
            charged,
        }
    }
}

#[cfg(test)]
#[path = "tests/report.rs"]
mod tests;
