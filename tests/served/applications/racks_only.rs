//! The second worked example: ten maps that name racks only, on workers that a topology script places, heartbeat by heartbeat.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::applications::fake_worker::FakeWorker;
use crate::applications::http::{done, new_id, place};
use crate::daemon::child::{ChildDaemon, DaemonFolders};

/// Room of each worker, in containers of the example.
const ROOM: u32 = 12;
/// The racks of hosts by their first letter.
const RACKS: &str = "#!/bin/sh\nfor host; do case $host in a*) echo /rA ;; b*) echo /rB ;; *) echo /rC ;; esac; done\n";

struct Example {
    serving: ChildDaemon,
    id: String,
    response_id: u64,
    _place: DaemonFolders,
}

impl Example {
    /// Ten are wanted, six of them in one rack, four in another; there is no worker.
    fn new(strict_gates: bool) -> Self {
        let mut place = place();
        let script = place.path("racks");
        std::fs::write(&script, RACKS).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        place.overrides.push(format!("topology.script.file.name={}", script.display()));
        let serving = place.start();
        let id = new_id(serving.http);
        let submitted = json!({"application-id": id, "application-name": "racks", "strict-gates": strict_gates});
        done(serving.http, "POST", "/apps", Some(&submitted));
        done(serving.http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
        let mut example = Self { serving, id, response_id: 0, _place: place };
        let row = |name: &str, count: u32| {
            let capability = json!({"memory": 1_024, "vCores": 1});
            json!({"priority": 1, "resource-name": name, "capability": capability, "num-containers": count})
        };
        let rows = [row("/rA", 6), row("/rB", 4), row("*", 10)];
        assert_eq!(example.granted(json!({"ask": rows})), Vec::<String>::new());
        example
    }

    fn http(&self) -> SocketAddr {
        self.serving.http
    }

    /// A worker that declares its room once its rack is known: the script runs after its registration, and what it is granted meanwhile
    /// counts on the default rack.
    fn worker(&self, host: &str, room: u32) -> FakeWorker {
        let mut worker = FakeWorker::registered(self.serving.rpc(), host);
        let has_rack = || {
            let answer = done(self.http(), "GET", "/nodes", None);
            let nodes = answer["nodes"]["node"].as_array().unwrap();
            nodes.iter().any(|node| node["nodeHostName"] == host && node["rack"] != "/default-rack")
        };
        while !has_rack() {
            std::thread::yield_now();
        }
        worker.declare(room);
        worker
    }

    /// What a call is answered: the levels and racks of what was granted.
    fn granted(&mut self, mut call: Value) -> Vec<String> {
        call["attempt"] = json!(1);
        call["response-id"] = json!(self.response_id);
        let answer = done(self.http(), "POST", &format!("/apps/{}/allocate", self.id), Some(&call));
        self.response_id = answer["response-id"].as_u64().unwrap();
        let level = |one: &Value| format!("{} {}", one["locality"].as_str().unwrap(), one["rack"].as_str().unwrap());
        answer["allocated-containers"].as_array().unwrap().iter().map(level).collect()
    }

    /// The numbers of /rA, /rB and any.
    fn table(&self) -> Vec<u64> {
        let app = done(self.http(), "GET", &format!("/apps/{}", self.id), None)["app"].clone();
        let rows = app["resourceRequests"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["resourceName"].as_str().unwrap()).collect();
        assert_eq!(names, ["/rA", "/rB", "*"]);
        rows.iter().map(|row| row["numContainers"].as_u64().unwrap()).collect()
    }

    /// Waits for the table, which a beat changes.
    fn await_table(&self, expected: [u64; 3]) {
        while self.table() != expected {
            std::thread::yield_now();
        }
    }

    /// Heartbeats of a worker until the table changes; how many that took.
    fn heartbeats_until_granted(&self, worker: &mut FakeWorker) -> u32 {
        let before = self.table();
        let mut count = 0;
        while self.table() == before {
            assert!(count < 1_000, "never");
            worker.heartbeat();
            count += 1;
        }
        count
    }
}

#[test]
fn section_4_a_rack_gets_as_many_as_it_was_asked_for_and_is_closed_for_good_under_strict_gates() {
    let mut example = Example::new(true);
    assert_eq!(example.table(), [6, 4, 10]);
    let mut of_a = example.worker("a1", ROOM);
    example.await_table([0, 4, 4]);
    assert_eq!(example.granted(json!({})), vec!["RACK_LOCAL /rA"; 6]);
    // It has room for six more, and more heartbeats than any delay here.
    (0..50).for_each(|_| of_a.heartbeat());
    assert_eq!((example.granted(json!({})), example.table()), (vec![], vec![0, 4, 4]));
    let _of_b = example.worker("b1", ROOM);
    example.await_table([0, 0, 0]);
    assert_eq!(example.granted(json!({})), vec!["RACK_LOCAL /rB"; 4]);
    assert_eq!(example.serving.stop().0, 0);
}

#[test]
fn section_4_other_racks_get_nothing_before_the_delay_and_a_closed_one_only_counts_as_far() {
    let mut example = Example::new(false);
    let mut of_c = example.worker("c1", 1);
    // One node, two rows: more than 10 misses, of which one was counted with its first beat.
    assert_eq!(example.heartbeats_until_granted(&mut of_c), 10);
    assert_eq!(example.granted(json!({})), ["OFF_SWITCH /rC"]);
    assert_eq!(example.table(), [6, 4, 9]);
    let mut of_a = example.worker("a1", ROOM);
    while example.table()[0] > 0 {
        std::thread::yield_now();
    }
    let of_rack = example.granted(json!({}));
    assert_eq!(of_rack[..6], ["RACK_LOCAL /rA"; 6]);
    // It counts as far now: at most as many misses as containers are left, and one more.
    let mut heartbeats = 0;
    while example.table()[2] == 3 {
        assert!(heartbeats < 5, "never");
        of_a.heartbeat();
        heartbeats += 1;
    }
    let far: Vec<String> = [&of_rack[6..], &example.granted(json!({}))].concat();
    assert!(!far.is_empty() && far.iter().all(|one| one.starts_with("OFF_SWITCH ")), "{far:?}");
    let left = usize::try_from(example.table()[2]).unwrap();
    let _of_b = example.worker("b1", ROOM);
    while example.table()[2] > 0 {
        std::thread::yield_now();
    }
    assert_eq!(example.granted(json!({})), vec!["RACK_LOCAL /rB"; left]);
    assert_eq!(example.serving.stop().0, 0);
}
