//! A store in memory, for the simulator: the rows and loaders of `state.db`, without file and thread.

use std::path::Path;

use rusqlite::Connection;

use crate::engine::{Fact, Restored};
use crate::model::FactNumber;
use crate::sim::Journal;

use super::counter_encoding::CounterNames;
use super::durable::MissedUpdates;
use super::error::{StoreError, failed};
use super::loaded_state::load as load_state;
use super::schema::LAST_FACT;
use super::{LoadedState, StoreOptions, schema, tables};

/// The store of one simulated daemon. The database is created with the first facts.
#[derive(Debug, Default)]
pub struct InMemoryStore {
    database: Option<Connection>,
    names: CounterNames,
}

/// The path in errors.
const NOWHERE: &str = ":memory:";

impl InMemoryStore {
    /// Writes facts that follow the earlier ones, in one transaction.
    pub(crate) fn write(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), StoreError> {
        let missed_updates = self.try_write(first, facts).map_err(failed("write", Path::new(NOWHERE)))?;
        match missed_updates.complaint() {
            Some(text) => Err(StoreError::Damaged { path: NOWHERE.into(), text }),
            None => Ok(()),
        }
    }

    /// Loads the state, as a start does.
    pub(crate) fn load(&mut self) -> Result<LoadedState, StoreError> {
        let path = Path::new(NOWHERE);
        let database = self.database().map_err(failed("set up", path))?;
        load_state(database, &StoreOptions::new(NOWHERE)).map_err(|error| error.of(path))
    }

    fn try_write(&mut self, first: FactNumber, facts: &[Fact]) -> rusqlite::Result<MissedUpdates> {
        self.database()?;
        let Self { database: Some(database), names } = self else { return Ok(MissedUpdates::default()) };
        let transaction = database.transaction()?;
        let mut missed_updates = MissedUpdates::default();
        let mut last = first.0.saturating_sub(1);
        for (number, fact) in (first.0..).zip(facts) {
            tables::record(&transaction, names, &mut missed_updates, FactNumber(number), fact)?;
            last = number;
        }
        schema::set_meta(&transaction, LAST_FACT, last.cast_signed())?;
        transaction.commit()?;
        Ok(missed_updates)
    }

    fn database(&mut self) -> rusqlite::Result<&Connection> {
        if self.database.is_none() {
            self.database = Some(schema::in_memory()?);
        }
        self.database.as_ref().ok_or(rusqlite::Error::InvalidQuery)
    }
}

impl Journal for InMemoryStore {
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String> {
        self.write(first, facts).map_err(|error| error.to_string())
    }

    fn reopen(&mut self) -> Result<Restored, String> {
        self.load().map(LoadedState::restored).map_err(|error| error.to_string())
    }
}
