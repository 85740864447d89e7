//! Reads a state database beside its writer.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::error::{StoreError, failed};
use super::loader::LoadError;
use super::schema::STATEMENT_CACHE;

/// A state database that others may write. Cheap to clone; each read opens its own connection.
#[derive(Clone, Debug)]
pub(super) struct DatabaseReader(PathBuf);

impl DatabaseReader {
    pub(super) fn new(database: &Path) -> Self {
        Self(database.to_owned())
    }

    /// Reads what one state of the database has. Blocks on the disk.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, LoadError>) -> Result<T, StoreError> {
        let mut database = open_read_only(&self.0).map_err(failed("read", &self.0))?;
        database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
        let snapshot = database.transaction().map_err(failed("read", &self.0))?;
        read(&snapshot).map_err(|error| error.of(&self.0))
    }
}

pub(super) fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}
