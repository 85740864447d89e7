//! Reads what was recorded of a stretch of time, for a replay: jobs that are over, the times of their tasks, trackers, and what moved
//! the market.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use crate::engine::SchedulerChoice;
use crate::mapreduce::{AttemptRole, DeadlineSpec};
use crate::market::{LedgerAccount, Order, Reason};
use crate::model::{AttemptId, AttemptState, Credits, JobId, Kind, PerKind, QueueName, RunState};
use crate::sim::what_if::{
    MarketChange, RecordedJob, RecordedMarket, RecordedTimes, RecordedTracker, Recording, TaskTimes,
};

use super::database::open_for_reading;
use super::error::{StoreError, failed};
use super::loaded_state::scheduler_choice;
use super::loader::{LoadError, from_json, named, parse, rows, units};
use super::schema::{STATE_NAME, meta};
use super::tables::attempts::{attempt_id, attempts_of, role, state};
use super::tables::jobs::{changed_deadline, job_id, spec_of, splits_of};
use super::tables::ledger;

/// Which jobs are wanted: those submitted from one time to another, epoch ms; the first is included.
#[derive(Clone, Copy, Debug)]
pub struct RecordedSpan {
    pub since_ms: i64,
    pub until_ms: i64,
}

/// A replay begins so long before the first job where nothing says better, ms.
const LEAD_MS: i64 = 60_000;
/// A tick or a start of the daemon up to so long before the first job is where a replay begins, ms.
const LONGEST_LEAD_MS: i64 = 600_000;

/// Reads a recording from a database, also while a daemon writes to it, and the last choice of a scheduler.
pub(crate) fn read_recording(
    database: &Path,
    span: RecordedSpan,
) -> Result<(Recording, Option<SchedulerChoice>), StoreError> {
    let mut connection = open_for_reading(database)?;
    let snapshot = connection.transaction().map_err(failed("read", database))?;
    let read = || Ok((load(&snapshot, span)?, scheduler_choice(&snapshot)?));
    read().map_err(|error: LoadError| error.of(database))
}

/// How much there is to read of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedSize {
    pub jobs: u64,
    pub tasks: u64,
}

/// Counts what [`read_recording`] would read, also while a daemon writes.
///
/// # Errors
/// As [`read_recording`].
pub fn recorded_size(database: &Path, span: RecordedSpan) -> Result<RecordedSize, StoreError> {
    let connection = open_for_reading(database)?;
    let sql = "SELECT count(*), coalesce(sum((spec ->> 'maps') + (spec ->> 'reduces')), 0) FROM job
               WHERE finish_ms IS NOT NULL AND submit_ms >= ?1 AND submit_ms < ?2";
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let read = |row: &Row<'_>| Ok(RecordedSize { jobs: count(row.get(0)?), tasks: count(row.get(1)?) });
    connection.query_row(sql, [span.since_ms, span.until_ms], read).map_err(failed("read", database))
}

/// Reads the last choice of a scheduler alone, also while a daemon writes.
pub(crate) fn read_scheduler_choice(database: &Path) -> Result<Option<SchedulerChoice>, StoreError> {
    scheduler_choice(&open_for_reading(database)?).map_err(|error| error.of(database))
}

/// Reads the name that back-ends of budgets know the database by, once it has one.
pub(crate) fn read_state_name(database: &Path) -> Result<Option<String>, StoreError> {
    meta(&open_for_reading(database)?, STATE_NAME).map_err(failed("read", database))
}

pub(super) fn load(database: &Connection, span: RecordedSpan) -> Result<Recording, LoadError> {
    let bounds = params![span.since_ms, span.until_ms];
    let mut jobs = rows(database, JOBS, bounds, recorded_job)?;
    for job in &mut jobs {
        job.times = times(database, job.id, PerKind::new(job.spec.maps, job.spec.reduces))?;
    }
    let unfinished = "SELECT count(*) FROM job WHERE finish_ms IS NULL AND submit_ms >= ?1 AND submit_ms < ?2";
    let unfinished: i64 = database.query_row(unfinished, bounds, |row| row.get(0))?;
    let start_ms = start_ms(database, &jobs)?;
    let trackers = trackers(database, start_ms)?;
    let market = load_market(database, start_ms, &mut jobs)?;
    let unfinished = usize::try_from(unfinished).unwrap_or(usize::MAX);
    Ok(Recording { jobs, trackers, market, start_ms, unfinished })
}

/// At the last tick or start before the first job, if there was one not long before.
fn start_ms(database: &Connection, jobs: &[RecordedJob]) -> Result<i64, LoadError> {
    let first_ms = jobs.first().map_or(0, |job| job.submit_ms);
    let sql = "SELECT max(start_ms) FROM daemon_run WHERE start_ms <= ?1
               UNION ALL SELECT max(wall_ms) FROM tick WHERE wall_ms BETWEEN ?2 AND ?1";
    let earliest_ms = first_ms.saturating_sub(LONGEST_LEAD_MS);
    let found = rows(database, sql, [first_ms, earliest_ms], |row| Ok(row.get::<_, Option<i64>>(0)?))?;
    let found = found.into_iter().flatten().max().filter(|at_ms| *at_ms >= earliest_ms);
    Ok(found.unwrap_or(first_ms.saturating_sub(LEAD_MS)))
}

fn trackers(database: &Connection, start_ms: i64) -> Result<Vec<RecordedTracker>, LoadError> {
    let sql = "SELECT tracker, host, map_slots, reduce_slots, from_ms, until_ms FROM tracker_presence
               WHERE until_ms IS NULL OR until_ms > ?1 ORDER BY from_ms, tracker";
    rows(database, sql, [start_ms], |row| {
        let slots = PerKind::new(row.get(2)?, row.get(3)?);
        Ok(RecordedTracker { name: row.get(0)?, host: row.get(1)?, slots, from_ms: row.get(4)?, until_ms: row.get(5)? })
    })
}

const ATTEMPTS: &str = "SELECT attempt, role, state, launch_ms, start_ms, finish_ms, shuffle_finish_ms, output_bytes
     FROM attempt WHERE attempt >= ?1 AND attempt < ?2";

struct EndedRow {
    id: AttemptId,
    role: AttemptRole,
    state: AttemptState,
    launch_ms: i64,
    start_ms: i64,
    finish_ms: i64,
    shuffle_finish_ms: i64,
    output_bytes: i64,
}

impl EndedRow {
    fn read(row: &Row<'_>) -> Result<Self, LoadError> {
        let number = |column| row.get::<_, Option<i64>>(column);
        Ok(Self {
            id: attempt_id(row, 0)?,
            role: role(row, 1)?,
            state: state(row, 2)?,
            launch_ms: number(3)?.unwrap_or_default(),
            start_ms: number(4)?.unwrap_or_default(),
            finish_ms: number(5)?.unwrap_or_default(),
            shuffle_finish_ms: number(6)?.unwrap_or_default(),
            output_bytes: number(7)?.unwrap_or(-1),
        })
    }

    /// What it took, where its like may begin at `begin_ms`.
    fn times(&self, begin_ms: i64) -> TaskTimes {
        let between = |from: i64, to: i64| u32::try_from(to.saturating_sub(from).max(0)).unwrap_or(u32::MAX);
        // An attempt that never began has no start.
        let start_ms = if self.start_ms > 0 { self.start_ms } else { self.finish_ms };
        let begin_ms = begin_ms.max(start_ms);
        let middle_ms = match self.id.task.kind {
            Kind::Map => self.finish_ms,
            Kind::Reduce => self.shuffle_finish_ms.max(begin_ms),
        };
        TaskTimes {
            delay_ms: between(self.launch_ms, start_ms),
            first_ms: between(begin_ms, middle_ms),
            rest_ms: between(middle_ms, self.finish_ms),
            output_bytes: self.output_bytes,
        }
    }
}

/// What the tasks of a job took.
fn times(database: &Connection, job: JobId, tasks: PerKind<u32>) -> Result<RecordedTimes, LoadError> {
    let mut attempts = rows(database, ATTEMPTS, attempts_of(&job.to_string()), EndedRow::read)?;
    // Maps come before reduces, and of a task the first attempt first.
    attempts.sort_unstable_by_key(|attempt| (attempt.id.task.kind, attempt.id));
    let none = |kind| vec![None; tasks[kind] as usize];
    let mut times =
        RecordedTimes { tasks: PerKind::new(none(Kind::Map), none(Kind::Reduce)), ..RecordedTimes::default() };
    let mut last_map_ms = i64::MIN;
    for attempt in &attempts {
        let task = attempt.id.task;
        match (attempt.role, attempt.state) {
            (AttemptRole::JobSetup, AttemptState::Succeeded) => times.setup = attempt.times(i64::MIN),
            (AttemptRole::JobCleanup, AttemptState::Succeeded) => times.cleanup = attempt.times(i64::MIN),
            (AttemptRole::Work, AttemptState::Succeeded) => {
                let own = attempt.times(if task.kind == Kind::Reduce { last_map_ms } else { i64::MIN });
                if task.kind == Kind::Map {
                    last_map_ms = last_map_ms.max(attempt.finish_ms);
                }
                let place = usize::try_from(task.number).ok().and_then(|number| times.tasks[task.kind].get_mut(number));
                if let Some(place) = place {
                    *place = Some(own);
                }
            }
            (AttemptRole::Work, AttemptState::Killed) => {
                let lasted = attempt.times(if task.kind == Kind::Reduce { last_map_ms } else { i64::MIN });
                let cut = times.cut.entry((task.kind, task.number)).or_insert(lasted);
                *cut = if cut.all_ms() < lasted.all_ms() { lasted } else { *cut };
            }
            (AttemptRole::JobSetup, AttemptState::Killed) if times.setup == TaskTimes::default() => {
                times.setup = attempt.times(i64::MIN);
            }
            (AttemptRole::Work, AttemptState::Failed) => {
                times.failures.entry((task.kind, task.number)).or_default().push(attempt.times(i64::MIN));
            }
            _ => {}
        }
    }
    Ok(times)
}

/// Those submitted from one time to another, epoch ms, in the order of their acceptance.
const JOBS: &str =
    "SELECT job, submit_ms, spec, splits, state, finish_ms, deadline, ending_ms, deadline_changes FROM job
         WHERE finish_ms IS NOT NULL AND submit_ms >= ?1 AND submit_ms < ?2 ORDER BY submit_ms, accept_order";

/// A row of [`JOBS`], without the times of its tasks.
fn recorded_job(row: &Row<'_>) -> Result<RecordedJob, LoadError> {
    let (job, submit_ms): (String, i64) = (row.get(0)?, row.get(1)?);
    let mut spec = spec_of(row.get(2)?)?;
    let splits = splits_of(&job, &row.get::<_, Vec<u8>>(3)?, &spec)?;
    let changed = row.get::<_, Option<String>>(6)?.map(changed_deadline).transpose()?;
    let deadline_changes = row.get::<_, Option<String>>(8)?.map(|text| {
        let expected = "the JSON of deadlines with their times";
        from_json("job.deadline_changes", text, expected)
    });
    let deadline_changes: Vec<(i64, Option<DeadlineSpec>)> = deadline_changes.transpose()?.unwrap_or_default();
    let last_deadline = changed.map_or_else(|| spec.deadline.clone(), |changed| changed.spec);
    let deadline_ms = last_deadline.as_ref().map(|deadline| deadline.due_us(submit_ms) / 1_000);
    if deadline_changes.is_empty() {
        spec.deadline = last_deadline;
    }
    Ok(RecordedJob {
        id: job_id(job)?,
        spec: Arc::new(spec),
        splits: Arc::new(splits),
        deadline_changes,
        submit_ms,
        ending_ms: row.get(7)?,
        finish_ms: row.get(5)?,
        deadline_ms,
        state: named("job.state", row.get(4)?, RunState::from_name, "the state of a job")?,
        times: RecordedTimes::default(),
    })
}

const BIDS: &str = "SELECT wall_ms, queue, rate_units FROM bid_change ORDER BY number";
const ORDERS: &str =
    "SELECT wall_ms, job, deadline_ms, max_rate_units, max_cost_units FROM order_change ORDER BY number";

/// The market from `start_ms` on, epoch ms; none where no queue ever had money or a bid. Jobs without a deadline of their own get the one
/// of their last order. Bids and orders are as old as the tick before them: they count from the next one on.
fn load_market(
    database: &Connection,
    start_ms: i64,
    jobs: &mut [RecordedJob],
) -> Result<Option<RecordedMarket>, LoadError> {
    let mut market = RecordedMarket::default();
    load_bids(database, start_ms, &mut market)?;
    load_money(database, start_ms, &mut market)?;
    load_orders(database, jobs, &mut market)?;
    market.changes.sort_by_key(|(at_ms, _)| *at_ms);
    Ok((!market.accounts.is_empty() || !market.changes.is_empty()).then_some(market))
}

fn load_bids(database: &Connection, start_ms: i64, market: &mut RecordedMarket) -> Result<(), LoadError> {
    let bids = rows(database, BIDS, [], |row| {
        let queue: QueueName = parse("bid_change.queue", row.get(1)?, "a queue's name")?;
        Ok((row.get::<_, i64>(0)?, queue, units("bid_change.rate_units", row.get(2)?)?))
    })?;
    for (tick_ms, queue, rate) in bids {
        if tick_ms < start_ms {
            market.accounts.entry(queue).or_default().1 = rate;
        } else {
            market.changes.push((tick_ms.saturating_add(1), MarketChange::Bid(queue, rate)));
        }
    }
    Ok(())
}

fn load_money(database: &Connection, start_ms: i64, market: &mut RecordedMarket) -> Result<(), LoadError> {
    let mut balances: BTreeMap<QueueName, Credits> = BTreeMap::new();
    let mut closed = BTreeSet::new();
    for entry in ledger::load_after(database, 0)? {
        let taken = Credits::from_units(-entry.amount.units());
        let is_charge = matches!(entry.reason, Reason::Charge { .. } | Reason::SampledCharge { .. });
        // A transfer moves the money of two queues.
        for (side, amount) in [(&entry.debit, taken), (&entry.credit, entry.amount)] {
            let LedgerAccount::Queue(queue) = side else { continue };
            if entry.wall_ms <= start_ms {
                let balance = balances.entry(queue.clone()).or_default();
                // Far below what the units of any balance may be.
                *balance = Credits::from_units(balance.units() + amount.units());
                match entry.reason {
                    Reason::Closing => closed.insert(queue.clone()),
                    _ => closed.remove(queue),
                };
            } else if !is_charge {
                market.changes.push((entry.wall_ms, MarketChange::Money(queue.clone(), amount)));
            }
        }
    }
    for (queue, balance) in balances.into_iter().filter(|(queue, _)| !closed.contains(queue)) {
        market.accounts.entry(queue).or_default().0 = balance.max(Credits::ZERO);
    }
    Ok(())
}

fn load_orders(database: &Connection, jobs: &mut [RecordedJob], market: &mut RecordedMarket) -> Result<(), LoadError> {
    let mut jobs: BTreeMap<JobId, &mut RecordedJob> = jobs.iter_mut().map(|job| (job.id, job)).collect();
    let mut placed_at_once = BTreeSet::new();
    let orders = rows(database, ORDERS, [], |row| {
        let (max_rate, max_cost): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let max_rate = max_rate.map(|text| units("order_change.max_rate_units", text)).transpose()?;
        let max_cost = max_cost.map(|text| units("order_change.max_cost_units", text)).transpose()?;
        let job: JobId = parse("order_change.job", row.get(1)?, "a job id")?;
        Ok((row.get::<_, i64>(0)?, job, row.get::<_, Option<i64>>(2)?, max_rate, max_cost))
    })?;
    for (tick_ms, job, deadline_ms, max_rate, max_cost) in orders {
        let Some(recorded) = jobs.get_mut(&job) else { continue };
        if recorded.spec.deadline.is_none() {
            recorded.deadline_ms = deadline_ms.or(recorded.deadline_ms);
        }
        // The first one of a job that came with terms is its own.
        if recorded.spec.order.is_some() && placed_at_once.insert(job) {
            continue;
        }
        let change = match (deadline_ms, max_rate) {
            (Some(deadline_ms), Some(max_rate)) => MarketChange::Order(Order { job, deadline_ms, max_rate, max_cost }),
            _ => MarketChange::OrderTakenBack(job),
        };
        market.changes.push((tick_ms.max(recorded.submit_ms).saturating_add(1), change));
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/recording.rs"]
mod tests;
