//! Reads what was recorded of a stretch of time, for a replay: jobs that are over, the times of their tasks, trackers, and what moved
//! the market.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Row, params};

use crate::engine::SchedulerChoice;
use crate::mapreduce::AttemptRole;
use crate::market::{LedgerAccount, Reason};
use crate::model::{AttemptId, AttemptState, Credits, JobId, Kind, PerKind, QueueName, RunState};
use crate::sim::what_if::{
    JobTimes, MarketChange, RecordedJob, RecordedMarket, RecordedOrder, RecordedTracker, Recording, TaskTimes,
};

use super::database::open_for_reading;
use super::enum_text;
use super::error::StoreError;
use super::loaded_attempts::job_prefix;
use super::loaded_jobs::RecordedRow;
use super::loaded_market::{LEDGER, LedgerRow, units};
use super::loaded_state::scheduler_choice;
use super::loader::Loader;
use super::schema::STATE_NAME;

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
    let failed = |source| StoreError::Database { action: "read", path: database.to_owned(), source };
    let mut connection = open_for_reading(database)?;
    let snapshot = connection.transaction().map_err(failed)?;
    let loader = Loader::new(&snapshot, database);
    Ok((load(&loader, span)?, scheduler_choice(&loader)?))
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
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let rows = Loader::new(&connection, database).rows_with(sql, params![span.since_ms, span.until_ms], read)?;
    let (jobs, tasks) = rows.first().copied().unwrap_or_default();
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(RecordedSize { jobs: count(jobs), tasks: count(tasks) })
}

/// Reads the last choice of a scheduler alone, also while a daemon writes.
pub(crate) fn read_scheduler_choice(database: &Path) -> Result<Option<SchedulerChoice>, StoreError> {
    scheduler_choice(&Loader::new(&open_for_reading(database)?, database))
}

/// Reads the name that back-ends of budgets know the database by, once it has one.
pub(crate) fn read_state_name(database: &Path) -> Result<Option<String>, StoreError> {
    Loader::new(&open_for_reading(database)?, database).meta(STATE_NAME)
}

pub(super) fn load(loader: &Loader<'_>, span: RecordedSpan) -> Result<Recording, StoreError> {
    let bounds = params![span.since_ms, span.until_ms];
    let rows = loader.rows_with(RecordedRow::SELECT, bounds, RecordedRow::read)?;
    let jobs = rows.into_iter().map(|row| {
        let (mut job, maps) = row.typed(loader)?;
        job.times = times(loader, job.id, maps)?;
        Ok(job)
    });
    let mut jobs = jobs.collect::<Result<Vec<RecordedJob>, StoreError>>()?;
    let unfinished = "SELECT count(*) FROM job WHERE finish_ms IS NULL AND submit_ms >= ?1 AND submit_ms < ?2";
    let unfinished = loader.rows_with(unfinished, bounds, |row| row.get::<_, i64>(0))?.first().copied().unwrap_or(0);
    let start_ms = start_ms(loader, &jobs)?;
    let trackers = trackers(loader, start_ms)?;
    let market = load_market(loader, start_ms, &mut jobs)?;
    let unfinished = usize::try_from(unfinished).unwrap_or(usize::MAX);
    Ok(Recording { jobs, trackers, market, start_ms, unfinished })
}

/// At the last tick or start before the first job, if there was one not long before.
fn start_ms(loader: &Loader<'_>, jobs: &[RecordedJob]) -> Result<i64, StoreError> {
    let first_ms = jobs.first().map_or(0, |job| job.submit_ms);
    let sql = "SELECT max(start_ms) FROM daemon_run WHERE start_ms <= ?1
               UNION ALL SELECT max(wall_ms) FROM tick WHERE wall_ms BETWEEN ?2 AND ?1";
    let earliest_ms = first_ms.saturating_sub(LONGEST_LEAD_MS);
    let found = loader.rows_with(sql, params![first_ms, earliest_ms], |row| row.get::<_, Option<i64>>(0))?;
    let found = found.into_iter().flatten().max().filter(|at_ms| *at_ms >= earliest_ms);
    Ok(found.unwrap_or(first_ms.saturating_sub(LEAD_MS)))
}

fn trackers(loader: &Loader<'_>, start_ms: i64) -> Result<Vec<RecordedTracker>, StoreError> {
    let sql = "SELECT tracker, host, map_slots, reduce_slots, from_ms, until_ms FROM tracker_presence
               WHERE until_ms IS NULL OR until_ms > ?1 ORDER BY from_ms, tracker";
    loader.rows_with(sql, [start_ms], |row| {
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
    fn typed(loader: &Loader<'_>, texts: [String; 3], numbers: [i64; 5]) -> Result<Self, StoreError> {
        let [id, role, state] = texts;
        let [launch_ms, start_ms, finish_ms, shuffle_finish_ms, output_bytes] = numbers;
        let Some(parsed_role) = enum_text::parse_role(&role) else {
            return Err(loader.wrong("attempt.role", role, "the role of an attempt"));
        };
        let Some(parsed_state) = enum_text::parse_attempt_state(&state) else {
            return Err(loader.wrong("attempt.state", state, "the state of an attempt"));
        };
        let id = loader.parse("attempt.attempt", id, "an attempt id")?;
        Ok(Self {
            id,
            role: parsed_role,
            state: parsed_state,
            launch_ms,
            start_ms,
            finish_ms,
            shuffle_finish_ms,
            output_bytes,
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
fn times(loader: &Loader<'_>, job: JobId, tasks: PerKind<u32>) -> Result<JobTimes, StoreError> {
    let prefix = job_prefix(job);
    let read = |row: &Row<'_>| {
        let number = |column| row.get::<_, Option<i64>>(column).map(Option::unwrap_or_default);
        let output_bytes = row.get::<_, Option<i64>>(7)?.unwrap_or(-1);
        let numbers = [number(3)?, number(4)?, number(5)?, number(6)?, output_bytes];
        Ok(([row.get(0)?, row.get(1)?, row.get(2)?], numbers))
    };
    let rows = loader.rows_with(ATTEMPTS, params![format!("{prefix}_"), format!("{prefix}`")], read)?;
    let typed = rows.into_iter().map(|(texts, numbers)| EndedRow::typed(loader, texts, numbers));
    let mut attempts = typed.collect::<Result<Vec<EndedRow>, StoreError>>()?;
    // Maps come before reduces, and of a task the first attempt first.
    attempts.sort_unstable_by_key(|attempt| (attempt.id.task.kind, attempt.id));
    let none = |kind| vec![None; tasks[kind] as usize];
    let mut times = JobTimes { tasks: PerKind::new(none(Kind::Map), none(Kind::Reduce)), ..JobTimes::default() };
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

impl RecordedRow {
    /// The job, without the times of its tasks, and how many it has.
    fn typed(mut self, loader: &Loader<'_>) -> Result<(RecordedJob, PerKind<u32>), StoreError> {
        let (mut spec, splits, changed) = self.submission(loader)?;
        let deadline_changes = self.deadline_changes(loader)?;
        let last_deadline = changed.map_or_else(|| spec.deadline.clone(), |changed| changed.spec);
        let deadline_ms = last_deadline.as_ref().map(|deadline| deadline.due_us(self.submit_ms) / 1_000);
        if deadline_changes.is_empty() {
            spec.deadline = last_deadline;
        }
        let Some(state) = RunState::from_name(&self.state) else {
            return Err(loader.wrong("job.state", self.state, "the state of a job"));
        };
        let tasks = PerKind::new(spec.maps, spec.reduces);
        let job = RecordedJob {
            id: loader.parse("job.job", self.job, "a job id")?,
            spec: Arc::new(spec),
            splits: Arc::new(splits),
            deadline_changes,
            submit_ms: self.submit_ms,
            ending_ms: self.ending_ms,
            finish_ms: self.finish_ms,
            deadline_ms,
            state,
            times: JobTimes::default(),
        };
        Ok((job, tasks))
    }
}

const BIDS: &str = "SELECT wall_ms, queue, rate_units FROM bid_change ORDER BY number";
const ORDERS: &str =
    "SELECT wall_ms, job, deadline_ms, max_rate_units, max_cost_units FROM order_change ORDER BY number";

/// The market from `start_ms` on, epoch ms; none where no queue ever had money or a bid. Jobs without a deadline of their own get the one
/// of their last order. Bids and orders are as old as the tick before them: they count from the next one on.
fn load_market(
    loader: &Loader<'_>,
    start_ms: i64,
    jobs: &mut [RecordedJob],
) -> Result<Option<RecordedMarket>, StoreError> {
    let mut market = RecordedMarket::default();
    load_bids(loader, start_ms, &mut market)?;
    load_money(loader, start_ms, &mut market)?;
    load_orders(loader, jobs, &mut market)?;
    market.changes.sort_by_key(|(at_ms, _)| *at_ms);
    Ok((!market.accounts.is_empty() || !market.changes.is_empty()).then_some(market))
}

fn load_bids(loader: &Loader<'_>, start_ms: i64, market: &mut RecordedMarket) -> Result<(), StoreError> {
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    for (tick_ms, queue, rate) in loader.rows(BIDS, read)? {
        let queue: QueueName = loader.parse("bid_change.queue", queue, "a queue's name")?;
        let rate = units(loader, "bid_change.rate_units", rate)?;
        if tick_ms < start_ms {
            market.accounts.entry(queue).or_default().1 = rate;
        } else {
            market.changes.push((tick_ms.saturating_add(1), MarketChange::Bid(queue, rate)));
        }
    }
    Ok(())
}

fn load_money(loader: &Loader<'_>, start_ms: i64, market: &mut RecordedMarket) -> Result<(), StoreError> {
    let mut balances: BTreeMap<QueueName, Credits> = BTreeMap::new();
    let mut closed = BTreeSet::new();
    for row in loader.rows(&format!("{LEDGER} ORDER BY number"), LedgerRow::read)? {
        let entry = row.entry(loader)?;
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

fn load_orders(loader: &Loader<'_>, jobs: &mut [RecordedJob], market: &mut RecordedMarket) -> Result<(), StoreError> {
    let mut jobs: BTreeMap<JobId, &mut RecordedJob> = jobs.iter_mut().map(|job| (job.id, job)).collect();
    let mut placed_at_once = BTreeSet::new();
    let read = |row: &Row<'_>| {
        let texts: [Option<String>; 2] = [row.get(3)?, row.get(4)?];
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?, texts))
    };
    for (tick_ms, job, deadline_ms, [max_rate, max_cost]) in loader.rows(ORDERS, read)? {
        let job: JobId = loader.parse("order_change.job", job, "a job id")?;
        let Some(recorded) = jobs.get_mut(&job) else { continue };
        if recorded.spec.deadline.is_none() {
            recorded.deadline_ms = deadline_ms.or(recorded.deadline_ms);
        }
        // The first one of a job that came with terms is its own.
        if recorded.spec.order.is_some() && placed_at_once.insert(job) {
            continue;
        }
        let change = match (deadline_ms, max_rate) {
            (Some(deadline_ms), Some(max_rate)) => MarketChange::Order(RecordedOrder {
                job,
                deadline_ms,
                max_rate: units(loader, "order_change.max_rate_units", max_rate)?,
                max_cost: max_cost.map(|text| units(loader, "order_change.max_cost_units", text)).transpose()?,
            }),
            _ => MarketChange::OrderTakenBack(job),
        };
        market.changes.push((tick_ms.max(recorded.submit_ms).saturating_add(1), change));
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/recording.rs"]
mod tests;
