//! Deletes the oldest applications that are over once they are too many: under the limits of finished jobs.
//!
//! Containers go first, in bounded steps, the application itself last; one with live containers stays.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::fault_point::FaultPoint;
use super::options::Retention;
use super::retention::too_old_before_ms;

/// Tables with rows of an application, beside its containers and itself.
const TABLES: [&str; 6] = [
    "application_context",
    "application_spec",
    "application_request",
    "application_launch",
    "application_item",
    "application_blacklist",
];
const DAY_MS: i64 = 86_400_000;

/// Deletes at most about `limit_rows` rows of applications beyond the limits. Returns whether there may be more.
pub(super) fn delete_applications(
    database: &mut Connection,
    retention: &Retention,
    limit_rows: usize,
) -> rusqlite::Result<bool> {
    let Some(oldest) = oldest_beyond(database, retention)? else { return Ok(false) };
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let containers = delete_containers(&transaction, &oldest, limit_rows)?;
    if containers < limit_rows {
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table} WHERE application = ?1"), params![oldest])?;
        }
        transaction.execute("DELETE FROM application WHERE application = ?1", params![oldest])?;
    }
    FaultPoint::RetentionWritten.pass();
    transaction.commit()?;
    Ok(true)
}

/// The application that ended first, if it is beyond the limits.
fn oldest_beyond(database: &Connection, retention: &Retention) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT count(*), coalesce(max(finished_ms), 0) FROM application WHERE finished_ms IS NOT NULL";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?));
    let (over, last_ms) = database.prepare_cached(sql)?.query_row([], read)?;
    if over <= retention.always {
        return Ok(None);
    }
    let own_ms = match retention.days {
        0 => i64::MIN,
        days => (last_ms.div_euclid(DAY_MS) - i64::from(days)).saturating_mul(DAY_MS),
    };
    // Jobs and ticks tell the time too.
    let before_ms = too_old_before_ms(database, retention)?.max(own_ms);
    let sql = "SELECT application FROM application
               WHERE finished_ms IS NOT NULL AND (?1 OR finished_ms < ?2) AND NOT EXISTS
                   (SELECT 1 FROM container WHERE container.application = application.application AND ended_ms IS NULL)
               ORDER BY finished_ms LIMIT 1";
    let are_too_many = over > retention.most();
    database.prepare_cached(sql)?.query_row(params![are_too_many, before_ms], |row| row.get(0)).optional()
}

fn delete_containers(transaction: &Transaction<'_>, application: &str, limit: usize) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM container WHERE application = ?1 AND number IN
                   (SELECT number FROM container WHERE application = ?1 ORDER BY number LIMIT ?2)";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.execute(params![application, limit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    fn count(database: &Connection, table: &str) -> i64 {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn those_that_are_too_old_go_by_the_time_of_the_last_end_of_anything() {
        let mut database = schema::in_memory().unwrap();
        for day in [1, 2, 6, 9] {
            database
                .execute(
                    "INSERT INTO application VALUES (?1, 1, ?1, 'u', 'q', ?1, 'FINISHED', ?2, '{}', x'', '{}', NULL, NULL)",
                    params![day, day * DAY_MS],
                )
                .unwrap();
        }
        let retention = Retention { jobs: 100, days: 5, always: 1 };
        let left = |database: &mut Connection| {
            while delete_applications(database, &retention, 100).unwrap() {}
            database.query_row("SELECT min(number) FROM application", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(left(&mut database), 6, "five days before the last end of an application");
        let job = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
                   VALUES ('j', 1, 0, '{}', x'', 'NORMAL', 'SUCCEEDED', ?1)";
        database.execute(job, params![12 * DAY_MS]).unwrap();
        assert_eq!(left(&mut database), 9);
    }

    #[test]
    fn the_oldest_go_with_their_containers_and_those_with_live_ones_stay() {
        let mut database = schema::in_memory().unwrap();
        for number in 1..=5 {
            database
                .execute(
                    "INSERT INTO application VALUES (?1, 1, ?1, 'u', 'q', ?1, 'FINISHED', ?1, '{}', x'', '{}', NULL, NULL)",
                    params![number],
                )
                .unwrap();
            for container in 1..=10 {
                // A container of the oldest lives.
                let ended_ms = (number > 1).then_some(5);
                database
                    .execute(
                        "INSERT INTO container VALUES (?1, ?2, 'S', 0, 0, 1, 1, 1, ?3, '{}', NULL, NULL, NULL, NULL)",
                        params![number, container, ended_ms],
                    )
                    .unwrap();
            }
        }
        let retention = Retention { jobs: 3, days: 0, always: 1 };
        let mut steps = 0;
        while delete_applications(&mut database, &retention, 4).unwrap() {
            steps += 1;
            assert!(steps < 20);
        }
        assert_eq!((count(&database, "application"), count(&database, "container")), (3, 30));
        let left: i64 = database.query_row("SELECT min(number) FROM application", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "the one with a live container");
    }
}
