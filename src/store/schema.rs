//! The schema of `state.db`, and the keys of its table `meta`.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::SchemaFound;
use super::fault_point::FaultPoint;
use super::steps;

/// Version 1, which never changes; [`steps`] lead from it to the present one.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// In the database's `application_id`.
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"jobt");

/// Key of the last fact's number in `meta`.
pub(super) const LAST_FACT: &str = "last_fact";

/// Key in `meta` of a copy of the database, until a daemon starts with it.
pub(super) const COPIED: &str = "copied";

/// Key in `meta` of a copy, 1, from the first start with it until a database of budgets shows it.
pub(super) const COPY_UNPUBLISHED: &str = "copy_unpublished";

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

/// Key in `meta` of the place other than the budget file that had the image last; empty once the file has it again.
pub(super) const BUDGETS_KEPT_IN: &str = "budgets_kept_in";

/// Key in `meta` of the name that back-ends of budgets know this database by, random.
pub(super) const STATE_NAME: &str = "state_name";

/// Key in `meta` of the bytes that sessions are signed with. No copy has it: its reader could sign in as anybody.
pub(super) const SESSION_KEY: &str = "session_key";

/// Statements kept prepared: more than there are kinds of facts.
pub(super) const STATEMENT_CACHE: usize = 64;

/// A new database in memory, lost with its connection.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let mut database = Connection::open_in_memory()?;
    database.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    create(&mut database)?;
    Ok(database)
}

pub(super) fn find_schema(database: &Connection) -> rusqlite::Result<SchemaFound> {
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

pub(super) fn create(database: &mut Connection) -> rusqlite::Result<()> {
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    FaultPoint::SchemaBegun.pass();
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    steps::run_from(1, &transaction, || {})?;
    FaultPoint::SchemaCommit.pass();
    transaction.commit()?;
    FaultPoint::SchemaCommitted.pass();
    Ok(())
}

pub(super) fn version(database: &Connection) -> rusqlite::Result<u32> {
    database.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(super) fn meta<T: rusqlite::types::FromSql>(database: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    database.prepare_cached("SELECT value FROM meta WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

pub(super) fn set_meta<T: rusqlite::ToSql>(transaction: &Transaction<'_>, key: &str, value: T) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    transaction.prepare_cached(sql)?.execute(params![key, value]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_holds_a_floating_point_number() {
        let sql = "SELECT count(*), total(field.type = 'REAL')
                   FROM sqlite_schema AS of, pragma_table_info(of.name) AS field";
        let (columns, floating): (i64, f64) =
            in_memory().unwrap().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(columns > 100 && floating == 0.0, "{floating} of {columns}");
    }
}
