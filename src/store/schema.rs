//! The schema of `state.db`, and how an older one becomes the present one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::StoreError;
use super::fault_point::FaultPoint;

/// Each step leads from the version before it to its own; a new database takes all of them.
const STEPS: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
];

/// The newest version known here.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// Key of the schema's version in `meta`.
const SCHEMA_VERSION: &str = "schema_version";

/// Key of the last fact's number in `meta`.
pub(super) const LAST_FACT: &str = "last_fact";

/// Key in `meta` of a copy of the database, until a daemon starts with it.
pub(super) const COPIED: &str = "copied";

/// How long a commit waits for an admin's write lock before it counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// Statements kept prepared: more than there are kinds of facts.
const STATEMENT_CACHE: usize = 64;

/// Which version of the schema a database has, and which this program gives it when it opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersions {
    /// The database's.
    pub found: u32,
    /// This program's.
    pub known: u32,
}

/// Looks at the database of a state folder, also while a daemon writes to it.
///
/// # Errors
/// It cannot be read, or is of a newer program.
pub fn schema_versions(state_dir: &Path) -> Result<SchemaVersions, StoreError> {
    let path = super::folder::database_in(state_dir);
    let failed = |source| StoreError::Database { action: "read the schema version of", path: path.clone(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(&path, flags).map_err(failed)?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let found = version(&database).map_err(failed)?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path, found, known: VERSION });
    }
    Ok(SchemaVersions { found, known: VERSION })
}

/// Opens the database for the writer and brings it to the present version.
pub(super) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let failed = |action| move |source| StoreError::Database { action, path: path.to_owned(), source };
    let mut database = Connection::open(path).map_err(failed("open"))?;
    set_up(&database).map_err(failed("set up"))?;
    FaultPoint::DatabaseOpened.pass();
    let found = version(&database).map_err(failed("read the schema version of"))?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: VERSION });
    }
    migrate(&mut database, found).map_err(failed("migrate"))?;
    Ok(database)
}

fn set_up(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(BUSY_TIMEOUT)?;
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

/// A new database that is gone with its connection.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let mut database = Connection::open_in_memory()?;
    database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    migrate(&mut database, 0)?;
    Ok(database)
}

/// The version of the database; 0 while it is empty.
pub(super) fn version(database: &Connection) -> rusqlite::Result<u32> {
    if !database.table_exists(None, "meta")? {
        return Ok(0);
    }
    Ok(meta(database, SCHEMA_VERSION)?.unwrap_or(0))
}

fn migrate(database: &mut Connection, found: u32) -> rusqlite::Result<()> {
    if found == VERSION {
        return Ok(());
    }
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    FaultPoint::SchemaBegun.pass();
    for step in &STEPS[found as usize..] {
        transaction.execute_batch(step)?;
        FaultPoint::SchemaStep.pass();
    }
    set_meta(&transaction, SCHEMA_VERSION, VERSION)?;
    FaultPoint::SchemaCommit.pass();
    transaction.commit()?;
    FaultPoint::SchemaCommitted.pass();
    Ok(())
}

/// A value of `meta`.
pub(super) fn meta<T: rusqlite::types::FromSql>(database: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    database.prepare_cached("SELECT value FROM meta WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

/// Sets a value of `meta`.
pub(super) fn set_meta<T: rusqlite::ToSql>(transaction: &Transaction<'_>, key: &str, value: T) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    transaction.prepare_cached(sql)?.execute(params![key, value]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_database_has_the_present_version_and_its_pragmas() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        assert_eq!(meta::<u32>(&database, SCHEMA_VERSION).unwrap(), Some(VERSION));
        let pragma = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, String>(0));
        assert_eq!(pragma("journal_mode").unwrap(), "wal");
        let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), number("wal_autocheckpoint")), (2, 0));
        drop(database);
        open_for_writing(&path).unwrap();
    }

    #[test]
    fn a_database_of_version_1_check_stop_with_all_it_has() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(STEPS[0]).unwrap();
        old.execute_batch(
            "INSERT INTO meta VALUES ('schema_version', 1), ('last_fact', 17);
             INSERT INTO account VALUES ('alice', '7.0', '7000000000000', '0.5', '500000000000');
             INSERT INTO ledger VALUES (1, 0, 5, 'alice', 'endowment', NULL, NULL, NULL, NULL, '8.0', '8000000000000',
                 'issued', 'queue:alice');
             INSERT INTO ledger VALUES (2, 1, 9, 'alice', 'charge', '0.5', '500000000000', 2, 0, '1.0', '1000000000000',
                 'queue:alice', 'revenue');",
        )
        .unwrap();
        drop(old);
        let database = open_for_writing(&path).unwrap();
        assert_eq!(version(&database).unwrap(), VERSION);
        assert_eq!(meta::<i64>(&database, LAST_FACT).unwrap(), Some(17));
        let row = "SELECT group_concat(number || ' ' || amount_units || ' ' || movements || ' ' || (day IS NULL), ', ')
                   FROM ledger ORDER BY number";
        let rows: String = database.query_row(row, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, "1 8000000000000 1 1, 2 1000000000000 1 1");
        drop(database);
        assert_eq!(version(&open_for_writing(&path).unwrap()).unwrap(), VERSION);
    }

    #[test]
    fn a_newer_schema_is_refused_and_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        database.execute("UPDATE meta SET value = 7 WHERE key = 'schema_version'", []).unwrap();
        drop(database);
        let error = open_for_writing(&path).unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 7, known: VERSION, .. }));
        let told = format!("has schema version 7, this program knows versions up to {VERSION}");
        assert!(error.to_string().contains(&told), "{error}");
        assert_eq!(version(&Connection::open(&path).unwrap()).unwrap(), 7);
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        std::fs::write(&path, "hadoop_user_1 100.0 1.0\n".repeat(50)).unwrap();
        let error = open_for_writing(&path).unwrap_err().to_string();
        assert!(error.contains("state.db") && error.contains("not a database"), "{error}");
    }

    #[test]
    fn no_column_holds_a_floating_point_number() {
        for step in STEPS {
            for line in step.lines().filter(|line| !line.trim_start().starts_with("--")) {
                assert!(!line.to_uppercase().split_whitespace().any(|word| word == "REAL"), "{line}");
            }
        }
    }
}
