//! Deadlines under the constraint scheduler as users meet them: commands, the page with its forms, questions.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};

use crate::daemon::answered::Answered;
use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{client, place};

use jobtracker::wire::protocol::Protocol;

const CONSTRAINT: &str = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.ConstraintScheduler";

/// A daemon with one tracker of two map slots and a reduce slot, and an input of one line.
fn start() -> (DaemonFolders, ChildDaemon) {
    let mut place = place();
    place.overrides.extend([CONSTRAINT.to_owned(), "webinterface.private.actions=true".to_owned()]);
    fs::write(place.path("input"), "one line\n").unwrap();
    let serving = place.start();
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    tracker.obey(calls.call(&tracker.clone().heartbeat().into_call()));
    (place, serving)
}

fn job(serving: &ChildDaemon, arguments: &[&str]) -> Output {
    let (rpc, http) = (serving.rpc().to_string(), serving.http.to_string());
    let mut command = Command::new(built_program());
    command.arg("job").args(arguments).args(["--jobtracker", &rpc, "--server", &http, "--user", "alice"]);
    command.env("TZ", "CET-1").output().unwrap()
}

fn said(serving: &ChildDaemon, arguments: &[&str]) -> String {
    let output = job(serving, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a refused command says, which ends with that code.
fn refused(serving: &ChildDaemon, code: i32, arguments: &[&str]) -> String {
    let output = job(serving, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn submit(place: &DaemonFolders, serving: &ChildDaemon, output: &str, deadline: &str) -> Output {
    let (input, output) = (place.path("input").display().to_string(), place.path(output).display().to_string());
    let files = ["submit", "--input", &input, "--output", &output, "--mapper", "cat", "--reducer", "NONE", "--detach"];
    job(serving, &[&files[..], &["--map-time", "10s", "--deadline", deadline]].concat())
}

fn post(serving: &ChildDaemon, target: &str, headers: &str, body: &str) -> Answered {
    let mut stream = TcpStream::connect(serving.http).unwrap();
    let (host, length) = (serving.http, body.len());
    let head = format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    Answered::parse(&answer)
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn deadlines_are_stated_shown_and_changed_by_commands() {
    let (place, serving) = start();
    let output = submit(&place, &serving, "out", "20m");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let said_of_plan = String::from_utf8(output.stderr).unwrap();
    let due = said_of_plan.split("the constraint scheduler keeps its deadline of ").nth(1).unwrap_or_default();
    assert!(due.contains(" (in 19 m 5") || due.contains(" (in 20 m 0 s)"), "{said_of_plan}");
    assert!(due.contains("), ON_TIME: "), "{said_of_plan}");
    let list = said(&serving, &["list"]);
    assert!(list.contains("DEADLINE") && list.contains("ON_TIME"), "{list}");
    let status = said(&serving, &["status", &id]);
    let due = status.split("  deadline ").nth(1).unwrap_or_default();
    assert!(due.contains(" CET (in ") && due.contains("), ON_TIME: "), "{status}");

    let changed = said(&serving, &["deadline", &id, "40m", "--map-time", "20s"]);
    assert!(changed.starts_with(&format!("{id} is due at ")), "{changed}");
    assert!(changed.contains(" CET (in 39 m 5") || changed.contains(" CET (in 40 m 0 s)"), "{changed}");
    let why = refused(&serving, 2, &["deadline", &id, "5s"]);
    assert!(why.contains("rejected by the constraint scheduler: deadline") && why.contains("needs"), "{why}");
    let why = refused(&serving, 2, &["deadline", &id, "2026-01-01"]);
    assert!(why.contains("deadline lies in the past"), "{why}");
    let why = refused(&serving, 2, &["deadline", "job_202001010000_0007", "5s"]);
    assert!(why.contains("knows no job job_202001010000_0007"), "{why}");
    let list = said(&serving, &["list"]);
    let left_s = list.split_whitespace().rev().nth(1).and_then(|left_s| left_s.parse::<f64>().ok());
    assert!(left_s.is_some_and(|left_s| (1_200.1..=2_400.0).contains(&left_s)), "as before the refusals: {list}");
    let cleared = said(&serving, &["deadline", &id, "--clear"]);
    assert_eq!(cleared, format!("{id} has no deadline\n"));

    let (input, output) = (place.path("input").display().to_string(), place.path("out-2").display().to_string());
    let dry = |deadline| {
        let files = ["submit", "--input", &input, "--output", &output, "--mapper", "cat", "--reducer", "NONE"];
        job(&serving, &[&files[..], &["--map-time", "10s", "--deadline", deadline, "--dry-run"]].concat())
    };
    let taken = dry("20m");
    let text = String::from_utf8(taken.stdout).unwrap();
    assert_eq!(taken.status.code(), Some(0));
    assert!(text.starts_with("the constraint scheduler would accept the job\n"), "{text}");
    assert!(text.contains("maps      1 at a time, free 2\n"), "{text}");
    let late = dry("5s");
    let text = String::from_utf8(late.stdout).unwrap();
    assert!(text.contains("would reject the job: deadline 5.0 s needs 3 map slots, 2 free"), "{text}");
    assert_eq!(late.status.code(), Some(2));

    let late = submit(&place, &serving, "out-2", "5s");
    assert_eq!(late.status.code(), Some(2), "{late:?}");
    let why = String::from_utf8(late.stderr).unwrap();
    assert!(why.contains("rejected by the constraint scheduler: deadline 5.0 s needs 3 map slots, 2 free"), "{why}");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn the_page_shows_changes_and_answers_deadlines() {
    let (place, serving) = start();
    let output = submit(&place, &serving, "out", "20m");
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let report = serving.get("/scheduler?format=json", "");
    let report: serde_json::Value = serde_json::from_str(&report.body).unwrap();
    let reported = &report["jobs"][0];
    assert_eq!((&reported["job"], &reported["state"]), (&id.clone().into(), &"ON_TIME".into()), "{reported}");
    let left_ms = reported["leftMs"].as_i64().unwrap();
    let due_ms = reported["deadlineAtMs"].as_i64().unwrap();
    assert!((1_100_000..=1_200_000).contains(&left_ms) && due_ms > 1_700_000_000_000, "{reported}");
    assert_eq!((&reported["minMaps"], &reported["minReduces"]), (&1.into(), &0.into()), "{reported}");
    assert_eq!(reported["mapCost"]["source"], "job", "{reported}");

    let page = serving.get("/scheduler", "");
    assert_eq!(page.status, 200);
    for words in [&*id, "ON_TIME", "10000 ms/task (job)", "name=\"setDeadline\"", "action=\"/scheduler?whatif\""] {
        assert!(page.body.contains(words), "{words}: {}", page.body);
    }

    let set = |headers: &str, fields: &str| post(&serving, "/scheduler", &format!("{FORM}{headers}"), fields);
    let changed = set("", &format!("jobid={id}&setDeadline=40m&mapTime=20s&reduceTime=&filterRatio="));
    assert_eq!(changed.status, 302, "{changed:?}");
    let foreign = set("Origin: http://evil.example\r\n", &format!("jobid={id}&setDeadline="));
    assert_eq!(foreign.status, 403, "{foreign:?}");
    let late = set("", &format!("jobid={id}&setDeadline=1ms"));
    assert!(late.status == 400 && late.body.contains("rejected by the constraint scheduler"), "{late:?}");
    let by_get = serving.get(&format!("/scheduler?jobid={id}&setDeadline=50m"), "");
    assert_eq!(by_get.status, 405, "{by_get:?}");
    let wrong = set("", &format!("jobid={id}&setDeadline=soon"));
    assert!(wrong.status == 400 && wrong.body.contains("setDeadline: \"soon\""), "{wrong:?}");
    let status = said(&serving, &["status", &id]);
    assert!(
        status.contains("ON_TIME") && (status.contains("(in 40 m") || status.contains("(in 39 m")),
        "the change that was made: {status}"
    );

    // By a program, in the name of a user.
    let target = format!("/scheduler/deadline?job={id}&deadline=10m&user.name=alice");
    let from_page = post(&serving, &target, FORM, "");
    assert_eq!(from_page.status, 403, "{from_page:?}");
    let from_program = post(&serving, &target, &format!("{JSON}X-Requested-By: test\r\n"), "");
    assert_eq!(from_program.status, 200, "{from_program:?}");
    assert_eq!(serving.get(&target, "").status, 405, "no GET changes anything");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn questions_are_answered_as_a_submission_would_be() {
    let (_place, serving) = start();
    let ask = |body: &str| post(&serving, "/scheduler?whatif", JSON, body);
    let question = |deadline_ms: i64| {
        format!(
            r#"{{"volumeMb": 128, "reduces": 1, "deadlineMs": {deadline_ms}, "mapMsPerMb": 1000, "filterRatio": 0}}"#
        )
    };
    let answer = ask(&question(100_000));
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let expected = serde_json::json!({
        "schedulable": true, "reason": null, "minMaps": 2, "freeMaps": 2, "plannedStartMs": 0, "reduces": 1,
        "freeReduces": 1, "reduceStartLimitMs": 100_000, "earliestDeadlineMs": 64_000,
    });
    assert_eq!(answer, expected);
    let refused: serde_json::Value = serde_json::from_str(&ask(&question(60_000)).body).unwrap();
    assert_eq!(refused["schedulable"], false);
    assert_eq!(
        refused["reason"], "deadline 60.0 s needs 3 map slots, 2 free; earliest feasible deadline now 64.0 s",
        "{refused}"
    );
    for (body, words) in [
        ("[]", "not a JSON object"),
        (r#"{"volumeMb": 1}"#, "deadlineMs is missing"),
        (r#"{"volumeMb": 1, "deadlineMs": 0}"#, "deadlineMs: \"0\" is not"),
        (r#"{"volumeMb": 1, "deadlineMs": 5, "keys": []}"#, "keys: \"[]\" is not"),
        (r#"{"volumeMb": 0, "deadlineMs": 5, "reduces": 2}"#, "volumeMb: 0 with 2 reduces"),
    ] {
        let answer = ask(body);
        let error: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let error = error["error"].as_str().unwrap();
        assert!(answer.status == 400 && error.contains(words), "{body}: {error}");
    }

    // A browser gets its form again, with what it asked.
    for (deadline_ms, status, words) in
        [("100000", 200, "The job would be accepted"), ("soon", 400, "deadlineMs: &#34;soon&#34;")]
    {
        let fields = format!("volumeMb=128&deadlineMs={deadline_ms}&mapMsPerMb=1000&filterRatio=0&keys=single");
        let page = post(&serving, "/scheduler?whatif", &format!("{FORM}Accept: text/html\r\n"), &fields);
        assert_eq!(page.status, status, "{page:?}");
        let deadline = format!("value=\"{deadline_ms}\"");
        for part in [words, "value=\"128\"", &*deadline, "<option value=\"single\" selected>"] {
            assert!(page.body.contains(part), "{part}: {}", page.body);
        }
    }
    assert_eq!(serving.stop().0, 0);
}
