//! Loads the whole state beside the writer, as a start does.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::loaded_state::{LoadedState, load};
use super::options::StoreOptions;
use super::schema::STATEMENT_CACHE;

/// Reads a state database that others may write. Each call opens its own connection.
#[derive(Clone, Debug)]
pub struct StateReader {
    database: std::path::PathBuf,
    options: StoreOptions,
}

impl StateReader {
    pub(super) fn new(database: &Path, options: &StoreOptions) -> Self {
        Self { database: database.to_owned(), options: options.clone() }
    }

    /// The state of one moment: all facts up to [`LoadedState::last_fact`]. Blocks on the disk.
    pub fn load(&self) -> Result<LoadedState, StoreError> {
        let failed = |source| StoreError::Database { action: "read", path: self.database.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut database = Connection::open_with_flags(&self.database, flags).map_err(failed)?;
        database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        // All reads see what the first one saw.
        let moment = database.transaction().map_err(failed)?;
        load(&moment, &self.database, &self.options)
    }

    /// Newest finished jobs that a load has.
    pub(crate) fn finished_jobs(&self) -> usize {
        self.options.finished_jobs
    }
}
