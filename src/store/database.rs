//! Opens `state.db`: an empty one gets its schema, one of an older version is migrated, one that is newer than this program
//! or of another program is refused.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::backup::copy_into;
use super::database_reader::open_read_only;
use super::error::{SchemaFound, StoreError, failed};
use super::fault_point::FaultPoint;
use super::migration::{Migration, kept_copies};
use super::schema::{STATEMENT_CACHE, create, find_schema};
use super::steps::{self, VERSION};

/// How long a commit waits for an admin's write lock before it counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// Checks that this program can open a state folder's database, also while a daemon writes to it.
pub(crate) fn check_schema(state_dir: &Path) -> Result<(), StoreError> {
    let path = super::folder::database_in(state_dir);
    readable(&path).map(drop)
}

/// Opens a database for reading, also while a daemon writes to it. One of an older version is read from a temporary copy,
/// which is migrated.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let failed = failed("read", path);
    let (database, version) = readable(path)?;
    if version == VERSION {
        return Ok(database);
    }
    // A file without a name, which SQLite removes.
    let mut copy = Connection::open("").map_err(&failed)?;
    copy_into(&database, &mut copy).map_err(&failed)?;
    steps::run_from(version, &copy, || {}).map_err(failed)?;
    Ok(copy)
}

/// A connection that reads, and the version of the schema, which is at most this program's.
fn readable(path: &Path) -> Result<(Connection, u32), StoreError> {
    let database = open_read_only(path).map_err(failed("read", path))?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(failed("read", path))?;
    let version = known_version_of(&database, path)?;
    Ok((database, version))
}

/// Opens the database for the writer: creates the schema in an empty one, and migrates an older one in a transaction that
/// the caller commits.
pub(super) fn open_migrating(path: &Path) -> Result<(Connection, Option<Migration>), StoreError> {
    let failed = |action| failed(action, path);
    let mut database = Connection::open(path).map_err(failed("open"))?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(failed("open"))?;
    let found = find_schema(&database).map_err(failed("read the schema version of"))?;
    let version = if found == SchemaFound::None { None } else { Some(known_version(path, found)?) };
    set_up(&database).map_err(failed("set up"))?;
    FaultPoint::DatabaseOpened.pass();
    let migration = match version {
        None => {
            create(&mut database).map_err(failed("create the schema of"))?;
            None
        }
        Some(VERSION) => None,
        Some(older) => Some(Migration::begin(&database, path, older)?),
    };
    Ok((database, migration))
}

/// The same, with the migration committed.
#[cfg(test)]
pub(super) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let (database, migration) = open_migrating(path)?;
    migration.map_or(Ok(()), |migration| migration.commit(&database))?;
    Ok(database)
}

fn set_up(database: &Connection) -> rusqlite::Result<()> {
    database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    // Moving the log into the database is the writer's own decision, never part of a commit.
    database.pragma_update(None, "wal_autocheckpoint", 0)?;
    database.pragma_update(None, "locking_mode", "NORMAL")?;
    database.pragma_update(None, "temp_store", "MEMORY")?;
    // Admins may add views and triggers; they get no more rights than the schema's own.
    database.pragma_update(None, "trusted_schema", false)
}

/// The same of an open database.
pub(super) fn known_version_of(database: &Connection, path: &Path) -> Result<u32, StoreError> {
    known_version(path, find_schema(database).map_err(failed("read the schema version of", path))?)
}

fn known_version(path: &Path, found: SchemaFound) -> Result<u32, StoreError> {
    match found {
        SchemaFound::Version(version @ 1..=VERSION) => Ok(version),
        found => {
            let copies = if matches!(found, SchemaFound::Version(_)) { kept_copies(path) } else { Vec::new() };
            let newest = copies.into_iter().filter(|(version, _)| (1..=VERSION).contains(version)).max();
            Err(StoreError::OtherSchema {
                path: path.to_owned(),
                found,
                expected: VERSION,
                copy: newest.map(|(_, copy)| copy),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::{APPLICATION_ID, SCHEMA, version};

    #[test]
    fn a_new_database_has_the_present_version_and_its_pragmas() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        assert_eq!(version(&database).unwrap(), VERSION);
        let pragma = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, String>(0));
        assert_eq!(pragma("journal_mode").unwrap(), "wal");
        let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), number("wal_autocheckpoint")), (2, 0));
        check_schema(scratch.path()).unwrap();
        drop(database);
        open_for_writing(&path).unwrap();
    }

    /// What a start says of a database made by these statements; it and the check leave the file alone.
    fn refusal(statements: &str) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = open_for_writing(&path).unwrap_err().to_string();
        assert_eq!(check_schema(scratch.path()).unwrap_err().to_string(), error);
        assert!(before == std::fs::read(&path).unwrap(), "{error}");
        let path = format!("{} ", path.display());
        error.strip_prefix(&path).unwrap_or_else(|| panic!("{error}")).to_owned()
    }

    #[test]
    fn a_schema_of_before_version_1_is_refused_and_left_alone() {
        for old in [1, 5] {
            let text = refusal(&format!("{SCHEMA}; INSERT INTO meta VALUES ('schema_version', {old})"));
            let expected = format!(
                "has schema version {old} of an unreleased program, expected schema version {VERSION}: move state.db"
            );
            assert!(text.starts_with(&expected), "{text}");
        }
    }

    #[test]
    fn a_newer_version_of_ours_is_refused_and_left_alone() {
        let text = refusal(&format!("{SCHEMA}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 700"));
        let expected =
            format!("has schema version 700, expected schema version {VERSION}: start the program that wrote it");
        assert!(text.starts_with(&expected), "{text}");
    }

    #[test]
    fn the_database_of_another_program_is_refused_and_left_alone() {
        for foreign in ["CREATE TABLE songs (name)", "CREATE TABLE meta (key, value)", "CREATE TABLE meta (name)"] {
            let text = refusal(foreign);
            let expected = format!("is a database of another program, expected schema version {VERSION}");
            assert!(text.starts_with(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        std::fs::write(&path, "hadoop_user_1 100.0 1.0\n".repeat(50)).unwrap();
        let error = open_for_writing(&path).unwrap_err().to_string();
        assert!(error.contains("state.db") && error.contains("not a database"), "{error}");
    }
}
