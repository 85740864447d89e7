//! Reports: which jobs count, what they used, and charges that sum to the ledger's.

use super::*;
use crate::market::ReportFilter;
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

const SLOT: Capability = Capability::new(1024, 1);

fn read(database: &Connection, request: &ReportRequest, most_rows: usize) -> Report {
    report(database, request, SLOT, NOW_MS, most_rows).unwrap()
}

fn reported(database: &Connection, kind: ReportKind, since_ms: i64, until_ms: i64, user: Option<&str>) -> Report {
    let bound = |at_ms: i64| (at_ms >= 0).then_some(at_ms);
    let user = user.map(str::to_owned);
    let (since_ms, until_ms) = (bound(since_ms), bound(until_ms));
    read(database, &ReportRequest { kind, since_ms, until_ms, user, ..ReportRequest::default() }, 10)
}

/// Name, jobs, slot-seconds, seconds waited, failed, charged units of each row.
fn shown(report: &Report) -> Vec<String> {
    let text = |row: &ReportRow| {
        let ReportRow { subject, jobs, map_slot_seconds, reduce_slot_seconds, waited_s, failed, charged, .. } = row;
        let (name, units) = (subject.name(), charged.units());
        format!("{name} {jobs} {map_slot_seconds}+{reduce_slot_seconds} {waited_s} {failed} {units}")
    };
    report.rows.iter().map(text).collect()
}

#[test]
fn everything_is_summed_by_user_by_queue_and_by_job() {
    let database = database();
    let users = reported(&database, ReportKind::Users, -1, -1, None);
    // Setup 1 s, map 2 x 10 s, running 7 s; reduce 3 x 2 s; waited 4 s and 3 s.
    assert_eq!(shown(&users), ["alice 2 28+6 7 1 7", "bob 1 0+0 50 0 11"]);
    let queues = reported(&database, ReportKind::Queues, -1, -1, None);
    // Names of queues that are no accounts stand apart.
    assert_eq!(shown(&queues), ["alice 0 0+0 0 0 7", "bob 0 0+0 0 0 11", "q-alice 2 28+6 7 1 0", "q-bob 1 0+0 50 0 0"]);
    let jobs = reported(&database, ReportKind::Jobs, -1, -1, None);
    assert_eq!(shown(&jobs), ["job_7_0001 1 21+6 4 1 5", "job_7_0002 1 0+0 50 0 11", "job_7_0003 1 7+0 3 0 2"]);
    let own = reported(&database, ReportKind::Jobs, -1, -1, Some("bob"));
    assert_eq!(shown(&own), ["job_7_0002 1 0+0 50 0 11"]);
    assert_eq!((users.complete_since_ms, users.daily_until_ms, users.next), (None, None, None));
}

#[test]
fn a_job_counts_where_it_ended_and_money_where_it_moved() {
    let database = database();
    let jobs = reported(&database, ReportKind::Jobs, 60_000, 70_000, None);
    assert_eq!(shown(&jobs), ["job_7_0001 1 21+6 4 1 5", "other 0 0+0 0 0 6"]);
    let users = reported(&database, ReportKind::Users, 0, 60_000, None);
    assert_eq!(shown(&users), ["alice 0 0+0 0 0 5"]);
    let later = reported(&database, ReportKind::Jobs, 96_000, 200_000, None);
    assert_eq!(shown(&later), ["job_7_0003 1 7+0 3 0 2", "other 0 0+0 0 0 -2"]);
    assert_eq!(shown(&reported(&database, ReportKind::Users, 200_000, 300_000, None)), [""; 0]);
    assert_eq!(shown(&reported(&database, ReportKind::Jobs, 30_000, 30_000, None)), [""; 0]);
}

#[test]
fn the_sums_of_every_range_are_the_ledgers() {
    let database = database();
    let bounds = [-1, 0, 15_000, 15_001, 59_999, 60_000, 95_000, 95_001, 100_000];
    for since_ms in bounds {
        for until_ms in bounds.into_iter().filter(|until_ms| *until_ms < 0 || *until_ms >= since_ms) {
            let sum = "SELECT coalesce(sum(amount_units), 0) FROM ledger
                       WHERE wall_ms >= ?1 AND (?2 < 0 OR wall_ms < ?2)";
            let of_ledger: i64 = database.query_row(sum, [since_ms, until_ms], |row| row.get(0)).unwrap();
            for kind in ReportKind::ALL {
                let report = reported(&database, kind, since_ms, until_ms, None);
                let charged: i128 = report.rows.iter().map(|row| row.charged.units()).sum();
                assert_eq!(charged, i128::from(of_ledger), "{kind:?} from {since_ms} to {until_ms}");
            }
        }
    }
}

#[test]
fn what_is_missing_is_told() {
    let database = database();
    database
        .execute_batch(
            "DELETE FROM job WHERE job = 'job_7_0001'; INSERT INTO deleted_job VALUES ('7', 1, 1);
             UPDATE ledger SET day = '1970-01-01' WHERE number = 2",
        )
        .unwrap();
    let report_of = |database: &Connection, since_ms| {
        let report = reported(database, ReportKind::Jobs, since_ms, -1, None);
        (report.complete_since_ms, report.daily_until_ms)
    };
    assert_eq!(report_of(&database, -1), (Some(70_000), Some(59_999)), "an earlier program kept no time");
    database.execute("INSERT INTO meta VALUES ('jobs_deleted_through_ms', 60000)", []).unwrap();
    assert_eq!(report_of(&database, -1), (Some(60_001), Some(59_999)));
    assert_eq!(report_of(&database, 59_999), (Some(60_001), Some(59_999)));
    assert_eq!(report_of(&database, 60_000), (Some(60_001), None));
    assert_eq!(report_of(&database, 60_001), (None, None));
}

#[test]
fn a_long_report_comes_in_parts_and_the_last_one_has_the_rest_of_the_money() {
    let database = database();
    let mut request = ReportRequest { kind: ReportKind::Jobs, ..ReportRequest::default() };
    let mut rows = Vec::new();
    database.execute("UPDATE ledger SET amount_units = '20' WHERE number = 1", []).unwrap();
    for expected in [Some(1), Some(2), None] {
        let part = read(&database, &request, 1);
        rows.extend(shown(&part));
        assert_eq!(part.next, expected);
        request.after = part.next;
    }
    let whole = ReportRequest { after: None, ..request };
    assert_eq!(rows, shown(&read(&database, &whole, 10)));
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[3], "other 0 0+0 0 0 16");
}

/// An application of bob's that is over and one of alice's that runs, after the jobs.
fn with_applications(database: &Connection) {
    let sql = "INSERT INTO application (application, start_ms, number, user, queue, accept_order, state, finished_ms,
             submitted, secret, standing) VALUES
         ('application_7_0001', 7, 1, 'bob', 'q-bob', 4, 'FINISHED', 80000, '{\"name\":\"sweep\",\"submitted_ms\":30000}', x'',
             '{\"final_status\":\"FAILED\"}'),
         ('application_7_0002', 7, 2, 'alice', 'q-alice', 5, 'RUNNING', NULL, '{\"name\":\"serve\",\"submitted_ms\":91000}', x'', '{}');
         INSERT INTO container (application, number, state, is_failed, is_preempted, memory_mb, vcores, granted_ms, ended_ms,
             record) VALUES
         ('application_7_0001', 1, 'COMPLETE', 0, 0, 1024, 1, 31000, 41000, ''),
         ('application_7_0001', 2, 'COMPLETE', 1, 0, 1025, 1, 35000, 37000, ''),
         ('application_7_0002', 1, 'RUNNING', 0, 0, 512, 3, 94000, NULL, '');
         INSERT INTO application_cost (application, tick, container_slots, cost, cost_units) VALUES ('application_7_0001', 1, 1, 'x', '6')";
    database.execute_batch(sql).unwrap();
}

#[test]
fn containers_count_in_slots_from_their_grant_and_applications_stand_among_jobs() {
    let database = database();
    with_applications(&database);
    let users = reported(&database, ReportKind::Users, -1, -1, None);
    let containers: Vec<u64> = users.rows.iter().map(|row| row.container_slot_seconds).collect();
    // 3 slots for 6 s; 1 for 10 s and 2 for 2 s.
    assert_eq!((containers, users.rows[0].jobs, users.rows[1].failed), (vec![18, 14], 3, 1));
    let jobs = reported(&database, ReportKind::Jobs, -1, -1, None);
    let work = |row: &ReportRow| {
        let WorkRow { user, queue, name, state, submit_ms, start_ms, end_ms } = row.work.clone().unwrap();
        let times = [submit_ms, start_ms, end_ms].map(|at_ms| at_ms.map_or(0, |at_ms| at_ms / 1_000));
        format!("{} {user} {queue} {name} {state} {times:?} {}", row.subject.name(), row.charged.units())
    };
    let shown: Vec<String> = jobs.rows.iter().filter(|row| row.work.is_some()).map(work).collect();
    let expected = [
        "job_7_0001 alice q-alice  FAILED [10, 14, 60] 5",
        "job_7_0002 bob q-bob  SUCCEEDED [20, 0, 70] 11",
        "job_7_0003 alice q-alice  RUNNING [90, 93, 0] 2",
        "application_7_0001 bob q-bob sweep FAILED [30, 31, 80] 6",
        "application_7_0002 alice q-alice serve RUNNING [91, 94, 0] 0",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn filters_and_months_choose_and_sum_rows() {
    let database = database();
    with_applications(&database);
    let names = |filter: [Option<&str>; 3]| {
        let [user, queue, state] = filter.map(|text| text.map(str::to_owned));
        let filter = ReportFilter { user, queue, state };
        let request = ReportRequest { kind: ReportKind::Jobs, filter, ..ReportRequest::default() };
        let rows = read(&database, &request, 10).rows;
        rows.iter().map(|row| row.subject.name().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names([Some("bob"), None, None]), "job_7_0002 application_7_0001");
    assert_eq!(names([None, Some("q-alice"), Some("RUNNING")]), "job_7_0003 application_7_0002");
    assert_eq!(names([None, None, Some("FAILED")]), "job_7_0001 application_7_0001");
    assert_eq!(names([Some("carol"), None, None]), "");
    // A job and its charge in the next month.
    let february_ms = 31 * 86_400_000_i64 + 5;
    database.execute("UPDATE job SET finish_ms = ?1 WHERE job = 'job_7_0002'", [february_ms]).unwrap();
    database.execute("UPDATE ledger SET wall_ms = ?1 WHERE queue = 'bob'", [february_ms]).unwrap();
    let months = |database: &Connection, kind| {
        let report = read(database, &ReportRequest { kind, by_month: true, ..ReportRequest::default() }, 10);
        let row = |row: &ReportRow| {
            let whose = row.work.as_ref().map_or(row.subject.name(), |work| &work.user);
            format!("{} {whose} {} {}", row.month.as_ref().unwrap(), row.jobs, row.charged.units())
        };
        report.rows.iter().map(row).collect::<Vec<_>>()
    };
    let users = ["1970-01 alice 3 7", "1970-01 bob 1 0", "1970-02 bob 1 11"];
    assert_eq!(months(&database, ReportKind::Users), users);
    let jobs = ["1970-01 alice 3 7", "1970-01 bob 1 6", "1970-02 bob 1 11"];
    assert_eq!(months(&database, ReportKind::Jobs), jobs);
}

#[test]
fn nothing_counts_beyond_the_end_of_its_job() {
    let database = database();
    // Never reported, and never ended by a program of before.
    let times = [Some(20_000), None, None];
    insert_attempt(&database, "attempt_7_0002_r_000000_0", "work", 2, "RUNNING", times);
    let jobs = reported(&database, ReportKind::Jobs, -1, -1, Some("bob"));
    assert_eq!(shown(&jobs), ["job_7_0002 1 0+100 0 0 11"]);
}
