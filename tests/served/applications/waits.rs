//! Held requests and held beats: news ends them, and so do newer ones, an upgrade and a stop.

use std::net::SocketAddr;

use serde_json::{Value, json};

use jobtracker::api::BeatAnswer;

use crate::applications::fake_worker::FakeWorker;
use crate::applications::http::{ask, done, new_id, place, send};
use crate::daemon::clients::IntoCall;
use crate::upgrade::stage::{client, upgrade};

use jobtracker::wire::protocol::{ContainerBeatCall, Protocol};

fn array(id: &str, items: &str) -> Value {
    let launch = json!({"spec": "s", "items": items});
    let row =
        json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "launch": launch});
    json!({
        "application-id": id, "application-name": "array", "unattended": true,
        "specs": {"s": {"command": ["true", "{}"]}}, "ask": [row],
    })
}

fn report(http: SocketAddr, id: &str, query: &str) -> Value {
    done(http, "GET", &format!("/apps/{id}{query}"), None)["app"].clone()
}

/// A call that waits: no node is so large.
fn waiting_call(response_id: u32) -> Value {
    let capability = json!({"memory": 100_000, "vCores": 1});
    let row = json!({"priority": response_id, "resource-name": "*", "capability": capability, "num-containers": 1});
    json!({"attempt": 1, "response-id": response_id, "wait-ms": 30_000, "ask": [row]})
}

/// A call is taken in when its row is seen.
fn await_rows(http: SocketAddr, id: &str, count: usize) {
    while report(http, id, "")["resourceRequests"].as_array().map_or(0, Vec::len) < count {
        std::thread::yield_now();
    }
}

#[test]
fn a_worker_hears_at_once_of_a_launch_and_its_end_is_noted() {
    let place = place();
    let serving = place.start();
    let mut worker = FakeWorker::new(serving.rpc(), 4);
    let id = new_id(serving.http);
    let submitted = ask(serving.http, "POST", "/apps", Some(&array(&id, "1-3")));
    assert_eq!(submitted.0, 202, "{submitted:?}");
    let launched = worker.launches(3);
    let version = report(serving.http, &id, "")["version"].as_u64().unwrap();
    let waiting = send(serving.http, "GET", &format!("/apps/{id}?version={version}&wait-ms=30000"), None);
    for container in launched {
        worker.end(container, 0);
    }
    assert_eq!(waiting.answer().0, 200);
    let app = report(serving.http, &id, "");
    assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FINISHED"), &json!("SUCCEEDED")), "{app}");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_newer_beat_ends_the_older_one_with_nothing_and_a_stranger_ends_none() {
    let place = place();
    let serving = place.start();
    let mut worker = FakeWorker::new(serving.rpc(), 4);
    let mut stranger = FakeWorker::stranger(serving.rpc());
    stranger.beat(Vec::new());
    let expected = "java.io.IOException: the secret is not that of the TaskTracker of that name";
    assert_eq!(stranger.refusal(), expected);
    let second = worker.beat(Vec::new());
    let (number, answer) = worker.receive();
    assert_eq!((number, answer.unwrap()), (second - 1, BeatAnswer::default()));
    let mut foreign = client(&serving, Protocol::ContainerBeats);
    let why = foreign.refused(&ContainerBeatCall::Beat { beat: "no beat".into() }.into_call());
    assert!(why.contains("not a beat: expected"), "{why}");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn what_waits_is_answered_before_an_upgrade_and_at_a_stop() {
    let place = place();
    let mut serving = place.start();
    let mut worker = FakeWorker::new(serving.rpc(), 4);
    let id = new_id(serving.http);
    done(serving.http, "POST", "/apps", Some(&json!({"application-id": id, "application-name": "a"})));
    let register = done(serving.http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
    assert_eq!(register["response-id"], 0);
    let allocate = format!("/apps/{id}/allocate");
    let call = waiting_call(0);
    let waiting = send(serving.http, "POST", &allocate, Some(&call));
    await_rows(serving.http, &id, 1);
    let output = upgrade(&place, &mut serving, &[]);
    assert!(output.contains(" connections; calls waited "), "{output}");
    let (status, answer) = waiting.answer();
    assert_eq!((status, &answer["response-id"]), (200, &json!(1)), "{answer}");
    let (_, held) = worker.receive();
    assert_eq!(held.unwrap(), BeatAnswer::default());
    // The same call again, as after a lost answer: the same bytes.
    assert_eq!(done(serving.http, "POST", &allocate, Some(&call)), answer);
    // The new process serves the connection; it believes nothing before the next heartbeat, and then needs all that the
    // worker has.
    let mut refusals = Vec::new();
    while !refusals.last().is_some_and(|refusal: &String| refusal.contains("lists all that it has")) {
        assert!(refusals.len() < 4, "{refusals:?}");
        worker.beat(Vec::new());
        refusals.push(worker.refusal());
        worker.heartbeat();
    }
    assert_eq!(refusals[0], "java.io.IOException: no TaskTracker of that name is registered");
    let waiting = send(serving.http, "POST", &allocate, Some(&waiting_call(1)));
    await_rows(serving.http, &id, 2);
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert_eq!(waiting.answer().1["response-id"], 2);
}

#[test]
fn a_newer_call_takes_over_the_wait() {
    let place = place();
    let serving = place.start();
    let id = new_id(serving.http);
    done(serving.http, "POST", "/apps", Some(&json!({"application-id": id, "application-name": "a"})));
    done(serving.http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
    let row =
        json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "num-containers": 1});
    let call = json!({"attempt": 1, "response-id": 0, "wait-ms": 30_000, "ask": [row]});
    let allocate = format!("/apps/{id}/allocate");
    let older = send(serving.http, "POST", &allocate, Some(&call));
    await_rows(serving.http, &id, 1);
    let newer = send(serving.http, "POST", &allocate, Some(&call));
    let (status, problem) = older.answer();
    assert_eq!((status, &problem["type"]), (409, &json!("/problems/superseded")), "{problem}");
    let mut worker = FakeWorker::new(serving.rpc(), 1);
    let (status, answer) = newer.answer();
    assert_eq!(status, 200, "{answer}");
    let container = answer["allocated-containers"][0]["container-id"].as_str().unwrap().to_owned();
    let context = json!({"command": ["false"]});
    let launch = json!({
        "attempt": 1, "response-id": 1, "launch": [{"container-id": container, "context": context}],
    });
    done(serving.http, "POST", &allocate, Some(&launch));
    let launched = worker.launches(1);
    assert_eq!(launched[0].to_string(), container);
    let call = json!({"attempt": 1, "response-id": 2, "wait-ms": 30_000});
    let waiting = send(serving.http, "POST", &allocate, Some(&call));
    worker.end(launched[0], 1);
    let (status, answer) = waiting.answer();
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["completed-container-statuses"][0]["exit-status"], 1, "{answer}");
    assert_eq!(serving.stop().0, 0);
}
