//! A disk that fills up under the database while applications run: what cannot be stored is refused, and nothing is lost.

use serde_json::{Value, json};

use jobtracker::fake_tracker::report_end;
use jobtracker::model::ContainerExit;

use crate::applications::fake_worker::FakeWorker;
use crate::applications::http::{ask, done, new_id, place, send};
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};

fn array(id: &str, items: &str) -> Value {
    let launch = json!({"spec": "s", "items": items});
    let row =
        json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "launch": launch});
    let specs = json!({"s": {"command": ["true", "{}"]}});
    json!({"application-id": id, "application-name": "array", "unattended": true, "specs": specs, "ask": [row]})
}

#[test]
fn a_full_disk_refuses_what_it_cannot_store_and_loses_nothing() {
    if skip_without_disks("a full disk under applications") {
        return;
    }
    let place = place();
    let on = OnSmallDisk::start(&place, "state");
    let http = on.serving.http;
    let mut worker = FakeWorker::new(on.serving.rpc(), 4);
    let (running, wanted) = (new_id(http), new_id(http));
    done(http, "POST", "/apps", Some(&array(&running, "1-2")));
    let launched = worker.launches(2);
    on.fill();
    // The first one finds that out, and is not left without an answer either.
    for what in ["the disk is full", "it still is"] {
        let refused = send(http, "POST", "/apps", Some(&array(&wanted, "1"))).answered();
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{what}: {refused:?}");
        assert!(refused.body.contains("/problems/unavailable"), "{refused:?}");
        assert!(refused.body.contains("the state store cannot write"), "{refused:?}");
    }
    let (status, problem) = ask(http, "GET", &format!("/apps/{running}"), None);
    assert_eq!((status, &problem["type"]), (503, &json!("/problems/unavailable")), "what is shown is durable");
    // The end of a container waits until it can be stored.
    worker.beat(vec![report_end(launched[0], ContainerExit(0), 2)]);
    on.make_room();
    while !worker.receive().1.unwrap().noted.contains(&launched[0]) {}
    worker.end(launched[1], 0);
    // The same submission again: it is there once, whether or not the first one was stored in the end.
    while ask(http, "POST", "/apps", Some(&array(&wanted, "1"))).0 == 503 {
        std::thread::yield_now();
    }
    let item = worker.launches(1);
    assert_eq!(item[0].application.to_string(), wanted);
    worker.end(item[0], 0);
    for id in [&running, &wanted] {
        let app = done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
        assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FINISHED"), &json!("SUCCEEDED")), "{app}");
    }
    let all = done(http, "GET", "/apps", None);
    assert_eq!(all["apps"]["app"].as_array().unwrap().len(), 2, "{all}");
    assert_eq!(on.serving.stop().0, 0);
}
