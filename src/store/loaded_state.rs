//! Loads the state at a start; jobs are in `loaded_jobs.rs`, the market is in `loaded_market.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Params, params};

use crate::engine::{ForeignState, Restored, RestoredJobs};
use crate::market::MarketFact;
use crate::model::{FactNumber, Identifier, JobId};

use super::budget_file::BudgetFileHashes;
use super::error::StoreError;
use super::loaded_jobs::LoadedJobs;
use super::options::StoreOptions;
use super::schema::{COPIED, LAST_FACT, meta};
use super::{budget_file, loaded_jobs, loaded_market};

/// The durable state when the store was opened.
#[derive(Debug, Default)]
pub struct LoadedState {
    /// No money was ever credited: the budget file must be read.
    pub first_start: bool,
    /// The last fact; the next one sent must follow it.
    pub last_fact: FactNumber,
    /// The identifiers of all incarnations so far; a new one must differ from each.
    pub identifiers: BTreeSet<Identifier>,
    /// The highest order of acceptance of a job; 0 without jobs.
    pub max_order: u64,
    /// Trackers that have not acknowledged the end of a job.
    pub kill_debts: Vec<(JobId, Arc<str>)>,
    /// Jobs, and the last heartbeat responses that launched their attempts.
    pub jobs: LoadedJobs,
    /// The facts that restore the market by [`Market::apply`](crate::market::Market::apply), in its order: the latest
    /// accounts, the last tick, the ledger rows after it, the stamps.
    pub market: Vec<MarketFact>,
    /// The jobs of [`StoreOptions::look_for`] that exist, finished or not, or may have existed before they were
    /// deleted.
    pub looked_for: BTreeSet<JobId>,
    /// It is a restored copy: it lacks everything since the copy was made.
    pub is_copy: bool,
    /// Hashes of the budget file as this program wrote it.
    pub budget_image: BudgetFileHashes,
}

// === impl LoadedState ===

impl LoadedState {
    /// The engine's state after a crash, if no other JobTracker ran meanwhile.
    pub fn restored(self) -> Restored {
        let LoadedJobs { unfinished, finished, launch_answers, costs, interner } = self.jobs;
        let kill_debts = self.kill_debts;
        Restored {
            last_fact: self.last_fact,
            last_order: self.max_order,
            market: self.market,
            foreign_state: ForeignState::default(),
            jobs: RestoredJobs {
                unfinished,
                finished,
                launch_answers,
                pending_kill_jobs: kill_debts,
                costs,
                handed_over: None,
            },
            interner,
        }
    }
}

/// Loads the state; of finished jobs the newest and those whose end a tracker has not acknowledged.
pub(super) fn load(database: &Connection, path: &Path, options: &StoreOptions) -> Result<LoadedState, StoreError> {
    let loader = Loader::new(database, path);
    let identifiers = loader.rows("SELECT identifier FROM incarnation", |row| row.get::<_, String>(0))?;
    let kill_debts = loader.rows("SELECT job, tracker FROM kill_debt ORDER BY job, tracker", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Arc<str>>(1)?))
    })?;
    let last_fact: i64 = loader.meta(LAST_FACT)?.unwrap_or(0);
    let max_order: i64 = loader.value("SELECT coalesce(max(accept_order), 0) FROM job")?;
    let first_start =
        loader.value("SELECT NOT EXISTS (SELECT 1 FROM ledger) AND NOT EXISTS (SELECT 1 FROM account)")?;
    Ok(LoadedState {
        first_start,
        last_fact: FactNumber(last_fact.cast_unsigned()),
        identifiers: identifiers
            .into_iter()
            .map(|text| loader.parse("incarnation.identifier", text, "digits"))
            .collect::<Result<_, _>>()?,
        max_order: max_order.cast_unsigned(),
        kill_debts: kill_debts
            .into_iter()
            .map(|(job, tracker)| Ok((loader.parse("kill_debt.job", job, "a job id")?, tracker)))
            .collect::<Result<_, StoreError>>()?,
        jobs: loaded_jobs::load(&loader, options.finished_jobs)?,
        market: loaded_market::load(&loader)?,
        looked_for: known(&loader, &options.look_for)?,
        is_copy: loader.meta::<i64>(COPIED)?.is_some(),
        budget_image: BudgetFileHashes {
            pending: loader.meta(budget_file::PENDING)?,
            confirmed: loader.meta(budget_file::CONFIRMED)?,
            taken: loader.meta(budget_file::TAKEN)?,
            // Every later start and change has facts, so an old mark never equals the present number.
            is_clean: loader.meta::<String>(budget_file::SHOWN)? == Some(last_fact.to_string()),
        },
    })
}

/// The jobs that exist or, deleted since, may have existed.
fn known(loader: &Loader<'_>, jobs: &BTreeSet<JobId>) -> Result<BTreeSet<JobId>, StoreError> {
    let mut known = BTreeSet::new();
    for job in jobs {
        let sql = "SELECT 1 FROM job WHERE job = ?1
                   UNION SELECT 1 FROM deleted_job WHERE identifier = ?2 AND last_number >= ?3";
        let asked = params![job.to_string(), job.identifier.to_string(), job.number];
        if !loader.rows_with(sql, asked, |row| row.get::<_, i64>(0))?.is_empty() {
            known.insert(*job);
        }
    }
    Ok(known)
}

/// Reads rows; its errors name the column of an invalid value.
pub(super) struct Loader<'a> {
    database: &'a Connection,
    path: &'a Path,
}

// === impl Loader ===

impl<'a> Loader<'a> {
    /// A reader of the database at `path`.
    pub(super) fn new(database: &'a Connection, path: &'a Path) -> Self {
        Self { database, path }
    }

    /// All rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.rows_with(sql, [], read)
    }

    /// All rows of a query with `parameters`; the statement is cached.
    pub(super) fn rows_with<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.database.prepare_cached(sql)?.query_map(parameters, read)?.collect()
        };
        all().map_err(|source| self.failed(source))
    }

    /// All rows of a query whose columns are texts.
    pub(super) fn texts<const COLUMNS: usize>(&self, sql: &str) -> Result<Vec<[String; COLUMNS]>, StoreError> {
        self.rows(sql, |row| {
            let mut texts = [const { String::new() }; COLUMNS];
            for (index, text) in texts.iter_mut().enumerate() {
                *text = row.get(index)?;
            }
            Ok(texts)
        })
    }

    /// A value of `meta`.
    fn meta<T: rusqlite::types::FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
        meta(self.database, key).map_err(|source| self.failed(source))
    }

    /// The one value of a query.
    pub(super) fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T, StoreError> {
        self.database.query_row(sql, [], |row| row.get(0)).map_err(|source| self.failed(source))
    }

    /// A typed value from its text.
    pub(super) fn parse<T: std::str::FromStr>(
        &self,
        column: &'static str,
        value: String,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        value.parse().map_err(|_| self.wrong(column, value, expected))
    }

    /// The error about an invalid value.
    pub(super) fn wrong(&self, column: &'static str, value: String, expected: &'static str) -> StoreError {
        StoreError::Value { path: self.path.to_owned(), column, value, expected }
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { action: "read", path: self.path.to_owned(), source }
    }
}

/// The state that a start would load after these facts, through the same rows, in memory.
#[cfg(test)]
pub(crate) fn loaded_after(facts: &[crate::engine::Fact]) -> LoadedState {
    load(&recorded(facts), Path::new("memory"), &StoreOptions::new("memory")).unwrap()
}

/// A finished job as read after these facts.
#[cfg(test)]
pub(crate) fn finished_after(facts: &[crate::engine::Fact], job: JobId) -> crate::mapreduce::StoredJob {
    loaded_jobs::finished_with_tasks(&Loader::new(&recorded(facts), Path::new("memory")), job).unwrap().unwrap()
}

#[cfg(test)]
fn recorded(facts: &[crate::engine::Fact]) -> Connection {
    use super::counter_names::CounterNames;
    use super::durable::MissedUpdates;
    use super::{rows, schema};
    let mut database = schema::in_memory().unwrap();
    let transaction = database.transaction().unwrap();
    let (mut names, mut missed_updates) = (CounterNames::default(), MissedUpdates::default());
    for (number, fact) in (1..).zip(facts) {
        rows::record(&transaction, &mut names, &mut missed_updates, FactNumber(number), fact).unwrap();
    }
    assert_eq!(missed_updates, MissedUpdates::default());
    schema::set_meta(&transaction, LAST_FACT, facts.len() as i64).unwrap();
    transaction.commit().unwrap();
    database
}
