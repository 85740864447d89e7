//! To version 2: tables and columns that programs of version 1 added one after another, to whatever database they opened.

use rusqlite::Connection;

const TABLES: &str = include_str!("later_tables.sql");

/// Table, name, declaration; version 1 has them all where it was made last.
const COLUMNS: [(&str, &str, &str); 9] = [
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

const INDEXES: &str = "CREATE INDEX IF NOT EXISTS ledger_by_other_queue ON ledger (other_queue, number)
    WHERE other_queue IS NOT NULL";

/// Adds what is missing, each column with its default in all rows.
pub(super) fn add(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(TABLES)?;
    for (table, column, declaration) in COLUMNS {
        if !database.column_exists(None, table, column)? {
            database.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {declaration}"))?;
        }
    }
    database.execute_batch(INDEXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_declared_as_in_the_last_databases_of_version_1() {
        let schema = include_str!("../schema.sql");
        for (table, column, declaration) in COLUMNS {
            let body =
                schema.split(&format!("CREATE TABLE {table} (")).nth(1).unwrap().split(") STRICT").next().unwrap();
            let mut declared =
                body.lines().filter_map(|line| line.split("--").next()).map(|line| line.trim().trim_end_matches(','));
            assert!(declared.any(|here| here == format!("{column} {declaration}")), "{table}.{column}");
        }
    }

    #[test]
    fn what_is_there_stays_and_what_is_missing_comes_with_its_default() {
        let database = crate::store::schema::in_memory().unwrap();
        let lacking = "ALTER TABLE attempt DROP COLUMN slots;
             DROP INDEX ledger_by_other_queue;
             ALTER TABLE ledger DROP COLUMN other_queue;
             ALTER TABLE ledger DROP COLUMN note;
             DROP TABLE allowance;
             INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state)
             VALUES ('a', 'j', 'work', 't', 1, 2, 'RUNNING');
             INSERT INTO drained_worker VALUES ('w', 'root', 3)";
        database.execute_batch(lacking).unwrap();
        for _ in 0..2 {
            add(&database).unwrap();
            let found = "SELECT slots || (SELECT worker FROM drained_worker) || (SELECT count(*) FROM allowance)
                         FROM attempt";
            assert_eq!(database.query_row(found, [], |row| row.get::<_, String>(0)).unwrap(), "1w0");
            let by_index = "SELECT note FROM ledger INDEXED BY ledger_by_other_queue WHERE other_queue = 'q'";
            database.prepare(by_index).unwrap();
        }
    }
}
