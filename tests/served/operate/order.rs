//! Deadline orders of the market as users meet them: a dry run, a submission with an order, signed requests.

use std::fs;
use std::process::{Command, Output};

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{client, place};

use jobtracker::clock::wall_ms;
use jobtracker::wire::protocol::Protocol;

const TERMS: [&str; 6] = ["--map-time", "10s", "--deadline", "20m", "--max-rate", "5"];

/// The market with a tick each second, one tracker of two map slots and a reduce slot, an input of three splits, and the keys of two users.
fn start() -> (DaemonFolders, ChildDaemon) {
    let place = place();
    fs::write(place.path("input"), "one line\n").unwrap();
    for user in ["alice", "bob"] {
        let file = place.path(user);
        fs::write(&file, format!("{user}key\n")).unwrap();
        place.set_mode(user, 0o600);
    }
    let serving = place.start();
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    tracker.obey(calls.call(&tracker.clone().heartbeat().into_call()));
    (place, serving)
}

fn job(place: &DaemonFolders, serving: &ChildDaemon, user: &str, arguments: &[&str]) -> Output {
    let (rpc, http) = (serving.rpc().to_string(), serving.http.to_string());
    let key = place.path(user).display().to_string();
    let mut command = Command::new(built_program());
    command.arg("job").args(arguments);
    command.args(["--jobtracker", &rpc, "--server", &http, "--user", user, "--key-file", &key]);
    command.output().unwrap()
}

fn submit(place: &DaemonFolders, serving: &ChildDaemon, user: &str, more: &[&str]) -> (i32, String, String) {
    let (input, output) = (place.path("input").display().to_string(), place.path(user).display().to_string() + "-out");
    let files = ["submit", "--input", &input, "--output", &output, "--mapper", "cat", "--reducer", "NONE"];
    let Output { status, stdout, stderr } = job(place, serving, user, &[&files[..], more].concat());
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_dry_run_shows_what_the_order_would_buy_and_submits_nothing() {
    let (place, serving) = start();
    let (code, text, _) = submit(&place, &serving, "alice", &[&TERMS[..], &["--dry-run"]].concat());
    assert_eq!(code, 0);
    for line in [
        "the order would keep the deadline of ",
        "needs   maps 1 at a time, then reduces 0",
        "buys    maps 1 at a time, then reduces 0",
        "rate    1.0, of at most 5.0",
        "cost    30.0\n",
        "end     2",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // By the clock of the day; what is left of twenty minutes says which day.
    assert!(text.contains(" (in 19 m ") || text.contains(" (in 20 m "), "{text}");
    let dear = submit(&place, &serving, "alice", &[&TERMS[..], &["--max-cost", "3", "--dry-run"]].concat());
    assert!(
        dear.1.contains("would stop, when the cost is reached") && dear.1.contains("30.0, more than the 3.0 at which"),
        "{dear:?}"
    );
    let late = ["--map-time", "10s", "--deadline", "5s", "--max-rate", "5", "--dry-run"];
    let (code, text, _) = submit(&place, &serving, "alice", &late);
    assert!(
        code == 0 && text.starts_with("the order would not keep") && text.contains("The budget of 100.0 cannot pay"),
        "{text}"
    );
    let low = [&TERMS[..5], &["0.5", "--dry-run"]].concat();
    let (code, _, why) = submit(&place, &serving, "alice", &low);
    assert!(code == 2 && why.contains("0.5"), "{why}");
    let json = submit(&place, &serving, "alice", &[&TERMS[..], &["--dry-run", "--json"]].concat()).1;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["state"], &json["needed"]["map"], &json["cost"]), (&"ON_TIME".into(), &1.into(), &"30.0".into()));
    let listed = job(&place, &serving, "alice", &["list", "--json"]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&listed.stdout).unwrap(), serde_json::json!([]));

    let question = "order=5&queue=alice&volumeMb=1&maps=4&reduces=0&deadlineMs=60000&mapTaskMs=1000";
    let quoted = |signer: &str, query: &str| serving.ask_address("/scheduler/quote", signer, query);
    assert_eq!(quoted("alice", question).status, 200);
    let denied = quoted("bob", question);
    assert!(denied.status == 500 && denied.body.contains("ACCESS DENIED"), "{}", denied.body);
    for (query, status, word) in [
        ("order=-1&queue=alice&volumeMb=1&deadlineMs=1", 400, "is negative"),
        ("order=5&queue=alice&volumeMb=1&deadlineMs=0", 400, "deadlineMs: \\\"0\\\" is not"),
        ("order=5&queue=alice&volumeMb=1&deadlineMs=1000&colour=red", 400, "\\\"colour\\\" is not a field"),
        ("order=0.5&queue=alice&volumeMb=1&deadlineMs=1000", 400, "0.5"),
    ] {
        let refused = quoted("alice", query);
        assert!(
            refused.status == status && refused.body.contains(word),
            "{query}: {} {}",
            refused.status,
            refused.body
        );
    }
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn an_order_comes_with_the_job_or_by_a_signed_request_and_goes_again() {
    let (place, serving) = start();
    let (code, id, said) = submit(&place, &serving, "alice", &[&TERMS[..], &["--detach"]].concat());
    assert_eq!(code, 0, "{said}");
    let due = said.split("the market keeps its deadline of ").nth(1).unwrap_or_default();
    assert!(due.contains(" (in 19 m 5") || due.contains(" (in 20 m 0 s)"), "{said}");
    assert!(due.contains("), from the next tick on. "), "{said}");
    let id = id.trim();
    let removed = serving.ask("alice", &format!("unbid={id}"));
    assert!(removed.status == 200 && !removed.body.contains("<order"), "{}", removed.body);
    let again = serving.ask("alice", &format!("unbid={id}"));
    assert_eq!(again.status, 404, "{}", again.body);
    let due_ms = wall_ms() + 600_000;
    let placed = serving.ask("alice", &format!("bid={id}&deadline={due_ms}&maxRate=2.5&maxCost=40"));
    for line in [
        format!("<order job=\"{id}\">"),
        format!("<deadline>{due_ms}</deadline>"),
        "<maxRate>2.5</maxRate>".to_owned(),
        "<maxCost>40.0</maxCost>".to_owned(),
    ] {
        assert!(placed.status == 200 && placed.body.contains(&line), "{line}: {}", placed.body);
    }
    let denied = serving.ask("bob", &format!("bid={id}&deadline={due_ms}&maxRate=9"));
    assert!(denied.status == 500 && denied.body.contains("ACCESS DENIED"), "{}", denied.body);
    for (wish, status, word) in [
        (format!("bid={id}&deadline=1000&maxRate=9"), 400, "deadline: 1970-01-01T00:00:01Z passed"),
        (format!("bid={id}&deadline={due_ms}&maxRate=0.5"), 400, "0.5"),
        (format!("bid={id}&deadline={due_ms}&maxRate=much"), 400, "much"),
        (format!("bid={id}&deadline={due_ms}"), 400, "maxRate"),
        (format!("bid=job_202001010000_0007&deadline={due_ms}&maxRate=9"), 404, "job_202001010000_0007"),
    ] {
        let refused = serving.ask("alice", &wish);
        assert!(refused.status == status && refused.body.contains(word), "{wish}: {} {}", refused.status, refused.body);
    }
    let kept = serving.ask("alice", &format!("bid={id}&deadline={due_ms}&maxRate=3"));
    assert!(kept.body.contains("<maxRate>3.0</maxRate>") && kept.body.matches("<order ").count() == 1, "{}", kept.body);
    assert_eq!(job(&place, &serving, "alice", &["kill", id]).status.code(), Some(0));
    assert_eq!(serving.stop().0, 0);
}
