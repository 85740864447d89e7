//! What a start takes from the database.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::engine::FactNumber;
use crate::wire::{Identifier, JobId};

use super::error::StoreError;
use super::schema::{LAST_FACT, meta};

/// What was durable when the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
}

/// Reads it.
pub(super) fn load(database: &Connection, path: &Path) -> Result<Opened, StoreError> {
    let loader = Loader { database, path };
    let identifiers = loader.rows("SELECT identifier FROM incarnation", |row| row.get::<_, String>(0))?;
    let kill_debts = loader.rows("SELECT job, tracker FROM kill_debt ORDER BY job, tracker", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Arc<str>>(1)?))
    })?;
    let last_fact = meta::<i64>(database, LAST_FACT).map_err(|source| loader.failed(source))?.unwrap_or(0);
    let max_order: i64 = loader.value("SELECT coalesce(max(accept_order), 0) FROM job")?;
    Ok(Opened {
        first_start: true,
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
    })
}

/// Reads rows and says where a wrong one stands.
pub(super) struct Loader<'a> {
    database: &'a Connection,
    path: &'a Path,
}

// === impl Loader ===

impl Loader<'_> {
    /// All rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || -> rusqlite::Result<Vec<T>> { self.database.prepare(sql)?.query_map([], read)?.collect() };
        all().map_err(|source| self.failed(source))
    }

    /// The one value of a query.
    pub(super) fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T, StoreError> {
        self.database.query_row(sql, [], |row| row.get(0)).map_err(|source| self.failed(source))
    }

    /// A typed value from its text.
    pub(super) fn parse<T: std::str::FromStr>(
        &self,
        table: &'static str,
        value: String,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        value.parse().map_err(|_| StoreError::Value { path: self.path.to_owned(), table, value, expected })
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { action: "read", path: self.path.to_owned(), source }
    }
}
