//! A journal in memory, for the simulator: the same rows and loaders as of `state.db`, without a file and a thread.

use std::path::Path;

use rusqlite::Connection;

use crate::engine::{Fact, Restored};
use crate::model::FactNumber;
use crate::sim::Journal;

use super::counter_names::CounterNames;
use super::durable::Rowless;
use super::error::StoreError;
use super::opened::load;
use super::schema::LAST_FACT;
use super::{Opened, StoreOptions, rows, schema};

/// What the store would hold of one simulated daemon. The database is made when the first facts come.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    database: Option<Connection>,
    names: CounterNames,
}

/// What errors name in the place of a file.
const NOWHERE: &str = ":memory:";

// === impl MemoryJournal ===

impl MemoryJournal {
    /// Writes facts that follow those so far, in one transaction.
    ///
    /// # Errors
    /// A row that the schema refuses, a fact that finds no row to change.
    pub fn write(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), StoreError> {
        let rowless = self.try_write(first, facts).map_err(|source| failed("write", source))?;
        match rowless.complaint() {
            Some(text) => Err(StoreError::Damaged { path: NOWHERE.into(), text }),
            None => Ok(()),
        }
    }

    /// What a start finds now.
    ///
    /// # Errors
    /// Rows that make no sense.
    pub fn opened(&mut self) -> Result<Opened, StoreError> {
        let database = self.database().map_err(|source| failed("set up", source))?;
        load(database, Path::new(NOWHERE), &StoreOptions::new(NOWHERE))
    }

    fn try_write(&mut self, first: FactNumber, facts: &[Fact]) -> rusqlite::Result<Rowless> {
        self.database()?;
        let Self { database: Some(database), names } = self else { return Ok(Rowless::default()) };
        let transaction = database.transaction()?;
        let mut rowless = Rowless::default();
        let mut last = first.0.saturating_sub(1);
        for (number, fact) in (first.0..).zip(facts) {
            rows::record(&transaction, names, &mut rowless, FactNumber(number), fact)?;
            last = number;
        }
        schema::set_meta(&transaction, LAST_FACT, last.cast_signed())?;
        transaction.commit()?;
        Ok(rowless)
    }

    fn database(&mut self) -> rusqlite::Result<&Connection> {
        if self.database.is_none() {
            self.database = Some(schema::in_memory()?);
        }
        self.database.as_ref().ok_or(rusqlite::Error::InvalidQuery)
    }
}

impl Journal for MemoryJournal {
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String> {
        self.write(first, facts).map_err(|error| error.to_string())
    }

    fn reopen(&mut self) -> Result<Restored, String> {
        self.opened().map(Opened::restored).map_err(|error| error.to_string())
    }
}

fn failed(action: &'static str, source: rusqlite::Error) -> StoreError {
    StoreError::Database { action, path: NOWHERE.into(), source }
}
