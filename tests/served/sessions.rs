//! `jobtracker open` against a daemon: a link that signs in once, a bearer that lives through restarts and upgrades and dies with
//! its key, and what no stranger's request shows.

use std::process::{Command, Output};

use serde_json::Value;

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program, try_get};
use crate::upgrade::stage::{place as upgradable_place, upgrade};

/// Runs a command for a user of the ACL file; whether it succeeded, and what it printed.
fn run(place: &DaemonFolders, words: &str, user: &str) -> (bool, String) {
    let key_file = place.path(&format!("{user}.key"));
    std::fs::write(&key_file, format!("{user}key\n")).unwrap();
    place.set_mode(&format!("{user}.key"), 0o600);
    let mut command = Command::new(built_program());
    command.args(words.split_whitespace()).env_remove("HADOOP_CONF_DIR").env("HOME", place.dir.path());
    if !words.starts_with("user") {
        command.args(["--as", user, "--key-file"]).arg(key_file);
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = if status.success() { stdout } else { stderr };
    (status.success(), String::from_utf8(text).unwrap().trim().to_owned())
}

fn session_of(place: &DaemonFolders, serving: &ChildDaemon, user: &str) -> String {
    let (is_done, session) = run(place, &format!("open --token --server {}", serving.http), user);
    assert!(is_done && session.starts_with("v1."), "{session}");
    session
}

/// The rows of queues by a bearer; the status where there are none.
fn queues(serving: &ChildDaemon, session: &str) -> Result<Vec<Value>, u16> {
    let answer = try_get(serving.http, "/api/v1/queues", &format!("Bearer {session}")).unwrap();
    if answer.status != 200 {
        return Err(answer.status);
    }
    let listed: Value = serde_json::from_str(&answer.body).unwrap();
    Ok(listed["items"].as_array().unwrap().clone())
}

#[test]
fn a_link_works_once_and_a_bearer_shows_the_own_queue_until_its_key_is_another() {
    let place = DaemonFolders::new("alice 7319.625 3.3719\nbob 50 1\n");
    place.set_mode("etc/hadoop.acl", 0o600);
    let serving = place.start();
    let (_, link) = run(&place, &format!("open /queues --print --server {}", serving.http), "alice");
    let path = link.strip_prefix(&format!("http://{}", serving.http)).unwrap_or_else(|| panic!("{link}"));
    let first = try_get(serving.http, path, "").unwrap();
    assert_eq!((first.status, first.header("location")), (303, Some("/queues")), "{first:?}");
    let cookie = first.header("set-cookie").unwrap();
    assert!(cookie.starts_with("jobtracker_session=v1.alice.") && cookie.contains("max-age=43200"), "{cookie}");
    let second = try_get(serving.http, path, "").unwrap();
    assert!(second.status == 500 && second.body.contains("was used before"), "{second:?}");
    let session = session_of(&place, &serving, "alice");
    let rows = queues(&serving, &session).unwrap();
    assert_eq!((&rows[0]["budget"], rows[1].get("budget")), (&Value::from("7319.625"), None), "{rows:?}");
    let all = queues(&serving, &session_of(&place, &serving, "root")).unwrap();
    assert_eq!((&all[0]["budget"], &all[1]["budget"]), (&Value::from("7319.625"), &Value::from("50.0")), "{all:?}");
    // No change is taken from a bearer, also not from an administrator's.
    let root = session_of(&place, &serving, "root");
    let changed =
        try_get(serving.http, "/scheduler?addBudget=5&queue=bob&user=root&timestamp=1", &format!("Bearer {root}"));
    assert_eq!(changed.unwrap().status, 500);
    let (_, denied) = run(&place, &format!("open --token --server {}", serving.http), "mallory");
    assert!(denied.contains("denied"), "{denied}");
    // The old key signs for an hour, and its sessions are over at once.
    let (is_done, said) =
        run(&place, &format!("user key alice --keep-old 1h --acl-file {}", place.acl().display()), "root");
    assert!(is_done, "{said}");
    assert_eq!(queues(&serving, &session), Err(401));
    let (is_done, said) = run(&place, &format!("open --token --server {}", serving.http), "alice");
    assert!(!is_done && said.contains("replaces"), "{said}");
    let (is_done, budget) = run(&place, &format!("queue info --server {}", serving.http), "alice");
    assert!(is_done && budget.contains("7319.625"), "the old key still signs: {budget}");
}

#[test]
fn restarts_and_upgrades_keep_sessions() {
    let place = upgradable_place();
    let serving = place.start();
    let session = session_of(&place, &serving, "bob");
    let budget_of_bob = |serving: &ChildDaemon| queues(serving, &session).map(|rows| rows[1]["budget"].is_string());
    assert_eq!(budget_of_bob(&serving), Ok(true));
    serving.terminate();
    serving.end();
    let mut serving = place.start();
    assert_eq!(budget_of_bob(&serving), Ok(true), "after a restart");
    upgrade(&place, &mut serving, &[]);
    assert_eq!(budget_of_bob(&serving), Ok(true), "after an upgrade");
}

/// What can be asked without a signature.
const OPEN_ADDRESSES: &[&str] = &[
    "/",
    "/?part=main",
    "/jobs",
    "/jobs?format=csv",
    "/history",
    "/queues",
    "/queues?format=csv",
    "/queues/alice",
    "/market",
    "/market?rate=0.5",
    "/market?part=ladder",
    "/policy",
    "/policy?format=csv",
    "/workers",
    "/slots",
    "/users",
    "/health",
    "/reports/users",
    "/reports/queues",
    "/search?q=alice",
    "/metrics",
    "/status",
    "/readyz",
    "/scheduler?price",
    "/scheduler?format=json",
    "/scheduler/history",
    "/scheduler/jobs",
    "/jobtracker.jsp",
    "/jobtracker.jsp?format=json",
    "/jobqueue_details.jsp?queueName=alice",
    "/machines.jsp?type=active",
    "/jmx",
    "/conf",
    "/logs",
    "/logs/jobtracker.log",
    "/api/v1/cluster",
    "/api/v1/health",
    "/api/v1/jobs",
    "/api/v1/queues",
    "/api/v1/queues?format=csv",
    "/api/v1/queues/alice",
    "/api/v1/queues/alice/statement",
    "/api/v1/queues/alice/spending",
    "/api/v1/market",
    "/api/v1/market/prices",
    "/api/v1/market/shares",
    "/api/v1/slots",
    "/api/v1/policy",
    "/api/v1/orders",
    "/api/v1/users",
    "/api/v1/reports/users",
    "/api/v1/reports/queues",
    "/api/v1/reports/jobs",
    "/api/v1/history/jobs",
];

#[test]
fn no_open_address_shows_a_stranger_or_another_user_a_balance_or_a_rate() {
    let place = DaemonFolders::new("alice 7319.625 3.3719\nbob 50 1\n");
    let serving = place.start();
    let (alice, bob) = (session_of(&place, &serving, "alice"), session_of(&place, &serving, "bob"));
    let seen = |session: &str| {
        let authorization = if session.is_empty() { String::new() } else { format!("Bearer {session}") };
        let mut found = Vec::new();
        for address in OPEN_ADDRESSES {
            let answer = try_get(serving.http, address, &authorization).unwrap();
            let secrets = ["7319.625", "3.3719"].into_iter().filter(|secret| answer.body.contains(secret));
            found.extend(secrets.map(|secret| format!("{address}: {secret}")));
        }
        found
    };
    assert_eq!(seen(""), Vec::<String>::new());
    assert_eq!(seen(&bob), Vec::<String>::new());
    // They are there to be found.
    assert!(!seen(&alice).is_empty());
}
