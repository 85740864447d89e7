//! The steps from each version of the schema to the next. `schema.sql` is version 1 for ever: a new database is made by
//! it and all steps, an older one gets the steps that it lacks.
//!
//! To change the schema, append a step here. A step that a daemon has run never changes.

use rusqlite::Connection;

/// Changes the layout from one version to the next, in a transaction of the caller's.
type Step = fn(&Connection) -> rusqlite::Result<()>;

/// The first leads from version 1 to 2.
const STEPS: &[Step] = &[
    add_later_tables,
    charge_by_time,
    end_outlived_attempts,
    |database| database.execute_batch(include_str!("application_order.sql")),
    keep_used_signatures,
    add_job_changes,
    |database| database.execute_batch(include_str!("pauses.sql")),
    |database| database.execute_batch(include_str!("end_notifications.sql")),
    |database| database.execute_batch(include_str!("taken_top_ups.sql")),
    |database| database.execute_batch(include_str!("decisions.sql")),
];

/// The version after all steps, in the database's `user_version`.
pub(super) const VERSION: u32 = 1 + STEPS.len() as u32;

/// Runs the steps from `version` on in the present transaction, `after_each` after each of them, and sets the version.
pub(super) fn run_from(version: u32, database: &Connection, after_each: impl Fn()) -> rusqlite::Result<()> {
    // Views of administrators may name what goes: they break by themselves, not the migration.
    database.pragma_update(None, "legacy_alter_table", true)?;
    for step in STEPS.iter().skip(version.saturating_sub(1) as usize) {
        step(database)?;
        after_each();
    }
    database.pragma_update(None, "legacy_alter_table", false)?;
    database.pragma_update(None, "user_version", VERSION)
}

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

/// To version 2: adds the tables and columns that programs of version 1 added one after another, to whatever database they opened.
fn add_later_tables(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(TABLES)?;
    for (table, column, declaration) in COLUMNS {
        if !database.column_exists(None, table, column)? {
            database.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {declaration}"))?;
        }
    }
    database.execute_batch(INDEXES)
}

/// Charges by time: the slot-milliseconds of charges and costs beside the whole slots of earlier ones, and what is held in the open interval.
fn charge_by_time(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(
        "ALTER TABLE ledger ADD COLUMN interval_ms INTEGER;        -- of a charge by time: the length of a whole interval
         ALTER TABLE ledger ADD COLUMN map_slot_ms INTEGER;        -- this and the next two: slots held x ms, paid for
         ALTER TABLE ledger ADD COLUMN reduce_slot_ms INTEGER;
         ALTER TABLE ledger ADD COLUMN container_slot_ms INTEGER;
         ALTER TABLE tick ADD COLUMN interval_ms INTEGER;          -- the length of the interval that it opens
         ALTER TABLE job_cost ADD COLUMN map_slot_ms INTEGER NOT NULL DEFAULT 0;     -- held in charged intervals
         ALTER TABLE job_cost ADD COLUMN reduce_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_job_cost ADD COLUMN map_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_job_cost ADD COLUMN reduce_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE application_cost ADD COLUMN container_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_application_cost ADD COLUMN container_slot_ms INTEGER NOT NULL DEFAULT 0;
         -- What jobs and applications hold in the open interval, as it changed.
         CREATE TABLE metered (
             number INTEGER PRIMARY KEY,      -- of its fact; 0: the last moment at which nothing changed
             tick INTEGER NOT NULL,           -- the one that opened the interval
             offset_ms INTEGER NOT NULL,      -- how long it had been open, without the time while the daemon was down
             changes TEXT                     -- JSON; NULL: nothing changed
         ) STRICT;",
    )
}

/// An attempt that no tracker has reported counts from its launch.
const MEND: &str = "UPDATE attempt SET
         state = CASE attempt.state WHEN 'FAILED_UNCLEAN' THEN 'FAILED' ELSE 'KILLED' END,
         start_ms = coalesce(nullif(start_ms, 0), min(launch_ms, job.finish_ms)),
         finish_ms = coalesce(nullif(attempt.finish_ms, 0), job.finish_ms)
     FROM job WHERE job.job = attempt.job AND job.finish_ms IS NOT NULL
         AND attempt.state NOT IN ('SUCCEEDED', 'FAILED', 'KILLED')";

/// To version 3: attempts that outlived their jobs end with them. Earlier programs recorded no end of what KILL_JOB ended: no tracker reports it.
fn end_outlived_attempts(database: &Connection) -> rusqlite::Result<()> {
    let mended = database.execute(MEND, [])?;
    if mended > 0 {
        tracing::info!("{mended} attempts of finished jobs had no end: they have ended with their jobs");
    }
    Ok(())
}

const USED_SIGNATURES: &str = include_str!("used_signatures.sql");

/// Used signatures are kept one by one: before, the last timestamp of a key stood for all up to it. What was used or is older is forgotten,
/// so that nothing of it is accepted again.
fn keep_used_signatures(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(USED_SIGNATURES)
}

/// When the end of a job was decided, and its deadline changed: a replay does so at the same time.
fn add_job_changes(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(
        "ALTER TABLE job ADD COLUMN ending_ms INTEGER;      -- when it was killed or had failed; NULL: it was not
         -- JSON [[epoch ms, deadline or null], ...]
         ALTER TABLE job ADD COLUMN deadline_changes TEXT;",
    )
}

#[cfg(test)]
mod tests {
    use crate::store::schema;

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
            add_later_tables(&database).unwrap();
            let found = "SELECT slots || (SELECT worker FROM drained_worker) || (SELECT count(*) FROM allowance)
                         FROM attempt";
            assert_eq!(database.query_row(found, [], |row| row.get::<_, String>(0)).unwrap(), "1w0");
            let by_index = "SELECT note FROM ledger INDEXED BY ledger_by_other_queue WHERE other_queue = 'q'";
            database.prepare(by_index).unwrap();
        }
    }

    #[test]
    fn charges_of_before_have_no_time_and_costs_none_yet() {
        let database = schema::in_memory().unwrap();
        let old = "INSERT INTO ledger (number, tick, wall_ms, reason, map_slots, amount, amount_units, debit, credit)
                       VALUES (1, 2, 3, 'charge', 4, '1.0', '1', 'queue:q', 'revenue');
                   INSERT INTO job_cost (job, tick, map_slots, reduce_slots, cost, cost_units)
                       VALUES ('j', 2, 4, 0, '1.0', '1')";
        database.execute_batch(old).unwrap();
        let found = "SELECT ledger.interval_ms IS NULL AND ledger.map_slot_ms IS NULL AND job_cost.map_slot_ms = 0
                     FROM ledger, job_cost";
        assert!(database.query_row(found, [], |row| row.get::<_, bool>(0)).unwrap());
    }

    #[test]
    fn what_outlived_its_job_has_ended_with_it_and_nothing_else_changes() {
        let database = crate::store::schema::in_memory().unwrap();
        let rows = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
             VALUES ('over', 1, 1, '{}', x'', 'NORMAL', 'KILLED', 500), ('runs', 2, 1, '{}', x'', 'NORMAL', 'RUNNING', NULL);
             INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state, start_ms, finish_ms) VALUES
             ('a1', 'over', 'work', 't', 1, 100, 'RUNNING', NULL, NULL), ('a2', 'over', 'work', 't', 1, 100, 'FAILED_UNCLEAN', 110, 200),
             ('a3', 'over', 'work', 't', 1, 100, 'SUCCEEDED', 110, 300), ('a4', 'runs', 'work', 't', 1, 100, 'RUNNING', NULL, NULL),
             ('a5', 'over', 'work', 't', 1, 100, 'COMMIT_PENDING', 0, 0)";
        database.execute_batch(rows).unwrap();
        end_outlived_attempts(&database).unwrap();
        let sql = "SELECT attempt || ' ' || state || coalesce(' ' || start_ms || ' ' || finish_ms, '') FROM attempt ORDER BY 1";
        let mut statement = database.prepare(sql).unwrap();
        let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let expected =
            ["a1 KILLED 100 500", "a2 FAILED 110 200", "a3 SUCCEEDED 110 300", "a4 RUNNING", "a5 KILLED 100 500"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_used_before_or_is_older_is_forgotten_and_uses_of_a_job_are_kept() {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(crate::store::schema::SCHEMA).unwrap();
        add_later_tables(&database).unwrap();
        let before = "INSERT INTO stamp VALUES ('servlet', 'alice', '00000000000000aa', 700, 1), ('job', 'bob', '0b', 900, 2);
             INSERT INTO application (application, start_ms, number, user, queue, accept_order, state, submitted, secret,
                 standing, stamp_ms)
             VALUES ('a1', 1, 1, 'u', 'q', 1, 'RUNNING', '{}', x'', '{}', 800), ('a2', 1, 2, 'u', 'q', 2, 'RUNNING', '{}', x'', '{}', NULL)";
        database.execute_batch(before).unwrap();
        keep_used_signatures(&database).unwrap();
        let rows = |sql: &str| {
            let mut statement = database.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            rows.map(Result::unwrap).collect::<Vec<_>>()
        };
        let forgotten =
            "SELECT consumer || ' ' || user || ' ' || key_id || ' ' || up_to_ms FROM forgotten_signature ORDER BY 1";
        let expected = ["job bob 0b 899", "secret a1 0000000000000000 800", "servlet alice 00000000000000aa 700"];
        assert_eq!(rows(forgotten), expected);
        let used = "SELECT consumer || ' ' || user || ' ' || timestamp_ms || ' ' || text_id || ' ' || uses FROM used_signature";
        assert_eq!(rows(used), ["job bob 900 0000000000000000 2"]);
        assert!(!database.table_exists(None, "stamp").unwrap());
        assert!(!database.column_exists(None, "application", "stamp_ms").unwrap());
    }
}
