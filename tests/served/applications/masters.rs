//! Masters that are superseded, and masters that fall silent.

use serde_json::{Value, json};

use crate::applications::fake_worker::FakeWorker;
use crate::applications::http::{ask, done, new_id, place, send};

/// The shortest silence that can be asked for.
const EXPIRY_MS: u64 = 10_000;

fn row() -> Value {
    json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "num-containers": 1})
}

#[test]
fn a_second_master_takes_over_what_lives_and_ends_the_first() {
    let place = place();
    let serving = place.start();
    let http = serving.http;
    let mut worker = FakeWorker::new(serving.rpc(), 2);
    let id = new_id(http);
    done(http, "POST", "/apps", Some(&json!({"application-id": id, "application-name": "two masters"})));
    let register = format!("/apps/{id}/register");
    let allocate = format!("/apps/{id}/allocate");
    assert_eq!(done(http, "POST", &register, Some(&json!({})))["attempt"], 1);
    let call = json!({"attempt": 1, "response-id": 0, "wait-ms": 30_000, "ask": [row()]});
    let granted = done(http, "POST", &allocate, Some(&call));
    let container = granted["allocated-containers"][0]["container-id"].clone();
    let launch = json!({"container-id": container, "context": {"command": ["sleep", "1000"]}});
    done(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 1, "launch": [launch]})));
    let launched = worker.launches(1);
    // The first master waits for news while the second one registers.
    let waiting = send(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 2, "wait-ms": 30_000})));
    let second = done(http, "POST", &register, Some(&json!({})));
    assert_eq!((&second["attempt"], &second["containers"][0]["container-id"]), (&json!(2), &container), "{second}");
    let superseded = |(status, problem): (u16, Value)| {
        assert_eq!((status, &problem["type"]), (409, &json!("/problems/superseded")), "{problem}");
    };
    superseded(waiting.answer());
    superseded(ask(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 2}))));
    let end = json!({"attempt": 1, "final-status": "SUCCEEDED", "diagnostics": ""});
    superseded(ask(http, "POST", &format!("/apps/{id}/unregister"), Some(&end)));
    // The container lived on, and its end is the second master's.
    worker.end(launched[0], 7);
    let news = done(http, "POST", &allocate, Some(&json!({"attempt": 2, "response-id": 0, "wait-ms": 30_000})));
    assert_eq!(news["completed-container-statuses"][0]["exit-status"], 7, "{news}");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_silent_master_has_failed_after_its_expiry_and_its_containers_are_killed() {
    let place = place();
    let serving = place.start();
    let http = serving.http;
    let mut worker = FakeWorker::new(serving.rpc(), 2);
    let id = new_id(http);
    let submitted = json!({"application-id": id, "application-name": "silent", "expiry-ms": EXPIRY_MS});
    done(http, "POST", "/apps", Some(&submitted));
    done(http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
    let allocate = format!("/apps/{id}/allocate");
    let call = json!({"attempt": 1, "response-id": 0, "wait-ms": 30_000, "ask": [row()]});
    let granted = done(http, "POST", &allocate, Some(&call));
    let container = granted["allocated-containers"][0]["container-id"].as_str().unwrap().to_owned();
    let launch = json!({"container-id": container, "context": {"command": ["sleep", "1000"]}});
    done(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 1, "launch": [launch]})));
    let launched = worker.launches(1);
    // Reports are no sign of life.
    let killed = worker.kill_of(launched[0]);
    assert_eq!(killed.exit.0, -107, "{killed:?}");
    worker.end(launched[0], -107);
    let mut app = done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
    while app["state"] == "RUNNING" {
        let path = format!("/apps/{id}?version={}&wait-ms=10000", app["version"]);
        app = done(http, "GET", &path, None)["app"].clone();
    }
    assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FAILED"), &json!("FAILED")), "{app}");
    let lived_ms = app["finishedTime"].as_u64().unwrap() - app["startedTime"].as_u64().unwrap();
    assert!(lived_ms >= EXPIRY_MS, "{app}");
    let (status, problem) = ask(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 2})));
    assert_eq!((status, &problem["type"]), (409, &json!("/problems/application-over")), "{problem}");
    assert_eq!(serving.stop().0, 0);
}
