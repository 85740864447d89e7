//! Puts a copy of a state database in the place of the present one, which is kept aside, while no daemon runs.
//!
//! Invariants: nothing changes before the copy is checked; at every moment the folder has a whole `state.db`, the one of before
//! or the copy; no log of the one lies beside the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::market::FROM_SQL;

use super::backup::{BackupSummary, checked_contents, keep_aside};
use super::database::known_version_of;
use super::database_reader::open_read_only;
use super::error::{StoreError, failed};
use super::fault_point::FaultPoint;
use super::folder::{StateFolder, at, beside, database_in, sync_folder};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestoreSummary {
    pub(crate) database: PathBuf,
    pub(crate) copy: BackupSummary,
    /// Where the database of before is; none if there was none.
    pub(crate) kept: Option<PathBuf>,
    /// What that had and the copy lacks, or why it cannot be read.
    pub(crate) lost: Result<LostState, String>,
}

/// What is lost with a database that a copy replaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostState {
    /// Jobs and applications that the copy does not know: id, user, state.
    pub(crate) submitted: Vec<[String; 3]>,
    /// Jobs that it has as unfinished, and that have ended: id, user, state.
    pub(crate) ended: Vec<[String; 3]>,
    /// Movements of money other than charges.
    pub(crate) money: Vec<LostMovement>,
    /// What was set, and is as the copy has it now.
    pub(crate) settings: Vec<LostSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostMovement {
    pub(crate) time_ms: i64,
    pub(crate) reason: String,
    pub(crate) queue: String,
    /// Below 0 where the queue lost it.
    pub(crate) amount: String,
    /// The queues of a transfer: from which, to which.
    pub(crate) transfer: Option<[String; 2]>,
    /// Who moved it, and what was said about it; perhaps empty.
    pub(crate) made_by: String,
    pub(crate) note: String,
    pub(crate) comes_again: Option<ComesAgain>,
}

/// Why the next start moves the money again by itself, so that a person who does the same pays twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComesAgain {
    /// Its row in a database of budgets is found again.
    FromSql,
    /// The allowance is in the copy, and its missed periods are paid.
    AsAllowance,
}

/// A thing that a person has set, with its value in the database of before and in the copy; none: it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostSetting {
    pub(crate) subject: String,
    pub(crate) lost: Option<String>,
    pub(crate) copy: Option<String>,
}

pub(crate) fn restore(state_dir: &Path, file: &Path) -> Result<RestoreSummary, StoreError> {
    if !fs::metadata(file).map_err(at("restore", file))?.is_file() {
        // A pipe without a writer would hold up the restore.
        let source = std::io::Error::new(ErrorKind::InvalidInput, "it is not a regular file; expected a backup");
        return Err(at("restore", file)(source));
    }
    let copy = open_read_only(file).map_err(failed("read", file))?;
    known_version_of(&copy, file)?;
    let contents = checked_contents(&copy, file)?;
    let folder = StateFolder::lock(state_dir)?;
    let database = database_in(state_dir);
    let is_same = |path: &Path| path.canonicalize().ok();
    if database.exists() && is_same(&database) == is_same(file) {
        let source = std::io::Error::new(ErrorKind::InvalidInput, "it is the database itself; expected a backup of it");
        return Err(at("restore", file)(source));
    }
    FaultPoint::RestoreDue.pass();
    let new = beside(&database, ".restoring");
    keep_aside(&copy, file, &new)?;
    drop(copy);
    FaultPoint::RestoreCopied.pass();
    let (kept, lost) = match database.exists() {
        true => {
            let lost = match is_sqlite(&database) {
                true => lost_state(&database, file).map_err(|error| error.to_string()),
                // SQLite would delete its log.
                false => Err("it is not a database".to_owned()),
            };
            (Some(keep(&database)?), lost)
        }
        false => (None, Ok(LostState::default())),
    };
    FaultPoint::RestoreKept.pass();
    fs::rename(&new, &database).map_err(at("rename", &new))?;
    FaultPoint::RestoreRenamed.pass();
    sync_folder(state_dir).map_err(at("sync", state_dir))?;
    FaultPoint::RestoreDone.pass();
    drop(folder);
    Ok(RestoreSummary { database, copy: contents, kept, lost })
}

/// Whether a file begins as databases do.
fn is_sqlite(path: &Path) -> bool {
    let mut begin = [0; 16];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"SQLite format 3\0"
}

/// Gives the database a second name, and its log, where it still has one, that name instead.
fn keep(database: &Path) -> Result<PathBuf, StoreError> {
    let name = |number: u32| beside(database, &format!(".replaced-{number}"));
    let free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let kept = (1..u32::MAX).map(name).find(free).unwrap_or_else(|| name(0));
    if fs::hard_link(database, &kept).is_err() {
        fs::copy(database, &kept).map_err(at("copy", database))?;
        fs::File::open(&kept).and_then(|file| file.sync_all()).map_err(at("sync", &kept))?;
    }
    // SQLite has left none unless it could not read them.
    for log in ["-wal", "-shm"] {
        match fs::rename(beside(database, log), beside(&kept, log)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(at("rename", &beside(database, log))(error));
            }
            _ => {}
        }
    }
    Ok(kept)
}

const SUBMITTED: &str = "SELECT job, user, state FROM main.job WHERE job NOT IN (SELECT job FROM copy.job)
         AND accept_order > (SELECT coalesce(max(accept_order), 0) FROM copy.job)
     ORDER BY accept_order";
const APPLIED: &str = "SELECT application, user, state FROM main.application
     WHERE application NOT IN (SELECT application FROM copy.application)
         AND accept_order > (SELECT coalesce(max(accept_order), 0) FROM copy.application)
     ORDER BY accept_order";
const ENDED: &str =
    "SELECT now.job, now.user, now.state FROM main.job AS now JOIN copy.job AS before ON before.job = now.job
     WHERE before.finish_ms IS NULL AND now.finish_ms IS NOT NULL ORDER BY now.accept_order";
/// Charges come of what ran, so they are not repeated.
const MONEY: &str =
    "SELECT wall_ms, reason, coalesce(queue, ''), amount, debit, credit, coalesce(made_by, ''), coalesce(note, '')
     FROM main.ledger WHERE reason <> 'charge' AND number > (SELECT coalesce(max(number), 0) FROM copy.ledger) ORDER BY number";

/// By table: what is set, and to what. Of jobs: those that both databases have, and that are not over.
const SETTINGS: [(&str, &str); 10] = [
    ("account", "SELECT 'queue ' || queue, 'there' FROM {db}.account"),
    ("account", "SELECT 'spending of queue ' || queue, rate FROM {db}.account"),
    (
        "allowance",
        "SELECT 'allowance of queue ' || queue, credits || ' every ' || every_s || ' s' || coalesce(', at most ' || cap, '')
         FROM {db}.allowance",
    ),
    ("pause", "SELECT 'pause of queue ' || name, 'by ' || user FROM {db}.pause WHERE kind = 'queue'"),
    (
        "pause",
        "SELECT 'hold of ' || name, 'by ' || user FROM {db}.pause WHERE kind = 'job' AND name IN (SELECT job FROM both)",
    ),
    ("job", "SELECT 'priority of ' || job, priority FROM {db}.job WHERE job IN (SELECT job FROM both)"),
    ("job", "SELECT 'pool of ' || job, pool FROM {db}.job WHERE pool IS NOT NULL AND job IN (SELECT job FROM both)"),
    (
        "market_order",
        "SELECT 'order for ' || job, 'at most ' || max_rate || ' until ' || strftime('%Y-%m-%dT%H:%M:%SZ', deadline_ms / 1000, 'unixepoch')
         FROM {db}.market_order WHERE job IN (SELECT job FROM both)",
    ),
    ("drained_worker", "SELECT 'drain of worker ' || worker, 'by ' || user FROM {db}.drained_worker"),
    (
        "meta",
        "SELECT 'scheduler of `jobtracker scheduler use`', value ->> '$.class' FROM {db}.meta WHERE key = 'scheduler_choice'",
    ),
];
const BOTH: &str =
    "CREATE TEMP TABLE both AS SELECT now.job FROM main.job AS now JOIN copy.job AS before ON before.job = now.job
     WHERE now.finish_ms IS NULL";

/// What is set in the database `name`; a program of before has had fewer tables.
fn settings_in(connection: &Connection, name: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (table, sql) in SETTINGS {
        if connection.table_exists(Some(name), table)? {
            let mut select = connection.prepare(&sql.replace("{db}", name))?;
            for row in select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                let (subject, value) = row?;
                found.insert(subject, value);
            }
        }
    }
    Ok(found)
}

/// What was set in one database and is not in its copy.
fn lost_settings(connection: &Connection) -> rusqlite::Result<Vec<LostSetting>> {
    connection.execute(BOTH, [])?;
    let (mut now, mut before) = (settings_in(connection, "main")?, settings_in(connection, "copy")?);
    // The spending of a queue that is lost is set with it, that of one that is back comes with it.
    let is_with_queue = |subject: &str, queues: &BTreeMap<String, String>| {
        subject.strip_prefix("spending of ").is_some_and(|queue| !queues.contains_key(queue))
    };
    let subjects: BTreeSet<String> = now.keys().chain(before.keys()).cloned().collect();
    let with_queue = |subject: &String| is_with_queue(subject, &before) || is_with_queue(subject, &now);
    let apart: Vec<String> = subjects.into_iter().filter(|subject| !with_queue(subject)).collect();
    let settings = apart.into_iter().map(|subject| {
        let (lost, copy) = (now.remove(&subject), before.remove(&subject));
        LostSetting { subject, lost, copy }
    });
    Ok(settings.filter(|setting| setting.lost != setting.copy).collect())
}

/// A row of [`MONEY`], where the copy has these allowances.
fn lost_movement(row: &rusqlite::Row<'_>, allowances: &BTreeSet<String>) -> rusqlite::Result<LostMovement> {
    let (reason, debit, credit): (String, String, String) = (row.get(1)?, row.get(4)?, row.get(5)?);
    let (queue, amount, made_by): (String, String, String) = (row.get(2)?, row.get(3)?, row.get(6)?);
    let named = |side: &str| side.strip_prefix("queue:").map(str::to_owned);
    let transfer =
        (reason == "transfer").then(|| [&debit, &credit].map(|side| named(side).unwrap_or_else(|| side.clone())));
    let amount = if transfer.is_none() && named(&debit).is_some() { format!("-{amount}") } else { amount };
    let comes_again = match &*reason {
        "adjustment" if made_by.starts_with(FROM_SQL) => Some(ComesAgain::FromSql),
        "allowance" if allowances.contains(&queue) => Some(ComesAgain::AsAllowance),
        _ => None,
    };
    let (time_ms, note) = (row.get(0)?, row.get(7)?);
    Ok(LostMovement { time_ms, reason, queue, amount, transfer, made_by, note, comes_again })
}

/// What a database has that its copy lacks. Leaves it without a log.
fn lost_state(database: &Path, file: &Path) -> rusqlite::Result<LostState> {
    let connection = Connection::open(database)?;
    connection.execute("ATTACH ?1 AS copy", [file.to_string_lossy()])?;
    let rows = |sql: &str| -> rusqlite::Result<Vec<[String; 3]>> {
        connection.prepare(sql)?.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?.collect()
    };
    let mut lost = LostState { submitted: rows(SUBMITTED)?, ended: rows(ENDED)?, ..LostState::default() };
    // Programs of before applications have no such tables.
    if connection.table_exists(Some("main"), "application")? && connection.table_exists(Some("copy"), "application")? {
        lost.submitted.extend(rows(APPLIED)?);
    }
    // Older programs recorded no author, and had no allowances.
    let money = match connection.column_exists(Some("main"), "ledger", "made_by")? {
        true => MONEY.to_owned(),
        false => MONEY.replace("made_by", "''").replace("note", "''"),
    };
    let mut allowances = BTreeSet::new();
    if connection.table_exists(Some("copy"), "allowance")? {
        let mut select = connection.prepare("SELECT queue FROM copy.allowance")?;
        allowances = select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<String>>>()?;
    }
    let movement = |row: &rusqlite::Row<'_>| lost_movement(row, &allowances);
    lost.money = connection.prepare(&money)?.query_map([], movement)?.collect::<rusqlite::Result<_>>()?;
    lost.settings = lost_settings(&connection)?;
    connection.execute("DETACH copy", [])?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(lost)
}

#[cfg(test)]
#[path = "tests/restore.rs"]
mod tests;
