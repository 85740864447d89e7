//! Reads containers that are complete, beside the writer and without it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use crate::engine::Container;
use crate::model::{ApplicationId, ContainerId};

use super::error::StoreError;
use super::loader::Loader;

/// Reads complete containers of a state database. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub struct StoredContainerReader {
    database: PathBuf,
}

/// Which complete containers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContainers {
    /// With a higher number than this.
    pub after: u64,
    /// Up to this number.
    pub through: u64,
    /// Only those that failed by their own fault.
    pub failed_only: bool,
    /// At most so many.
    pub limit: usize,
}

// === impl StoredContainerReader ===

impl StoredContainerReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: database.to_owned() }
    }

    /// Complete containers of an application, by number. Blocks on the disk.
    ///
    /// # Errors
    /// The database cannot be read, or a value in it is not valid.
    pub fn complete(&self, application: ApplicationId, wanted: StoredContainers) -> Result<Vec<Container>, StoreError> {
        let StoredContainers { after, through, failed_only, limit } = wanted;
        let sql = "SELECT record FROM container
                   WHERE application = ?1 AND number > ?2 AND number <= ?3 AND ended_ms IS NOT NULL
                       AND (is_failed OR NOT ?4)
                   ORDER BY number LIMIT ?5";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.read(sql, params![application.to_string(), bound(after), bound(through), failed_only, limit])
    }

    /// A container, if it is complete. Blocks on the disk.
    ///
    /// # Errors
    /// The database cannot be read, or a value in it is not valid.
    pub fn one(&self, id: ContainerId) -> Result<Option<Container>, StoreError> {
        let wanted =
            StoredContainers { after: id.number.saturating_sub(1), through: id.number, failed_only: false, limit: 1 };
        let found = self.complete(id.application, wanted)?.pop();
        Ok(found.filter(|container| container.id == id))
    }

    fn read(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<Container>, StoreError> {
        let failed = |source| StoreError::Database { action: "read", path: self.database.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&self.database, flags).map_err(failed)?;
        let loader = Loader::new(&database, &self.database);
        let records = loader.rows_with(sql, values, |row| row.get::<_, String>(0))?;
        let wrong = |record: String| loader.wrong("container.record", record, "a container, JSON");
        records.into_iter().map(|record| serde_json::from_str(&record).map_err(|_| wrong(record.clone()))).collect()
    }
}
