//! What a dead daemon left: a copy of its state folder and budget file, read without its code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use rusqlite::{Connection, Row};

use super::amount::units_of;

/// A row of the ledger. Sums are units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    pub number: i64,
    pub tick: i64,
    pub wall_ms: i64,
    pub queue: Option<String>,
    pub reason: String,
    pub rate: Option<i128>,
    /// Map and reduce slots times the milliseconds for which they were held.
    pub slot_ms: Option<(i64, i64)>,
    /// The length of a whole interval; a daily sum has none.
    pub interval_ms: Option<i64>,
    pub amount: i128,
    pub debit: String,
    pub credit: String,
    /// Of a daily sum its day.
    pub day: Option<String>,
    pub movements: i64,
}

/// A tick, with the ledger's totals as the daemon counted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    pub number: i64,
    pub wall_ms: i64,
    pub price: i128,
    pub ledger_rows: i64,
    pub issued: i128,
    pub charged: i128,
}

/// The open interval of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub tick: i64,
    pub rate: i128,
    pub map_slots: i64,
    pub reduce_slots: i64,
    pub used: i64,
    pub pending: i64,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Balance and bid of each queue.
    pub accounts: BTreeMap<String, (i128, i128)>,
    /// In order of their numbers.
    pub ledger: Vec<LedgerRow>,
    /// In order of their numbers.
    pub ticks: Vec<Tick>,
    /// By queue.
    pub allocations: BTreeMap<String, Allocation>,
    /// Timestamps of used signatures by consumer and user.
    pub used: BTreeMap<(String, String), BTreeSet<i64>>,
    /// Up to which timestamp used signatures are no longer kept, by consumer and user.
    pub forgotten: BTreeMap<(String, String), i64>,
    /// What the jobs that each queue paid for have cost together: those of its user.
    pub costs: BTreeMap<String, i128>,
    /// Ids of all jobs.
    pub jobs: BTreeSet<String>,
    /// By identifier, the highest number of a job that was deleted as one too many.
    pub deleted: BTreeMap<String, i32>,
    /// Attempts that were preempted.
    pub preempted: usize,
    /// The table `meta`.
    pub notes: BTreeMap<String, String>,
    /// The budget file.
    pub budget_file: String,
}

const BUDGET_FILE: &str = "budget";

/// Of jobs, and of those of a queue that were deleted.
const COSTS: &str = "SELECT user, cost, cost_units FROM job_cost JOIN job USING (job)
     UNION ALL SELECT queue, cost, cost_units FROM deleted_job_cost";

// === impl Evidence ===

impl Evidence {
    /// Copies what is there into `copy`, and reads the copy: what is there stays as the daemon left it.
    pub fn secure(state: &Path, budget_file: &Path, copy: &Path) -> anyhow::Result<Self> {
        Self::copy(state, budget_file, copy)?;
        Self::read_copy(copy)
    }

    /// Whether the signature of a timestamp is never accepted again.
    pub fn is_used(&self, consumer: &str, user: &str, timestamp_ms: i64) -> bool {
        let place = (consumer.to_owned(), user.to_owned());
        self.used.get(&place).is_some_and(|used| used.contains(&timestamp_ms))
            || self.forgotten.get(&place).is_some_and(|up_to_ms| *up_to_ms >= timestamp_ms)
    }

    /// Copies state folder and budget file into `copy`, in the place of an earlier copy.
    pub fn copy(state: &Path, budget_file: &Path, copy: &Path) -> anyhow::Result<()> {
        match fs::remove_dir_all(copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir(copy)?,
        }
        if state.exists() {
            for entry in fs::read_dir(state)? {
                let entry = entry?;
                // The socket by which a newer program takes over is nothing to copy.
                if !entry.file_type()?.is_file() {
                    continue;
                }
                fs::copy(entry.path(), copy.join(entry.file_name()))?;
            }
        }
        fs::copy(budget_file, copy.join(BUDGET_FILE)).context("the budget file")?;
        Ok(())
    }

    /// Reads a copy.
    pub fn read_copy(copy: &Path) -> anyhow::Result<Self> {
        let budget_file = fs::read_to_string(copy.join(BUDGET_FILE)).context("the budget file")?;
        let database = copy.join("state.db");
        if !database.exists() {
            return Ok(Self { budget_file, ..Self::default() });
        }
        let database = Connection::open(&database)?;
        let mut evidence = Self::read(&database).context("state.db")?;
        evidence.budget_file = budget_file;
        Ok(evidence)
    }

    /// Reads the tables. A database that a first start did not come to fill lacks the last of them.
    fn read(database: &Connection) -> anyhow::Result<Self> {
        let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        ensure!(sound == "ok", "it is damaged: {sound}");
        let tables: i64 =
            database
                .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'used_signature'", [], |row| row.get(0))?;
        if tables == 0 {
            return Ok(Self::default());
        }
        let mut evidence = Self::default();
        each(database, "SELECT queue, balance, balance_units, rate, rate_units FROM account", |row| {
            evidence.accounts.insert(row.get(0)?, (sum(row, 1)?, sum(row, 3)?));
            Ok(())
        })?;
        each(
            database,
            "SELECT number, tick, wall_ms, queue, reason, rate, rate_units, map_slot_ms, reduce_slot_ms, amount,
                 amount_units, debit, credit, day, movements, interval_ms FROM ledger ORDER BY number",
            |row| {
                let maps: Option<i64> = row.get(7)?;
                evidence.ledger.push(LedgerRow {
                    number: row.get(0)?,
                    tick: row.get(1)?,
                    wall_ms: row.get(2)?,
                    queue: row.get(3)?,
                    reason: row.get(4)?,
                    rate: if row.get::<_, Option<String>>(5)?.is_some() { Some(sum(row, 5)?) } else { None },
                    slot_ms: maps.zip(row.get(8)?),
                    interval_ms: row.get(15)?,
                    amount: sum(row, 9)?,
                    debit: row.get(11)?,
                    credit: row.get(12)?,
                    day: row.get(13)?,
                    movements: row.get(14)?,
                });
                Ok(())
            },
        )?;
        each(
            database,
            "SELECT number, wall_ms, ledger_rows, price, price_units, issued, issued_units, charged, charged_units
             FROM tick ORDER BY number",
            |row| {
                let [number, wall_ms, ledger_rows] = [row.get(0)?, row.get(1)?, row.get(2)?];
                let [price, issued, charged] = [sum(row, 3)?, sum(row, 5)?, sum(row, 7)?];
                evidence.ticks.push(Tick { number, wall_ms, price, ledger_rows, issued, charged });
                Ok(())
            },
        )?;
        each(
            database,
            "SELECT queue, tick, rate, map_slots, reduce_slots, interval ->> '$.used', interval ->> '$.pending' FROM allocation",
            |row| {
                let rate: String = row.get(2)?;
                let allocation = Allocation {
                    tick: row.get(1)?,
                    rate: units_of(&rate).with_context(|| format!("a rate of {rate}"))?,
                    map_slots: row.get(3)?,
                    reduce_slots: row.get(4)?,
                    used: row.get(5)?,
                    pending: row.get(6)?,
                };
                evidence.allocations.insert(row.get(0)?, allocation);
                Ok(())
            },
        )?;
        each(database, "SELECT consumer, user, timestamp_ms FROM used_signature", |row| {
            evidence.used.entry((row.get(0)?, row.get(1)?)).or_default().insert(row.get(2)?);
            Ok(())
        })?;
        each(
            database,
            "SELECT consumer, user, max(up_to_ms) FROM forgotten_signature GROUP BY consumer, user",
            |row| {
                evidence.forgotten.insert((row.get(0)?, row.get(1)?), row.get(2)?);
                Ok(())
            },
        )?;
        each(database, "SELECT 1 FROM attempt WHERE kill_request = 'PREEMPTED'", |_| {
            evidence.preempted += 1;
            Ok(())
        })?;
        each(database, COSTS, |row| {
            *evidence.costs.entry(row.get(0)?).or_default() += sum(row, 1)?;
            Ok(())
        })?;
        each(database, "SELECT job FROM job", |row| {
            evidence.jobs.insert(row.get(0)?);
            Ok(())
        })?;
        each(database, "SELECT identifier, last_number FROM deleted_job", |row| {
            evidence.deleted.insert(row.get(0)?, row.get(1)?);
            Ok(())
        })?;
        each(database, "SELECT key, CAST(value AS TEXT) FROM meta", |row| {
            evidence.notes.insert(row.get(0)?, row.get(1)?);
            Ok(())
        })?;
        Ok(evidence)
    }

    /// Whether the job is there, or may have been before it was deleted.
    pub fn knows(&self, job: &str) -> bool {
        let parts = job.strip_prefix("job_").and_then(|rest| rest.split_once('_'));
        let last = parts.and_then(|(identifier, number)| self.deleted.get(identifier).zip(number.parse().ok()));
        self.jobs.contains(job) || last.is_some_and(|(last, number): (&i32, i32)| number <= *last)
    }

    /// The number up to which the ledger stands there in daily sums.
    pub fn folded_through(&self) -> i64 {
        self.notes.get("ledger_folded_through").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// What the rows up to a number have brought in from outside, and what they have charged.
    pub fn issued_and_charged(&self, last: i64) -> (i128, i128) {
        let rows = self.ledger.iter().filter(|row| row.number <= last);
        rows.fold((0, 0), |(issued, charged), row| (issued + row.issued(), charged + row.charged()))
    }

    /// The last tick.
    pub fn last_tick(&self) -> Option<&Tick> {
        self.ticks.last()
    }
}

// === impl LedgerRow ===

impl LedgerRow {
    /// What it brought in from outside.
    pub fn issued(&self) -> i128 {
        match (self.debit.as_str(), self.credit.as_str()) {
            ("issued", _) => self.amount,
            (_, "issued") => -self.amount,
            _ => 0,
        }
    }

    /// What it charged.
    pub fn charged(&self) -> i128 {
        if self.credit == "revenue" { self.amount } else { 0 }
    }

    /// Of a movement of a queue's money: the queue, and what it got or lost.
    pub fn of_queue(&self) -> Option<(&str, i128)> {
        match (self.debit.strip_prefix("queue:"), self.credit.strip_prefix("queue:")) {
            (Some(queue), None) => Some((queue, -self.amount)),
            (None, Some(queue)) => Some((queue, self.amount)),
            _ => None,
        }
    }
}

fn each(database: &Connection, sql: &str, mut take: impl FnMut(&Row<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// A sum that stands there as decimal text and, in the column behind, as units: both must say the same.
fn sum(row: &Row<'_>, column: usize) -> anyhow::Result<i128> {
    let (text, units): (String, String) = (row.get(column)?, row.get(column + 1)?);
    match (units_of(&text), units.parse()) {
        (Some(sum), Ok(units)) if sum == units => Ok(sum),
        _ => bail!("{text:?} is not {units:?} units"),
    }
}
