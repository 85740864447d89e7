//! Used signatures are kept one by one: before, the last timestamp of a key stood for all up to it.

use rusqlite::Connection;

const USED_SIGNATURES: &str = include_str!("used_signatures.sql");

/// Keeps what was used or older as forgotten, so that nothing of it is accepted again.
pub(super) fn keep(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(USED_SIGNATURES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_before_or_is_older_is_forgotten_and_uses_of_a_job_are_kept() {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch(crate::store::schema::SCHEMA).unwrap();
        super::super::later_tables::add(&database).unwrap();
        let before = "INSERT INTO stamp VALUES ('servlet', 'alice', '00000000000000aa', 700, 1), ('job', 'bob', '0b', 900, 2);
             INSERT INTO application (application, start_ms, number, user, queue, accept_order, state, submitted, secret,
                 standing, stamp_ms)
             VALUES ('a1', 1, 1, 'u', 'q', 1, 'RUNNING', '{}', x'', '{}', 800), ('a2', 1, 2, 'u', 'q', 2, 'RUNNING', '{}', x'', '{}', NULL)";
        database.execute_batch(before).unwrap();
        keep(&database).unwrap();
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
