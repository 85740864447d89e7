//! Reports: which jobs count, what they used, and charges that sum to the ledger's.

use super::*;
use crate::store::schema;

const NOW_MS: i64 = 100_000;

/// A job: number, user, state, submission and end, cost in units.
fn insert_job(database: &Connection, number: i32, user: &str, state: &str, times: (i64, Option<i64>), units: i64) {
    let job = format!("job_7_{number:04}");
    let spec = format!(r#"{{"user":"{user}","queue":"q-{user}"}}"#);
    let sql = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
               VALUES (?1, ?2, ?3, ?4, x'', 'NORMAL', ?5, ?6)";
    database.execute(sql, params![job, number, times.0, spec, state, times.1]).unwrap();
    let sql = "INSERT INTO job_cost VALUES (?1, 1, 1, 1, 'x', ?2, 0, 0)";
    database.execute(sql, params![job, units.to_string()]).unwrap();
}

fn insert_attempt(database: &Connection, attempt: &str, role: &str, slots: i64, state: &str, times: [Option<i64>; 3]) {
    let sql =
        "INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state, slots, start_ms, finish_ms)
               VALUES (?1, 'x', ?2, 'tracker', 1, ?3, ?4, ?5, ?6, ?7)";
    database.execute(sql, params![attempt, role, times[0], state, slots, times[1], times[2]]).unwrap();
}

fn charge(database: &Connection, number: i64, wall_ms: i64, queue: &str, units: i64, day: Option<&str>) {
    let sql = "INSERT INTO ledger (number, tick, wall_ms, queue, reason, amount, amount_units, debit, credit, day)
               VALUES (?1, 1, ?2, ?3, 'charge', 'x', ?4, 'queue:' || ?3, 'revenue', ?5)";
    database.execute(sql, params![number, wall_ms, queue, units.to_string(), day]).unwrap();
}

/// Alice had a job that failed and has one that runs, bob had one.
fn database() -> Connection {
    let database = schema::in_memory().unwrap();
    insert_job(&database, 1, "alice", "FAILED", (10_000, Some(60_000)), 5);
    insert_job(&database, 2, "bob", "SUCCEEDED", (20_000, Some(70_000)), 11);
    insert_job(&database, 3, "alice", "RUNNING", (90_000, None), 2);
    let times = |launch, start, finish| [Some(launch), Some(start), Some(finish)];
    insert_attempt(&database, "attempt_7_0001_m_000002_0", "job_setup", 1, "SUCCEEDED", times(11_000, 11_500, 12_500));
    insert_attempt(&database, "attempt_7_0001_m_000000_0", "work", 2, "FAILED", times(14_000, 15_000, 25_000));
    // Never reported.
    insert_attempt(&database, "attempt_7_0001_m_000001_0", "work", 1, "KILLED", times(16_000, 0, 0));
    insert_attempt(&database, "attempt_7_0001_r_000000_0", "work", 3, "SUCCEEDED", times(20_000, 30_000, 32_000));
    insert_attempt(&database, "attempt_7_0003_m_000000_0", "work", 1, "RUNNING", [Some(93_000), None, None]);
    insert_attempt(&database, "attempt_7_00010_m_000000_0", "work", 1, "RUNNING", [Some(0), None, None]);
    for (number, (wall_ms, queue, units)) in
        (1..).zip([(15_000, "alice", 4), (59_999, "alice", 1), (60_000, "bob", 11), (95_000, "alice", 2)])
    {
        charge(&database, number, wall_ms, queue, units, None);
    }
    database
}

fn reported(database: &mut Connection, kind: ReportKind, since_ms: i64, until_ms: i64, user: Option<&str>) -> Report {
    let bound = |at_ms: i64| (at_ms >= 0).then_some(at_ms);
    let user = user.map(str::to_owned);
    let request = ReportRequest { kind, since_ms: bound(since_ms), until_ms: bound(until_ms), user };
    report(database, &request, NOW_MS, 10).unwrap()
}

/// Name, jobs, slot-seconds, seconds waited, failed, charged units of each row.
fn shown(report: &Report) -> Vec<String> {
    let text = |row: &ReportRow| {
        let ReportRow { subject, jobs, map_slot_seconds, reduce_slot_seconds, waited_s, failed, charged } = row;
        let (name, units) = (subject.name(), charged.units());
        format!("{name} {jobs} {map_slot_seconds}+{reduce_slot_seconds} {waited_s} {failed} {units}")
    };
    report.rows.iter().map(text).collect()
}

#[test]
fn everything_is_summed_by_user_by_queue_and_by_job() {
    let mut database = database();
    let users = reported(&mut database, ReportKind::Users, -1, -1, None);
    // Setup 1 s, map 2 x 10 s, running 7 s; reduce 3 x 2 s; waited 4 s and 3 s.
    assert_eq!(shown(&users), ["alice 2 28+6 7 1 7", "bob 1 0+0 50 0 11"]);
    let queues = reported(&mut database, ReportKind::Queues, -1, -1, None);
    // Names of queues that are no accounts stand apart.
    assert_eq!(shown(&queues), ["alice 0 0+0 0 0 7", "bob 0 0+0 0 0 11", "q-alice 2 28+6 7 1 0", "q-bob 1 0+0 50 0 0"]);
    let jobs = reported(&mut database, ReportKind::Jobs, -1, -1, None);
    assert_eq!(shown(&jobs), ["job_7_0001 1 21+6 4 1 5", "job_7_0002 1 0+0 50 0 11", "job_7_0003 1 7+0 3 0 2"]);
    let own = reported(&mut database, ReportKind::Jobs, -1, -1, Some("bob"));
    assert_eq!(shown(&own), ["job_7_0002 1 0+0 50 0 11"]);
    assert_eq!((users.complete_since_ms, users.daily_until_ms, users.left_out), (None, None, None));
}

#[test]
fn a_job_counts_where_it_ended_and_money_where_it_moved() {
    let mut database = database();
    let jobs = reported(&mut database, ReportKind::Jobs, 60_000, 70_000, None);
    assert_eq!(shown(&jobs), ["job_7_0001 1 21+6 4 1 5", "other 0 0+0 0 0 6"]);
    let users = reported(&mut database, ReportKind::Users, 0, 60_000, None);
    assert_eq!(shown(&users), ["alice 0 0+0 0 0 5"]);
    let later = reported(&mut database, ReportKind::Jobs, 96_000, 200_000, None);
    assert_eq!(shown(&later), ["job_7_0003 1 7+0 3 0 2", "other 0 0+0 0 0 -2"]);
    assert_eq!(shown(&reported(&mut database, ReportKind::Users, 200_000, 300_000, None)), [""; 0]);
    assert_eq!(shown(&reported(&mut database, ReportKind::Jobs, 30_000, 30_000, None)), [""; 0]);
}

#[test]
fn the_sums_of_every_range_are_the_ledgers() {
    let mut database = database();
    let bounds = [-1, 0, 15_000, 15_001, 59_999, 60_000, 95_000, 95_001, 100_000];
    for since_ms in bounds {
        for until_ms in bounds.into_iter().filter(|until_ms| *until_ms < 0 || *until_ms >= since_ms) {
            let sum = "SELECT coalesce(sum(amount_units), 0) FROM ledger
                       WHERE wall_ms >= ?1 AND (?2 < 0 OR wall_ms < ?2)";
            let of_ledger: i64 = database.query_row(sum, [since_ms, until_ms], |row| row.get(0)).unwrap();
            for kind in ReportKind::ALL {
                let report = reported(&mut database, kind, since_ms, until_ms, None);
                let charged: i128 = report.rows.iter().map(|row| row.charged.units()).sum();
                assert_eq!(charged, i128::from(of_ledger), "{kind:?} from {since_ms} to {until_ms}");
            }
        }
    }
}

#[test]
fn what_is_missing_is_told() {
    let mut database = database();
    database
        .execute_batch(
            "DELETE FROM job WHERE job = 'job_7_0001'; INSERT INTO deleted_job VALUES ('7', 1, 1);
             UPDATE ledger SET day = '1970-01-01' WHERE number = 2",
        )
        .unwrap();
    let report_of = |database: &mut Connection, since_ms| {
        let report = reported(database, ReportKind::Jobs, since_ms, -1, None);
        (report.complete_since_ms, report.daily_until_ms)
    };
    assert_eq!(report_of(&mut database, -1), (Some(70_000), Some(59_999)), "an earlier program kept no time");
    database.execute("INSERT INTO meta VALUES ('jobs_deleted_through_ms', 60000)", []).unwrap();
    assert_eq!(report_of(&mut database, -1), (Some(60_001), Some(59_999)));
    assert_eq!(report_of(&mut database, 59_999), (Some(60_001), Some(59_999)));
    assert_eq!(report_of(&mut database, 60_000), (Some(60_001), None));
    assert_eq!(report_of(&mut database, 60_001), (None, None));
    let request = ReportRequest { kind: ReportKind::Jobs, since_ms: None, until_ms: None, user: None };
    let short = report(&mut database, &request, NOW_MS, 1).unwrap();
    assert_eq!(
        (shown(&short).join(", "), short.left_out),
        ("job_7_0003 1 7+0 3 0 2, other 0 0+0 0 0 16".to_owned(), Some(1))
    );
}
