//! Which finished jobs are deleted, and what stays of them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::model::Credits;
use crate::store::options::DAY_MS;
use crate::store::schema;

const NOW_MS: i64 = 20_000 * DAY_MS;

fn retention(jobs: u64, days: u32, always: u64) -> Retention {
    Retention { jobs, days, always }
}

/// A job with this number that ended then, if it did; with so many attempts and events.
fn insert(database: &Connection, number: i32, finish_ms: Option<i64>, tasks: i32) {
    let job = format!("job_7_{number:04}");
    let spec = format!(r#"{{"user":"u{}","queue":"moved to"}}"#, number % 3);
    let sql = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
               VALUES (?1, ?2, 0, ?3, x'', 'NORMAL', 'RUNNING', ?4)";
    database.execute(sql, params![job, number, spec, finish_ms]).unwrap();
    for task in 0..tasks {
        let attempt = format!("attempt_7_{number:04}_m_{task:06}_0");
        let sql = "INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state)
                   VALUES (?1, ?2, 'work', ?3, ?4, 0, 'SUCCEEDED')";
        database.execute(sql, params![attempt, job, format!("tracker-{number}"), task]).unwrap();
        let sql = "INSERT INTO completion_event VALUES (?1, ?2, ?3, ?2, 1, 'SUCCEEDED', NULL, 5)";
        database.execute(sql, params![job, task, attempt]).unwrap();
    }
    let units = i64::from(number) * 1_000_000_000_001;
    let sql = "INSERT INTO job_cost VALUES (?1, 1, ?2, 1, ?3, ?4, ?2 * 1000, 1000)";
    let cost = Credits::from_units(units.into()).to_string();
    database.execute(sql, params![job, number, cost, units.to_string()]).unwrap();
}

fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn numbers(database: &Connection) -> Vec<i32> {
    let jobs = texts(database, "SELECT job FROM job ORDER BY accept_order");
    jobs.iter().map(|job| job.parse::<JobId>().unwrap().number).collect()
}

/// Deletes until nothing is left to delete; gives back the number of steps.
fn delete_all(database: &mut Connection, retention: Retention, limit_rows: usize) -> usize {
    let mut finished = count_finished(database).unwrap();
    for step in 1..100_000 {
        let before = database.total_changes();
        let deleted = delete_some(database, &retention, finished, limit_rows).unwrap();
        // Each job comes with a row of its cost, one of its queue's, one of its number; the rest is bookkeeping.
        assert!(database.total_changes() - before <= 7 * limit_rows as u64 + 7, "a step is bounded");
        finished -= deleted.jobs;
        assert_eq!(finished, count_finished(database).unwrap());
        if !deleted.has_more {
            return step;
        }
    }
    panic!("it never ends");
}

/// What jobs have cost, those deleted and those not, by the queue that paid: slots of both kinds, units.
fn costs(database: &Connection) -> BTreeMap<String, (i64, i64, i128)> {
    let sql = "SELECT user, map_slots + map_slot_ms, reduce_slots + reduce_slot_ms, cost_units, cost
               FROM job_cost JOIN job USING (job)
               UNION ALL SELECT queue, map_slots + map_slot_ms, reduce_slots + reduce_slot_ms, cost_units, cost
               FROM deleted_job_cost";
    let mut sums: BTreeMap<String, (i64, i64, i128)> = BTreeMap::new();
    let mut statement = database.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let cost = units_column(row, 3).unwrap();
        assert_eq!(cost.to_string(), row.get::<_, String>(4).unwrap());
        let sum = sums.entry(row.get(0).unwrap()).or_default();
        sum.0 += row.get::<_, i64>(1).unwrap();
        sum.1 += row.get::<_, i64>(2).unwrap();
        sum.2 += cost.units();
    }
    sums
}

/// No attempt, event or cost is of a job that is not there.
fn assert_nothing_is_left_over(database: &Connection) {
    for table in ["attempt", "completion_event", "job_cost"] {
        let sql = format!("SELECT DISTINCT job FROM {table} WHERE job NOT IN (SELECT job FROM job)");
        assert_eq!(texts(database, &sql), [""; 0], "{table}");
    }
}

#[test]
fn those_that_ended_first_go_whatever_their_number() {
    let mut database = schema::in_memory().unwrap();
    for (number, finish_ms) in [(1, None), (2, Some(50)), (3, Some(10)), (4, Some(40)), (5, None), (6, Some(20))] {
        insert(&database, number, finish_ms, 2);
    }
    delete_all(&mut database, retention(2, 0, 0), 1000);
    assert_eq!(numbers(&database), [1, 2, 4, 5]);
    assert_eq!(jobs_complete_since_ms(&database, NOW_MS).unwrap(), Some(21), "reports say so");
    assert_nothing_is_left_over(&database);
    assert_eq!(texts(&database, "SELECT identifier || ' ' || last_number || ' ' || jobs FROM deleted_job"), ["7 6 2"]);
    delete_all(&mut database, retention(0, 0, 0), 1000);
    assert_eq!(numbers(&database), [1, 2, 4, 5], "0 is no limit");
    delete_all(&mut database, retention(1, 0, 2), 1000);
    assert_eq!(numbers(&database), [1, 2, 4, 5], "those in memory stay");
}

#[test]
fn a_limit_in_days_is_one_of_whole_days() {
    let mut database = schema::in_memory().unwrap();
    for (number, finish_ms) in [(1, NOW_MS - 2 * DAY_MS - 1), (2, NOW_MS - 2 * DAY_MS), (3, NOW_MS + 5)] {
        insert(&database, number, Some(finish_ms), 1);
    }
    delete_all(&mut database, retention(100, 3, 0), 1000);
    assert_eq!(numbers(&database), [1, 2, 3]);
    delete_all(&mut database, retention(100, 2, 3), 1000);
    assert_eq!(numbers(&database), [1, 2, 3], "those in memory stay");
    delete_all(&mut database, retention(100, 2, 0), 1000);
    assert_eq!(numbers(&database), [2, 3]);
    // A tick is a clock as well.
    let tick = "INSERT INTO tick VALUES (1, ?1, '0.0', '0', 0, '0.0', '0', '0.0', '0', NULL)";
    database.execute(tick, [NOW_MS + DAY_MS]).unwrap();
    delete_all(&mut database, retention(100, 2, 0), 1000);
    assert_eq!(numbers(&database), [3]);
}

#[test]
fn a_job_stays_while_a_tracker_is_owed_a_word_about_it() {
    let mut database = schema::in_memory().unwrap();
    for number in 1..=4 {
        insert(&database, number, Some(number.into()), 1);
    }
    database.execute("INSERT INTO pending_kill_job VALUES ('job_7_0001', 'tracker-1')", []).unwrap();
    delete_all(&mut database, retention(1, 0, 0), 1000);
    assert_eq!(numbers(&database), [1]);
    database.execute("DELETE FROM pending_kill_job", []).unwrap();
    insert(&database, 5, Some(5), 1);
    delete_all(&mut database, retention(1, 0, 0), 1000);
    assert_eq!(numbers(&database), [5]);
}

#[test]
fn answers_go_with_the_attempts_they_launched() {
    let mut database = schema::in_memory().unwrap();
    for number in 1..=3 {
        insert(&database, number, Some(number.into()), 3);
    }
    database
        .execute("UPDATE attempt SET cleanup_tracker = 'cleaner', cleanup_response_id = 9 WHERE rowid = 2", [])
        .unwrap();
    // The second tracker's last answer launched attempts of some other job.
    let answers = [("tracker-1", 2), ("tracker-2", 77), ("tracker-3", 2), ("cleaner", 9)];
    for (tracker, response_id) in answers {
        database.execute("INSERT INTO launch_answer VALUES (?1, ?2, x'')", params![tracker, response_id]).unwrap();
    }
    delete_all(&mut database, retention(1, 0, 0), 2);
    assert_eq!(texts(&database, "SELECT tracker FROM launch_answer ORDER BY tracker"), ["tracker-2", "tracker-3"]);
}

#[test]
fn a_large_job_goes_in_small_steps_and_deletion_resumes_after_a_crash() {
    let mut database = schema::in_memory().unwrap();
    insert(&database, 1, Some(1), 100);
    insert(&database, 2, Some(2), 1);
    let first = delete_some(&mut database, &retention(1, 0, 0), 2, 30).unwrap();
    assert_eq!(first, Deleted { jobs: 1, has_more: true });
    assert_eq!(numbers(&database), [2], "it is gone at once");
    // After a crash the finished jobs are counted again: nothing is beyond the limit, yet the rest of the job goes.
    assert!(delete_all(&mut database, retention(1, 0, 0), 30) >= 6);
    assert_nothing_is_left_over(&database);
    assert_eq!(numbers(&database), [2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However the work is cut into steps, the same stays, and what the jobs of each queue have cost is as it was.
    #[test]
    fn sums_stay_and_steps_change_nothing(
        ends in prop::collection::vec((prop::option::weighted(0.9, 0_i64..6), 0..5_i32), 1..25),
        (jobs, days, always) in (0..10_u64, 0..4_u32, 0..6_u64),
        limit_rows in 1..12_usize,
    ) {
        let databases = [limit_rows, 10_000].map(|limit_rows| {
            let mut database = schema::in_memory().unwrap();
            for (number, (day, tasks)) in (1..).zip(&ends) {
                insert(&database, number, day.map(|day| NOW_MS + day * DAY_MS), *tasks);
            }
            let before = costs(&database);
            delete_all(&mut database, retention(jobs, days, always), limit_rows);
            assert_eq!(costs(&database), before);
            assert_nothing_is_left_over(&database);
            database
        });
        let [small, large] = databases.each_ref().map(numbers);
        prop_assert_eq!(&small, &large);
        let finished = ends.iter().filter(|(day, _)| day.is_some()).count() as u64;
        let left = count_finished(&databases[0]).unwrap();
        prop_assert!(left >= finished.min(always));
        prop_assert!(jobs == 0 || left <= jobs.max(always));
        prop_assert!(days > 0 || left == finished.min(retention(jobs, days, always).most()));
    }
}

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
