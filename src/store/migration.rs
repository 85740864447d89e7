//! Migrates a database of an older schema version. Before, a copy of it is kept aside.
//!
//! Invariants: all steps are one transaction, so that a crash leaves the old layout or the present one. A process that
//! replaces another commits it only once it may serve: if it fails before, its predecessor, which may know the old layout
//! only, finds the database as it left it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::backup::keep_aside;
use super::database_reader::open_read_only;
use super::error::{StoreError, failed};
use super::fault_point::FaultPoint;
use super::folder::{at, beside};
use super::steps::{self, VERSION};

/// What the folder must have room for beside the copy and the changes: the write-ahead log of a running daemon, bytes.
const RESERVE_BYTES: u64 = 32 << 20;

#[derive(Debug)]
pub(super) struct Migration {
    path: PathBuf,
    from: u32,
    copy: PathBuf,
}

impl Migration {
    /// Keeps a copy aside, begins a transaction and runs the steps. Dropping the connection undoes them.
    pub(super) fn begin(database: &Connection, path: &Path, from: u32) -> Result<Self, StoreError> {
        FaultPoint::MigrationDue.pass();
        refuse_without_room(database, path)?;
        let copy = copy_before(path, VERSION);
        keep_aside(database, path, &copy)?;
        FaultPoint::MigrationCopyKept.pass();
        database.execute_batch("BEGIN IMMEDIATE").map_err(failed("migrate", path))?;
        FaultPoint::MigrationBegun.pass();
        steps::run_from(from, database, || FaultPoint::MigrationStepRun.pass()).map_err(failed("migrate", path))?;
        FaultPoint::MigrationWritten.pass();
        Ok(Self { path: path.to_owned(), from, copy })
    }

    /// Commits the transaction; returns once it is synced.
    pub(super) fn commit(&self, database: &Connection) -> Result<(), StoreError> {
        let Self { path, from, copy } = self;
        database.execute_batch("COMMIT").map_err(failed("migrate", path))?;
        FaultPoint::MigrationCommitted.pass();
        tracing::info!(
            "{} had schema version {from} and has version {VERSION} now; {} is as it was before, for a return to an older \
             program",
            path.display(),
            copy.display()
        );
        Ok(())
    }
}

/// The copies of a database that migrations have kept, and their schema versions; an unreadable one is passed over.
pub(super) fn kept_copies(database: &Path) -> Vec<(u32, PathBuf)> {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else { return Vec::new() };
    let prefix = copy_prefix(name.to_owned());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_copy = |name: &str| name.strip_prefix(&prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
    let copies = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_copy)).filter_map(|entry| {
        let copy = open_read_only(&entry.path()).ok()?;
        let version = copy.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
        Some((version, entry.path()))
    });
    copies.collect()
}

fn copy_before(database: &Path, version: u32) -> PathBuf {
    beside(database, &format!("{BEFORE}{version}"))
}

const BEFORE: &str = ".before-version-";

fn copy_prefix(name: OsString) -> String {
    format!("{}{BEFORE}", name.to_string_lossy())
}

/// Refuses to begin where the copy, and as much again for the changes, do not fit.
fn refuse_without_room(database: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |name| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let number = |name| number(name).map(i64::cast_unsigned).map_err(failed("read the size of", path));
    let (pages, page_bytes) = (number("page_count")?, number("page_size")?);
    let needed_bytes = pages.saturating_mul(page_bytes).saturating_mul(2).saturating_add(RESERVE_BYTES);
    let folder = path.parent().unwrap_or(Path::new("."));
    let found = rustix::fs::statvfs(folder).map_err(|error| at("read the free space of", folder)(error.into()))?;
    let free_bytes = found.f_bavail.saturating_mul(found.f_frsize);
    if free_bytes < needed_bytes {
        return Err(StoreError::NoRoom { path: path.to_owned(), folder: folder.to_owned(), needed_bytes, free_bytes });
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/migration.rs"]
mod tests;
