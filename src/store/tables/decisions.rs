//! Rows of decisions: the newest stay, and those about jobs that are not over.

use rusqlite::{Connection, params};

use crate::engine::Decision;
use crate::model::FactNumber;
use crate::store::enum_text::json;
use crate::store::loader::{LoadError, bound, from_json, rows, unsigned};

use super::row_writer::RowWriter;

pub(super) fn add(writer: &RowWriter<'_>, decision: &Decision) -> rusqlite::Result<()> {
    let job = decision.job().map(|job| job.to_string());
    let insert = "INSERT INTO decision (number, job, decision) VALUES (?1, ?2, ?3)";
    writer.execute(insert, params![writer.fact(), job, json(decision)?])
}

/// With their numbers, the oldest first.
pub(in crate::store) fn load_decisions(database: &Connection) -> Result<Vec<(FactNumber, Decision)>, LoadError> {
    let sql = "SELECT number, decision FROM decision ORDER BY number DESC LIMIT ?1";
    let mut found = rows(database, sql, [bound(DECISIONS_KEPT)], |row| {
        let decision = from_json("decision.decision", row.get(1)?, "a decision, JSON")?;
        Ok((FactNumber(unsigned(row, 0)?), decision))
    })?;
    found.reverse();
    Ok(found)
}

/// The newest decisions that stay whatever they are about.
pub(crate) const DECISIONS_KEPT: usize = 10_000;

/// Deletes at most `limit_rows` decisions. Returns whether there may be more to delete.
pub(in crate::store) fn prune_decisions(database: &Connection, limit_rows: usize) -> rusqlite::Result<bool> {
    prune_beyond(database, DECISIONS_KEPT, limit_rows)
}

fn prune_beyond(database: &Connection, kept: usize, limit_rows: usize) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM decision WHERE number IN (
                   SELECT number FROM decision
                   WHERE number <= (SELECT number FROM decision ORDER BY number DESC LIMIT 1 OFFSET ?1)
                       AND NOT EXISTS (SELECT 1 FROM job WHERE job.job = decision.job AND finish_ms IS NULL)
                   ORDER BY number LIMIT ?2)";
    Ok(database.prepare_cached(sql)?.execute([bound(kept), bound(limit_rows)])? == limit_rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn the_newest_stay_and_those_of_unfinished_jobs() {
        let database = schema::in_memory().unwrap();
        database
            .execute_batch(
                "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
                     VALUES ('job_1_0001', 1, 1000, '{}', x'00', 'NORMAL', 'RUNNING', NULL),
                            ('job_1_0002', 2, 1000, '{}', x'00', 'NORMAL', 'SUCCEEDED', 2000);
                 INSERT INTO decision VALUES (1, 'job_1_0001', '{}'), (2, 'job_1_0002', '{}'), (3, NULL, '{}'),
                     (4, 'job_1_0009', '{}'), (5, NULL, '{}'), (6, 'job_1_0002', '{}');",
            )
            .unwrap();
        let left = || -> Vec<i64> {
            let mut select = database.prepare("SELECT number FROM decision ORDER BY number").unwrap();
            select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert!(prune_beyond(&database, 2, 2).unwrap());
        assert_eq!(left(), [1, 4, 5, 6]);
        assert!(!prune_beyond(&database, 2, 2).unwrap());
        assert_eq!(left(), [1, 5, 6]);
    }
}
