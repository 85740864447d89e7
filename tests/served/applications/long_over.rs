//! Applications that have been over for so long that the daemon has forgotten them: `state.db` still answers.

use std::net::SocketAddr;

use jobtracker::market::{Key, signature};
use serde_json::{Value, json};

use crate::applications::fake_worker::FakeWorker;
use crate::applications::http::{ask, done, new_id, place, send_raw};
use crate::daemon::child::DaemonFolders;

/// More than the daemon keeps in memory of those that are over.
const FORGETS: usize = 101;

fn array(id: &str) -> Value {
    let launch = json!({"spec": "s", "items": "1-3"});
    let row =
        json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "launch": launch});
    json!({
        "application-id": id, "application-name": "array", "unattended": true,
        "specs": {"s": {"command": ["true", "{}"]}}, "ask": [row],
    })
}

/// Submits applications and kills them. Their ids, oldest first.
fn kill_many(count: usize, mut request: impl FnMut(&str, &str, Option<&Value>) -> Value) -> Vec<String> {
    let mut one = |_| {
        let id = request("POST", "/apps/new-application", None)["application-id"].as_str().unwrap().to_owned();
        request("POST", "/apps", Some(&json!({"application-id": id, "application-name": "killed"})));
        request("PUT", &format!("/apps/{id}/state"), Some(&json!({"state": "KILLED"})));
        id
    };
    (0..count).map(&mut one).collect()
}

fn listed(answer: &Value) -> Vec<String> {
    let apps = answer["apps"]["app"].as_array().unwrap();
    apps.iter().map(|app| app["id"].as_str().unwrap().to_owned()).collect()
}

/// All pages of a list.
fn list(http: SocketAddr, filter: &str) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = done(http, "GET", &format!("/apps?limit=40{filter}{after}"), None);
        all.extend(listed(&page));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return all,
        }
    }
}

/// What is answered about an application of which memory has nothing.
fn check_all_answers(http: SocketAddr, id: &str, later: &[String]) {
    let app = done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
    let shown = ["name", "state", "finalStatus", "completedContainers", "failedContainers", "failedItems"];
    assert_eq!(
        shown.map(|member| &app[member]),
        [&json!("array"), &json!("FINISHED"), &json!("FAILED"), &json!(3), &json!(1), &json!("2")]
    );
    let mut expected: Vec<String> = later.iter().rev().cloned().collect();
    assert_eq!(list(http, "&states=KILLED"), expected);
    expected.push(id.to_owned());
    assert_eq!(list(http, ""), expected);
    assert_eq!(list(http, "&states=FINISHED"), [id]);
    assert_eq!(list(http, "&queue=other"), [""; 0]);
    assert_eq!(list(http, "&states=ACCEPTED,RUNNING"), [""; 0]);
    let containers = done(http, "GET", &format!("/apps/{id}/containers?failed=true"), None);
    let failed = containers["containers"]["container"].as_array().unwrap();
    assert_eq!(failed.iter().map(|one| &one["exitStatus"]).collect::<Vec<_>>(), [&json!(7)]);
    let container = failed[0]["containerId"].as_str().unwrap();
    assert_eq!(done(http, "GET", &format!("/containers/{container}"), None)["container"], failed[0]);
    let signal = format!("/containers/{container}/signal/GRACEFUL_SHUTDOWN");
    assert_eq!(ask(http, "POST", &signal, None), (200, json!({})));
    let state = json!({"state": "FINISHED"});
    assert_eq!(done(http, "GET", &format!("/apps/{id}/state"), None), state);
    assert_eq!(ask(http, "PUT", &format!("/apps/{id}/state"), Some(&json!({"state": "KILLED"}))), (200, state));
    let (status, again) = ask(http, "POST", "/apps", Some(&array(id)));
    assert_eq!((status, &again["state"]), (202, &json!("FINISHED")));
    let other = json!({"application-id": id, "application-name": "other"});
    assert_eq!(ask(http, "POST", "/apps", Some(&other)).1["type"], "/problems/application-exists");
    let allocate = json!({"attempt": 1, "response-id": 0});
    let (status, over) = ask(http, "POST", &format!("/apps/{id}/allocate"), Some(&allocate));
    assert_eq!(
        (status, &over["type"], &over["state"]),
        (409, &json!("/problems/application-over"), &json!("FINISHED"))
    );
}

#[test]
fn an_application_that_memory_has_forgotten_is_read_from_the_disk_also_after_a_restart() {
    let place = place();
    let serving = place.start();
    let http = serving.http;
    let mut worker = FakeWorker::new(serving.rpc(), 4);
    let id = new_id(http);
    done(http, "POST", "/apps", Some(&array(&id)));
    let containers = worker.launches(3);
    for (container, exit) in containers.iter().zip([0, 7, 0]) {
        worker.end(*container, exit);
    }
    let later = kill_many(FORGETS, |method, path, body| done(http, method, path, body));
    let metrics = serving.get("/metrics", "").body;
    for line in [
        "jobtracker_applications_submitted_total 102",
        "jobtracker_applications_ended_total{state=\"failed\"} 1",
        "jobtracker_applications_ended_total{state=\"killed\"} 101",
        "jobtracker_applications{state=\"accepted\"} 0",
        "jobtracker_containers_granted_total 3",
        "jobtracker_containers_ended_total{by=\"succeeded\"} 2",
        "jobtracker_containers_ended_total{by=\"failed\"} 1",
        "jobtracker_containers{state=\"running\"} 0",
        "jobtracker_container_held_bytes 0",
        "jobtracker_container_declared_cores 4",
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line}: {metrics}");
    }
    check_all_answers(http, &id, &later);
    let logs = format!("/containers/{}/logs/stdout", containers[0]);
    let (status, headers) = send_raw(http, "GET", &logs, None);
    let place_of_log = format!("http://n1:50060/ws/v1/node/containers/{}/logs/stdout?expires=", containers[0]);
    assert!(status == 307 && headers.contains(&place_of_log), "{status} {headers}");
    let nothing = id.replace("application_1", "application_2");
    for path in [format!("/apps/{nothing}"), format!("/apps/{nothing}/containers")] {
        assert_eq!(ask(http, "GET", &path, None).1["type"], "/problems/no-such-application");
    }
    assert_eq!(serving.stop().0, 0);
    let serving = place.start();
    check_all_answers(serving.http, &id, &later);
    let (status, lost) = ask(serving.http, "GET", &logs, None);
    assert_eq!((status, &lost["type"]), (404, &json!("/problems/no-such-container")), "its worker is not back");
    assert_eq!(serving.stop().0, 0);
}

/// A request that a user signs, with a timestamp that was not used before.
fn signed(
    http: SocketAddr,
    (user, key): (&str, &str),
    timestamp_ms: &mut i64,
    (method, path, body): (&str, &str, Option<&Value>),
) -> (u16, Value) {
    *timestamp_ms += 1;
    let separator = if path.contains('?') { '&' } else { '?' };
    let signer = if path.contains("user=") { "user.name" } else { "user" };
    let mut target = format!("/ws/v1/cluster{path}{separator}{signer}={user}&timestamp={timestamp_ms}");
    let body = body.map(ToString::to_string).unwrap_or_default();
    if !body.is_empty() {
        target += &format!("&sha256={}", crate::applications::http::sha256(&body));
    }
    let authorization = signature::sign(&format!("{method} {target}"), &Key::new(key));
    crate::applications::http::send_signed(http, method, &target, &authorization, &body).answer()
}

#[test]
fn what_is_read_from_the_disk_is_for_its_owner_and_administrators() {
    let (alice, bob, root) = (("alice", "akey"), ("bob", "bkey"), ("root", "rkey"));
    let mut place = DaemonFolders::new("");
    std::fs::write(place.acl(), "alice user akey\nbob user bkey\nroot admin rkey\n").unwrap();
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place.overrides.push(format!("jobtracker.containers.acl-file={}", place.acl().display()));
    let serving = place.start();
    let http = serving.http;
    let mut stamp = done(http, "GET", "/info", None)["clusterInfo"]["time"].as_i64().unwrap();
    let mut as_user =
        |user: (&str, &str), request: (&str, &str, Option<&Value>)| signed(http, user, &mut stamp, request);
    let id = kill_many(1, |method, path, body| as_user(alice, (method, path, body)).1).remove(0);
    kill_many(FORGETS, |method, path, body| as_user(bob, (method, path, body)).1);
    for path in ["", "/state", "/containers"].map(|part| format!("/apps/{id}{part}")) {
        assert_eq!(as_user(alice, ("GET", &path, None)).0, 200, "{path}");
        assert_eq!(as_user(root, ("GET", &path, None)).0, 200, "{path}");
        assert_eq!(as_user(bob, ("GET", &path, None)).1["type"], "/problems/forbidden", "{path}");
    }
    assert_eq!(listed(&as_user(alice, ("GET", "/apps?limit=1000", None)).1), [id.as_str()]);
    assert_eq!(listed(&as_user(bob, ("GET", "/apps?limit=1000", None)).1).len(), FORGETS);
    assert_eq!(listed(&as_user(bob, ("GET", "/apps?limit=1000&user=alice", None)).1), [""; 0]);
    assert_eq!(listed(&as_user(root, ("GET", "/apps?limit=1000", None)).1).len(), FORGETS + 1);
    assert_eq!(listed(&as_user(root, ("GET", "/apps?limit=1000&user=alice", None)).1), [id.as_str()]);
    let resubmitted = json!({"application-id": id, "application-name": "killed"});
    let secret = as_user(alice, ("POST", "/apps", Some(&resubmitted))).1["secret"].as_str().unwrap().to_owned();
    assert_eq!(as_user(bob, ("POST", "/apps", Some(&resubmitted))).1["type"], "/problems/forbidden");
    let itself = (&*id, &*secret);
    assert_eq!(as_user(itself, ("GET", &format!("/apps/{id}"), None)).0, 200, "its secret is good for it");
    assert_eq!(as_user(itself, ("GET", "/apps", None)).0, 403);
    assert_eq!(as_user((&*id, "00"), ("GET", &format!("/apps/{id}"), None)).0, 401);
    assert_eq!(serving.stop().0, 0);
}
