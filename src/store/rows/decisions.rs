//! Rows of decisions: the newest stay, and those about jobs that are not over.

use rusqlite::{Connection, Transaction, params};

use crate::engine::Decision;
use crate::model::FactNumber;
use crate::store::enum_text::json;
use crate::store::error::StoreError;
use crate::store::loader::Loader;

pub(super) fn add(transaction: &Transaction<'_>, number: FactNumber, decision: &Decision) -> rusqlite::Result<()> {
    let job = decision.job().map(|job| job.to_string());
    transaction
        .prepare_cached("INSERT INTO decision (number, job, decision) VALUES (?1, ?2, ?3)")?
        .execute(params![number.0.cast_signed(), job, json(decision)?])
        .map(drop)
}

/// With their numbers, the oldest first.
pub(in crate::store) fn load_decisions(loader: &Loader<'_>) -> Result<Vec<(FactNumber, Decision)>, StoreError> {
    let sql = "SELECT number, decision FROM decision ORDER BY number DESC LIMIT ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let rows = loader.rows_with(sql, [i64::try_from(DECISIONS_KEPT).unwrap_or(i64::MAX)], read)?;
    let typed = rows.into_iter().rev().map(|(number, text)| {
        let wrong = |_| loader.wrong("decision.decision", text.clone(), "a decision, JSON");
        Ok((FactNumber(number.cast_unsigned()), serde_json::from_str(&text).map_err(wrong)?))
    });
    typed.collect()
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
    let bounds = [kept, limit_rows].map(|bound| i64::try_from(bound).unwrap_or(i64::MAX));
    Ok(database.prepare_cached(sql)?.execute(params![bounds[0], bounds[1]])? == limit_rows)
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
