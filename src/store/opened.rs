//! What a start takes from the database; jobs are in `opened_jobs.rs`, the market is in `opened_market.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Params, params};

use crate::engine::{ForeignState, Restored, RestoredJobs};
use crate::market::MarketFact;
use crate::model::{FactNumber, Identifier, JobId};

use super::budget_image::ImageNotes;
use super::error::StoreError;
use super::opened_jobs::OpenedJobs;
use super::options::StoreOptions;
use super::schema::{COPIED, LAST_FACT, meta};
use super::{budget_image, opened_jobs, opened_market};

/// What was durable when the store was opened.
#[derive(Debug, Default)]
pub struct Opened {
    /// No money has ever come in: the budget file is to be read.
    pub first_start: bool,
    /// The last fact; the next one handed in must follow it.
    pub last_fact: FactNumber,
    /// The identifiers of all incarnations so far; a new one must differ from them all.
    pub identifiers: BTreeSet<Identifier>,
    /// The highest order of acceptance given to a job; 0 when there was none.
    pub max_order: u64,
    /// Trackers that have yet to be told that a job is over.
    pub kill_debts: Vec<(JobId, Arc<str>)>,
    /// Jobs, and what was last said to trackers about them.
    pub jobs: OpenedJobs,
    /// What [`Market::apply`](crate::market::Market::apply) needs to be as it was, in its order: the latest accounts,
    /// the last tick, the ledger rows after it, the stamps.
    pub market: Vec<MarketFact>,
    /// Of the jobs that were looked for those that are known, over or not, or may have been before they were deleted.
    pub looked_for: BTreeSet<JobId>,
    /// It is a copy that was put back: what has happened since it was made is not in it.
    pub is_copy: bool,
    /// What the budget file must be if nobody else has touched it.
    pub budget_image: ImageNotes,
}

// === impl Opened ===

impl Opened {
    /// What the engine goes on with, after a crash, and where no other JobTracker was at work meanwhile.
    pub fn restored(self) -> Restored {
        let OpenedJobs { unfinished, finished, launch_answers, costs, interner } = self.jobs;
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

/// Reads it, of finished jobs the newest and those that trackers have yet to hear of.
pub(super) fn load(database: &Connection, path: &Path, options: &StoreOptions) -> Result<Opened, StoreError> {
    let loader = Loader::new(database, path);
    let identifiers = loader.rows("SELECT identifier FROM incarnation", |row| row.get::<_, String>(0))?;
    let kill_debts = loader.rows("SELECT job, tracker FROM kill_debt ORDER BY job, tracker", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Arc<str>>(1)?))
    })?;
    let last_fact: i64 = loader.note(LAST_FACT)?.unwrap_or(0);
    let max_order: i64 = loader.value("SELECT coalesce(max(accept_order), 0) FROM job")?;
    let first_start =
        loader.value("SELECT NOT EXISTS (SELECT 1 FROM ledger) AND NOT EXISTS (SELECT 1 FROM account)")?;
    Ok(Opened {
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
        jobs: opened_jobs::load(&loader, options.finished_jobs)?,
        market: opened_market::load(&loader)?,
        looked_for: known(&loader, &options.look_for)?,
        is_copy: loader.note::<i64>(COPIED)?.is_some(),
        budget_image: ImageNotes {
            pending: loader.note(budget_image::PENDING)?,
            confirmed: loader.note(budget_image::CONFIRMED)?,
            taken: loader.note(budget_image::TAKEN)?,
            // Every later start and change has facts, so that a mark of old can never pass for one of now.
            is_clean: loader.note::<String>(budget_image::SHOWN)? == Some(last_fact.to_string()),
        },
    })
}

/// Those of the jobs that there are, or may have been.
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

/// Reads rows and says where a wrong one stands.
pub(super) struct Loader<'a> {
    database: &'a Connection,
    path: &'a Path,
}

// === impl Loader ===

impl<'a> Loader<'a> {
    /// A reader of a database that lies at `path`.
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

    /// All rows of a query that is asked with `parameters`, maybe many times.
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
    fn note<T: rusqlite::types::FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
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

    /// The error about a value that is not what it must be.
    pub(super) fn wrong(&self, column: &'static str, value: String, expected: &'static str) -> StoreError {
        StoreError::Value { path: self.path.to_owned(), column, value, expected }
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { action: "read", path: self.path.to_owned(), source }
    }
}

/// What a start would find after these facts, from the first one on: through the very rows, in memory.
#[cfg(test)]
pub(crate) fn opened_after(facts: &[crate::engine::Fact]) -> Opened {
    load(&recorded(facts), Path::new("memory"), &StoreOptions::new("memory")).unwrap()
}

/// What is read of a finished job after these facts.
#[cfg(test)]
pub(crate) fn finished_after(facts: &[crate::engine::Fact], job: JobId) -> crate::mapreduce::StoredJob {
    opened_jobs::finished_with_tasks(&Loader::new(&recorded(facts), Path::new("memory")), job).unwrap().unwrap()
}

#[cfg(test)]
fn recorded(facts: &[crate::engine::Fact]) -> Connection {
    use super::counter_names::CounterNames;
    use super::durable::Rowless;
    use super::{rows, schema};
    let mut database = schema::in_memory().unwrap();
    let transaction = database.transaction().unwrap();
    let (mut names, mut rowless) = (CounterNames::default(), Rowless::default());
    for (number, fact) in (1..).zip(facts) {
        rows::record(&transaction, &mut names, &mut rowless, FactNumber(number), fact).unwrap();
    }
    assert_eq!(rowless, Rowless::default());
    schema::set_meta(&transaction, LAST_FACT, facts.len() as i64).unwrap();
    transaction.commit().unwrap();
    database
}
