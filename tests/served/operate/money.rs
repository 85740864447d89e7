//! A day of money, scripted: who moved it stands in audit log and ledger, reports sum to the ledger, and an allowance is
//! exact over a restart.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program, wait_for_files};
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{Client, client, place};

use jobtracker::clock::wall_ms;
use jobtracker::model::{AttemptState, Credits};
use jobtracker::wire::protocol::Protocol;

/// Runs the program as a user against a daemon.
fn run(place: &DaemonFolders, serving: &ChildDaemon, user: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(built_program());
    // There `--user` chooses rows.
    let signer = if arguments.first() == Some(&"report") { "--as" } else { "--user" };
    command.args(arguments).args(["--server", &serving.http.to_string(), signer, user]);
    command.args(["--key-file", &place.path(user).display().to_string()]);
    command.output().unwrap()
}

fn good(place: &DaemonFolders, serving: &ChildDaemon, user: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(place, serving, user, arguments);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn refused(place: &DaemonFolders, serving: &ChildDaemon, user: &str, arguments: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = run(place, serving, user, arguments);
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

fn keys(place: &DaemonFolders) {
    for user in ["alice", "bob", "root"] {
        fs::write(place.path(user), format!("{user}key\n")).unwrap();
        place.set_mode(user, 0o600);
    }
}

fn texts(place: &DaemonFolders, sql: &str) -> Vec<String> {
    let database = place.database();
    let mut select = database.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn number(place: &DaemonFolders, sql: &str) -> i64 {
    place.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The lines of the audit log that are about money, without their times.
fn money_lines(log: &str) -> Vec<&str> {
    let lines = log.lines().filter_map(|line| line.split_once("jobtracker::audit: ")).map(|(_, entry)| entry);
    lines.filter(|line| !line.starts_with("submit ") && !line.starts_with("allowance-paid ")).collect()
}

/// The tracker calls, and obeys.
fn beat(calls: &mut Client, tracker: &mut ScriptedTracker) {
    let heartbeat = tracker.heartbeat();
    tracker.obey(calls.call(&heartbeat));
}

#[test]
fn every_change_of_a_day_has_its_author() {
    let place = place();
    keys(&place);
    let serving = place.start();
    let root = |arguments: &[&str]| good(&place, &serving, "root", arguments);
    root(&["queue", "add-budget", "alice", "20", "--note", "grant 7, \"ü\""]);
    root(&["queue", "add-budget", "alice", "-2.5"]);
    let moved = root(&["queue", "transfer", "alice", "bob", "0.000000000001", "--note", "lent"]);
    assert!(moved.contains("117.499999999999") && moved.contains("7.500000000001"), "{moved}");
    root(&["queue", "add", "carol"]);
    let shown = root(&["queue", "allowance", "carol", "5", "every", "1d", "cap", "20"]);
    assert!(shown.contains("allowance of carol: 5.0 every 1d up to a balance of 20.0, next in "), "{shown}");
    let status: Value = serde_json::from_str(&root(&["queue", "info", "carol", "--json"])).unwrap();
    let allowance = &status["allowance"];
    let shown = [&allowance["credits"], &allowance["every_s"], &allowance["cap"], &allowance["by"]];
    assert_eq!(shown.map(Value::to_string), ["\"5.0\"", "86400", "\"20.0\"", "\"root\""]);
    assert!((86_300..=86_400).contains(&allowance["next_s"].as_u64().unwrap()), "{allowance}");
    root(&["queue", "allowance", "carol", "none"]);
    good(&place, &serving, "alice", &["queue", "set-spending", "alice", "0.5"]);
    root(&["queue", "remove", "carol"]);
    for (user, arguments, code, words) in [
        (
            "alice",
            &["queue", "transfer", "bob", "alice", "1"][..],
            3,
            "transfer needs the role admin, which alice has not",
        ),
        ("alice", &["queue", "allowance", "alice", "1", "every", "1d"], 3, "allowance needs the role admin"),
        ("root", &["queue", "transfer", "bob", "bob", "1"], 2, "from and to are both bob"),
        ("root", &["queue", "transfer", "bob", "alice", "0"], 2, "transfer: 0.0 is not above 0"),
        ("root", &["queue", "transfer", "bob", "alice", "-1"], 2, "transfer: -1.0 is not above 0"),
        ("root", &["queue", "transfer", "bob", "alice", "100"], 2, "queue bob has 7.500000000001, less than the 100.0"),
        ("root", &["queue", "transfer", "bob", "nosuch", "1"], 2, "there is no queue nosuch"),
        ("root", &["queue", "add-budget", "bob", "1", "--note", "a\nkill job=1"], 2, "is a control character"),
        ("root", &["queue", "allowance", "bob", "1", "every", "0s"], 2, "every \"0s\" is not a period above 0"),
        (
            "root",
            &["queue", "allowance", "bob", "1", "daily"],
            2,
            "allowance \"1 daily\" is not none, or CREDITS every",
        ),
        ("root", &["queue", "allowance", "bob", "none"], 2, "queue bob has no allowance"),
        ("root", &["report", "users", "--since", "2026-01-02", "--until", "2026-01-01"], 2, "is not before --until"),
    ] {
        let (found, error) = refused(&place, &serving, user, arguments);
        assert!(found == code && error.contains(words), "{arguments:?}: {found} {error}");
    }
    let statement = root(&["queue", "statement", "bob"]);
    let lent = statement.lines().last().unwrap();
    assert!(lent.contains("transfer") && lent.ends_with("root  from alice: lent"), "{statement}");
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert_eq!(
        money_lines(&log),
        [
            r#"add-budget user=root queue=alice amount=20 note="grant 7, \"ü\"""#,
            "add-budget user=root queue=alice amount=-2.5",
            "transfer user=root amount=0.000000000001 from=alice to=bob note=lent",
            "add-queue user=root queue=carol",
            "allowance user=root queue=carol amount=5 every=86400 cap=20",
            "allowance user=root queue=carol amount=none",
            "set-spending user=alice queue=alice rate=0.5",
            "remove-queue user=root queue=carol amount=0.0",
            r#"denied transfer user=alice amount=1 from=bob to=alice why="transfer needs the role admin, which alice has not""#,
            r#"denied allowance user=alice queue=alice amount=1 every=86400 why="allowance needs the role admin, which alice has not""#,
        ]
    );
    let rows = "SELECT concat_ws(' ', reason, debit, credit, amount, '|', made_by, note) FROM ledger ORDER BY number";
    assert_eq!(
        texts(&place, rows),
        [
            "endowment issued queue:alice 100.0 | initial budget",
            "endowment issued queue:bob 7.5 | initial budget",
            "top_up issued queue:alice 20.0 | root grant 7, \"ü\"",
            "top_up queue:alice issued 2.5 | root",
            "transfer queue:alice queue:bob 0.000000000001 | root lent",
        ]
    );
}

#[test]
fn an_allowance_is_exact_over_a_crash() {
    let place = place();
    let serving = place.start();
    assert_eq!(serving.ask("root", "allowance=0.5&queue=bob&every=1").status, 200);
    let begin = "SELECT due_ms - (periods + 1) * 1000 FROM allowance";
    let begun_ms = number(&place, begin);
    serving.log.wait_for("note=\"allowance 2\"");
    let log = serving.kill();
    assert!(log.contains(r#"allowance-paid user=root queue=bob amount=0.5 note="allowance 1""#), "{log}");
    assert_eq!(number(&place, begin), begun_ms);
    // It is down for five seconds more.
    place.database().execute("UPDATE allowance SET due_ms = due_ms - 5000", []).unwrap();
    let periods = number(&place, "SELECT periods FROM allowance");
    let serving = place.start();
    serving.log.wait_for(&format!("note=\"allowance {}\"", periods + 6));
    assert_eq!(serving.stop().0, 0);
    assert_eq!(number(&place, begin), begun_ms - 5_000, "a period takes a second");
    let periods = number(&place, "SELECT periods FROM allowance");
    let paid = texts(&place, "SELECT note FROM ledger WHERE reason = 'allowance' ORDER BY number");
    assert_eq!(paid, (1..=periods).map(|period| format!("allowance {period}")).collect::<Vec<_>>());
    let balance = Credits::from_units(7_500_000_000_000 + i128::from(periods) * 500_000_000_000);
    assert_eq!(place.balance("bob"), Some(balance.to_string()));
}

#[test]
fn reports_sum_to_the_ledger() {
    let place = place();
    keys(&place);
    fs::write(place.path("input"), "one line\n").unwrap();
    let serving = place.start();
    let (input, output) = (place.path("input").display().to_string(), place.path("out").display().to_string());
    let rpc = serving.rpc().to_string();
    let submit = ["job", "submit", "--input", &input, "--output", &output, "--mapper", "cat", "--reducer", "NONE"];
    let id = good(&place, &serving, "alice", &[&submit[..], &["--detach", "--jobtracker", &rpc]].concat());
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    beat(&mut calls, &mut tracker);
    // The setup, and then the maps, which run on.
    beat(&mut calls, &mut tracker);
    tracker.all_are(AttemptState::Succeeded);
    beat(&mut calls, &mut tracker);
    let charges = "SELECT count(*) FROM ledger WHERE reason = 'charge'";
    wait_for_files(&place.path("etc"), || number(&place, charges) >= 2);
    let until_ms = wall_ms();
    let asked = |user: &str, report: &str| -> Value {
        let query = format!("report={report}&until={until_ms}");
        let answer = serving.ask_address("/scheduler/report", user, &query);
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    };
    let sum = |report: &Value| -> i128 {
        let rows = report["rows"].as_array().unwrap().iter();
        rows.map(|row| row["charged"].as_str().unwrap().parse::<Credits>().unwrap().units()).sum()
    };
    for report in ["users", "queues", "jobs"] {
        let answer = asked("root", report);
        let of_ledger =
            format!("SELECT sum(amount_units) FROM ledger WHERE reason = 'charge' AND wall_ms < {until_ms}");
        assert_eq!(sum(&answer), i128::from(number(&place, &of_ledger)), "{answer}");
        assert!(sum(&answer) > 0 && sum(&asked("bob", report)) == 0, "{answer}");
    }
    let users = good(&place, &serving, "alice", &["report", "users", "--csv"]);
    let lines: Vec<&str> = users.lines().collect();
    let heads = "user,jobs,map_slot_seconds,reduce_slot_seconds,container_slot_seconds,waited_s,failed,charged";
    assert_eq!(lines[0], heads);
    assert!(lines.len() == 2 && lines[1].starts_with("alice,1,"), "{users}");
    let jobs: Value = serde_json::from_str(&good(&place, &serving, "root", &["report", "jobs", "--json"])).unwrap();
    assert_eq!(jobs["rows"][0]["job"], id.trim());
    let nothing = good(&place, &serving, "bob", &["report", "jobs", "--since", "2020-01-01", "--until", "2020-01-02"]);
    assert_eq!(nothing, "JOB  USER  NAME  QUEUE  STATE  SUBMIT  START  END  SLOTS_S  COST\n");
    let report = |options: &[&str]| good(&place, &serving, "root", &[&["report", "jobs"], options].concat());
    let format = ["--format", "job,user,queue,state,cost"];
    let csv = report(&[&format[..], &["--csv", "--until", "2100-01-01"]].concat());
    let row = csv.lines().nth(1).unwrap();
    assert!(row.starts_with(&format!("{},alice,alice,RUNNING,", id.trim())), "{csv}");
    // The same in each form.
    let table = report(&[&format[..], &["--user", "alice", "--state", "running"]].concat());
    assert_eq!(
        table.lines().nth(1).unwrap().split_whitespace().take(4).collect::<Vec<_>>().join(","),
        row[..row.rfind(',').unwrap()]
    );
    let json: Value = serde_json::from_str(&report(&[&format[..], &["--queue", "alice", "--json"]].concat())).unwrap();
    assert_eq!((&json[0]["job"], &json[0]["state"]), (&id.trim().into(), &"RUNNING".into()));
    assert_eq!(report(&[&format[..], &["--user", "bob", "--csv"]].concat()).lines().count(), 1);
    let by_month = report(&["--by", "month", "--csv"]);
    assert!(by_month.starts_with("month,user,queue,jobs,failed,slots_s,cost\n20"), "{by_month}");
    let statement = good(&place, &serving, "alice", &["queue", "statement", "--csv"]);
    assert!(statement.lines().any(|line| line.contains(",charge,1,1.0,")), "{statement}");
    let unsigned = serving.get("/scheduler/report?report=users", "");
    assert!(unsigned.is_denied(), "{}", unsigned.body);
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn without_a_market_reports_need_no_key() {
    let place = crate::upgrade::stage::unsigned_place();
    fs::remove_file(place.acl()).unwrap();
    let serving = place.start();
    let answer = serving.get("/scheduler/report?report=queues", "");
    assert_eq!((answer.status, answer.body.trim_end()), (200, r#"{"report":"queues","rows":[]}"#));
    let wrong = serving.get("/scheduler/report?report=queues&since=2&until=1", "");
    assert_eq!((wrong.status, wrong.body.trim_end()), (400, r#"{"error":"until: 1 is before since, 2"}"#));
    assert_eq!(serving.stop().0, 0);
}
