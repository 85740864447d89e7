//! The schema of `state.db`: made by the first start, and refused where it is of another version.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::{SchemaFound, StoreError};
use super::fault_point::FaultPoint;

const SCHEMA: &str = include_str!("schema.sql");

/// Tables that the first databases of this version lack. A program that does not know them leaves them alone.
const LATER_TABLES: &str = include_str!("later_tables.sql");

/// The version of [`SCHEMA`], in the database's `user_version`. No other version can be read.
pub(super) const VERSION: u32 = 1;

/// Columns of [`SCHEMA`] that the first databases of this version lack: table, name, declaration. A program that does
/// not know them reads and writes the database as before, so they need no other version.
const LATER_COLUMNS: [(&str, &str, &str); 9] = [
    ("attempt", "slots", "INTEGER NOT NULL DEFAULT 1"),
    ("job", "pool", "TEXT"),
    ("job", "deadline", "TEXT"),
    ("job", "estimate", "TEXT"),
    ("job", "log_key", "BLOB"),
    ("ledger", "container_slots", "INTEGER"),
    ("ledger", "other_queue", "TEXT"),
    ("ledger", "made_by", "TEXT"),
    ("ledger", "note", "TEXT"),
];

/// Indexes on columns that are later.
const LATER_INDEXES: &str = "CREATE INDEX IF NOT EXISTS ledger_by_other_queue ON ledger (other_queue, number)
    WHERE other_queue IS NOT NULL";

/// In the database's `application_id`.
const APPLICATION_ID: u32 = u32::from_be_bytes(*b"jobt");

/// Key of the last fact's number in `meta`.
pub(super) const LAST_FACT: &str = "last_fact";

/// Key in `meta` of a copy of the database, until a daemon starts with it.
pub(super) const COPIED: &str = "copied";

/// Key in `meta` of the last choice of a scheduler, JSON.
pub(super) const SCHEDULER_CHOICE: &str = "scheduler_choice";

/// Key in `meta` of the start in the latest id of an application that was given out, epoch ms.
pub(super) const APPLICATION_START_MS: &str = "application_start_ms";

/// Key in `meta` of the number of the last delegation token.
pub(super) const DELEGATION_SEQUENCE: &str = "delegation_sequence";

/// Key in `meta` of the hash of a budget file whose write or take-over has begun.
pub(super) const BUDGET_FILE_PENDING: &str = "budget_file_pending";

/// Key in `meta` of the hash of the budget file that was written last.
pub(super) const BUDGET_FILE_CONFIRMED: &str = "budget_file_confirmed";

/// Key in `meta` of the last fact that the budget file showed at a clean stop, decimal.
pub(super) const BUDGET_FILE_SHOWN: &str = "budget_file_shown";

/// How long a commit waits for an admin's write lock before it counts as failed.
const BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// Statements kept prepared: more than there are kinds of facts.
const STATEMENT_CACHE: usize = 64;

/// Checks the schema version of a state folder's database, also while a daemon writes to it.
///
/// # Errors
/// The database cannot be read, or has another schema version than this program's.
pub fn check_schema(state_dir: &Path) -> Result<(), StoreError> {
    let path = super::folder::database_in(state_dir);
    let failed = |source| StoreError::Database { action: "read the schema version of", path: path.clone(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(&path, flags).map_err(failed)?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    refuse_other_versions(&path, &database)
}

/// Refuses a database of another schema version than this program's.
pub(super) fn refuse_other_versions(path: &Path, database: &Connection) -> Result<(), StoreError> {
    let failed = |source| StoreError::Database { action: "read the schema version of", path: path.to_owned(), source };
    refuse_other(path, find_schema(database).map_err(failed)?)
}

/// Opens the database for the writer, and creates the schema in an empty one.
pub(super) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let failed = |action| move |source| StoreError::Database { action, path: path.to_owned(), source };
    let mut database = Connection::open(path).map_err(failed("open"))?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(failed("open"))?;
    let found = find_schema(&database).map_err(failed("read the schema version of"))?;
    if found != SchemaFound::None {
        refuse_other(path, found)?;
    }
    set_up(&database).map_err(failed("set up"))?;
    FaultPoint::DatabaseOpened.pass();
    match found {
        SchemaFound::None => create(&mut database).map_err(failed("create the schema of"))?,
        _ => add_what_is_later(&database).map_err(failed("add tables and columns to"))?,
    }
    Ok(database)
}

/// Adds the tables and columns that the database lacks, each column with its default in all rows.
fn add_what_is_later(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(LATER_TABLES)?;
    for (table, column, declaration) in LATER_COLUMNS {
        if !database.column_exists(None, table, column)? {
            database.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {declaration}"))?;
        }
    }
    database.execute_batch(LATER_INDEXES)
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

/// A new database in memory, lost with its connection.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let mut database = Connection::open_in_memory()?;
    database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    create(&mut database)?;
    Ok(database)
}

/// The schema that the database has now.
fn find_schema(database: &Connection) -> rusqlite::Result<SchemaFound> {
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    let (application_id, version) = (pragma("application_id")?, pragma("user_version")?);
    if application_id == APPLICATION_ID {
        return Ok(SchemaFound::Version(version));
    }
    if database.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))? {
        return Ok(SchemaFound::None);
    }
    // Programs before version 1 kept their version there.
    let is_unreleased = database.table_exists(None, "meta")? && database.column_exists(None, "meta", "value")?;
    let unreleased = if is_unreleased { meta::<u32>(database, "schema_version")? } else { None };
    Ok(unreleased.map_or(SchemaFound::Foreign, SchemaFound::Unreleased))
}

fn refuse_other(path: &Path, found: SchemaFound) -> Result<(), StoreError> {
    match found {
        SchemaFound::Version(VERSION) => Ok(()),
        found => Err(StoreError::OtherSchema { path: path.to_owned(), found, expected: VERSION }),
    }
}

fn create(database: &mut Connection) -> rusqlite::Result<()> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    FaultPoint::SchemaBegun.pass();
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(LATER_TABLES)?;
    transaction.execute_batch(LATER_INDEXES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    FaultPoint::SchemaCommit.pass();
    transaction.commit()?;
    FaultPoint::SchemaCommitted.pass();
    Ok(())
}

/// The schema version of a database of ours.
pub(super) fn version(database: &Connection) -> rusqlite::Result<u32> {
    database.pragma_query_value(None, "user_version", |row| row.get(0))
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
        assert_eq!(version(&database).unwrap(), VERSION);
        let pragma = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, String>(0));
        assert_eq!(pragma("journal_mode").unwrap(), "wal");
        let number = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), number("wal_autocheckpoint")), (2, 0));
        check_schema(scratch.path()).unwrap();
        drop(database);
        open_for_writing(&path).unwrap();
    }

    #[test]
    fn a_database_of_before_a_column_gets_it_with_its_default() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        database
            .execute_batch(
                "ALTER TABLE attempt DROP COLUMN slots;
                 DROP INDEX ledger_by_other_queue;
                 ALTER TABLE ledger DROP COLUMN other_queue;
                 ALTER TABLE ledger DROP COLUMN note;
                 INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state)
                 VALUES ('a', 'j', 'work', 't', 1, 2, 'RUNNING')",
            )
            .unwrap();
        drop(database);
        for _ in 0..2 {
            let database = open_for_writing(&path).unwrap();
            let slots: u32 = database.query_row("SELECT slots FROM attempt", [], |row| row.get(0)).unwrap();
            assert_eq!(slots, 1);
            database
                .prepare("SELECT note FROM ledger INDEXED BY ledger_by_other_queue WHERE other_queue = 'q'")
                .unwrap();
        }
    }

    #[test]
    fn later_columns_are_declared_as_in_a_new_database() {
        for (table, column, declaration) in LATER_COLUMNS {
            let body =
                SCHEMA.split(&format!("CREATE TABLE {table} (")).nth(1).unwrap().split(") STRICT").next().unwrap();
            let mut declared =
                body.lines().filter_map(|line| line.split("--").next()).map(|line| line.trim().trim_end_matches(','));
            assert!(declared.any(|here| here == format!("{column} {declaration}")), "{table}.{column}");
        }
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
            let expected =
                format!("has schema version {old} of an unreleased program, expected schema version 1: move state.db");
            assert!(text.starts_with(&expected), "{text}");
        }
    }

    #[test]
    fn another_version_of_ours_is_refused_and_left_alone() {
        let text = refusal(&format!("{SCHEMA}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 7"));
        assert!(
            text.starts_with("has schema version 7, expected schema version 1: start the program that wrote it"),
            "{text}"
        );
    }

    #[test]
    fn the_database_of_another_program_is_refused_and_left_alone() {
        for foreign in ["CREATE TABLE songs (name)", "CREATE TABLE meta (key, value)", "CREATE TABLE meta (name)"] {
            let text = refusal(foreign);
            assert!(text.starts_with("is a database of another program, expected schema version 1"), "{text}");
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

    #[test]
    fn no_column_holds_a_floating_point_number() {
        for line in SCHEMA.lines().filter(|line| !line.trim_start().starts_with("--")) {
            assert!(!line.to_uppercase().split_whitespace().any(|word| word == "REAL"), "{line}");
        }
    }
}
