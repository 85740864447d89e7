//! Deletes the oldest applications that are over once they are too many: under the limits of finished jobs.
//!
//! Containers go first, in bounded steps, the application itself last; one with live containers stays. The sum of what the
//! applications of a queue have cost stays the same.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::model::Credits;

use super::fault_point::FaultPoint;
use super::loader::units_column;
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
        fold_cost(&transaction, &oldest)?;
        for table in TABLES {
            transaction.execute(&format!("DELETE FROM {table} WHERE application = ?1"), params![oldest])?;
        }
        for table in ["used_signature", "forgotten_signature"] {
            let of_secret = format!("DELETE FROM {table} WHERE consumer = 'secret' AND user = ?1");
            transaction.execute(&of_secret, params![oldest])?;
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
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?));
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
                   AND (NOT EXISTS (SELECT 1 FROM allocation WHERE allocation.queue = application.queue)
                       OR finished_ms < (SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1))
               ORDER BY finished_ms LIMIT 1";
    let are_too_many = over > retention.most();
    database.prepare_cached(sql)?.query_row(params![are_too_many, before_ms], |row| row.get(0)).optional()
}

fn fold_cost(transaction: &Transaction<'_>, application: &str) -> rusqlite::Result<()> {
    let own = "SELECT container_slots, container_slot_ms, cost_units, queue
               FROM application_cost JOIN application USING (application) WHERE application = ?1";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, units_column(row, 2)?));
    let read_own = |row: &Row<'_>| Ok((read(row)?, row.get::<_, String>(3)?));
    let own = transaction.prepare_cached(own)?.query_row([application], read_own).optional()?;
    let Some(((slots, slot_ms, cost), queue)) = own else { return Ok(()) };
    let before = "SELECT container_slots, container_slot_ms, cost_units FROM deleted_application_cost WHERE queue = ?1";
    let before = transaction.prepare_cached(before)?.query_row([&queue], read).optional()?;
    let (slots_before, ms_before, cost_before) = before.unwrap_or((0, 0, Credits::ZERO));
    let out_of_range = || {
        let text = format!("the cost of the deleted applications of {queue} is out of range");
        rusqlite::Error::ToSqlConversionFailure(text.into())
    };
    let cost = cost_before.checked_add(cost).ok_or_else(out_of_range)?;
    let slots = slots_before.checked_add(slots).ok_or_else(out_of_range)?;
    let slot_ms = ms_before.checked_add(slot_ms).ok_or_else(out_of_range)?;
    transaction
        .prepare_cached(
            "INSERT INTO deleted_application_cost
                 (queue, applications, container_slots, container_slot_ms, cost, cost_units)
             VALUES (?1, 1, ?2, ?3, ?4, ?5)
             ON CONFLICT (queue) DO UPDATE SET applications = applications + 1,
                 container_slots = excluded.container_slots, container_slot_ms = excluded.container_slot_ms,
                 cost = excluded.cost, cost_units = excluded.cost_units",
        )?
        .execute(params![queue, slots, slot_ms, cost.to_string(), cost.units().to_string()])?;
    transaction.prepare_cached("DELETE FROM application_cost WHERE application = ?1")?.execute([application]).map(drop)
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
                    "INSERT INTO application VALUES (?1, 1, ?1, 'u', 'q', ?1, 'FINISHED', ?2, '{}', x'', '{}', NULL)",
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
                    "INSERT INTO application VALUES (?1, 1, ?1, 'u', 'q', ?1, 'FINISHED', ?1, '{}', x'', '{}', NULL)",
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
        // What they have cost, of two queues.
        database.execute("UPDATE application SET queue = 'p' WHERE number = 2", []).unwrap();
        let sql = "INSERT INTO application_cost VALUES (?1, 7, ?1 * 10, 'x', ?1 || '000000000000', ?1 * 1000)";
        for number in 1..=4 {
            database.execute(sql, params![number]).unwrap();
        }
        let sums = |database: &Connection| -> Vec<String> {
            let sql = "SELECT queue || ' ' || sum(slots) || ' ' || sum(units) FROM (
                           SELECT queue, container_slots AS slots, CAST(cost_units AS INTEGER) AS units
                               FROM application_cost JOIN application USING (application)
                           UNION ALL
                           SELECT queue, container_slots, CAST(cost_units AS INTEGER) FROM deleted_application_cost)
                       GROUP BY queue ORDER BY queue";
            database.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let before = sums(&database);
        assert_eq!(before, ["p 20 2000000000000", "q 80 8000000000000"]);
        let retention = Retention { jobs: 3, days: 0, always: 1 };
        let mut steps = 0;
        while delete_applications(&mut database, &retention, 4).unwrap() {
            steps += 1;
            assert!(steps < 20);
        }
        assert_eq!((count(&database, "application"), count(&database, "container")), (3, 30));
        let left: i64 = database.query_row("SELECT min(number) FROM application", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "the one with a live container");
        assert_eq!(sums(&database), before, "no cost is lost");
        assert_eq!((count(&database, "application_cost"), count(&database, "deleted_application_cost")), (2, 2));
    }
}
