//! Applications from end to end: signed requests, the daemon, a built-in worker and real processes.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use serde_json::{Value, json};

use crate::cluster::{Cluster, files_of};
use crate::daemon::child::try_get;
use crate::daemon::signer::Signer;

const ROOM: [&str; 2] = ["jobtracker.tasktracker.memory.mb=4096", "jobtracker.tasktracker.vcores=4"];

/// An application that registered, between two calls.
pub struct Master {
    pub signer: Signer,
    http: SocketAddr,
    pub id: String,
    response_id: u64,
    /// All containers that were granted, as `allocated-containers` had them.
    pub granted: Vec<Value>,
    /// Container and exit status.
    pub completed: Vec<(String, i64)>,
}

// === impl Master ===

impl Master {
    /// Submits an application with these members beside its id and its name, and registers for it.
    pub fn register(user: &mut Signer, http: SocketAddr, mut members: Value) -> Self {
        let id = user.new_id(http);
        members["application-id"] = json!(id);
        members["application-name"] = json!("of a test");
        let secret = user.done(http, "POST", "/apps", Some(&members))["secret"].as_str().unwrap().to_owned();
        let mut signer = Signer::new(&id, &secret);
        signer.done(http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
        Self { signer, http, id, response_id: 0, granted: vec![], completed: vec![] }
    }

    /// A call that waits for a container or an end.
    pub fn call(&mut self, mut members: Value) {
        members["wait-ms"] = json!(10_000);
        self.call_at_once(members);
    }

    /// A call that is answered at once.
    pub fn call_at_once(&mut self, mut members: Value) {
        members["attempt"] = json!(1);
        members["response-id"] = json!(self.response_id);
        let answer = self.signer.done(self.http, "POST", &format!("/apps/{}/allocate", self.id), Some(&members));
        self.response_id = answer["response-id"].as_u64().unwrap();
        self.granted.extend(answer["allocated-containers"].as_array().unwrap().iter().cloned());
        let completed = answer["completed-container-statuses"].as_array().unwrap().iter();
        self.completed.extend(completed.map(|status| (container_of(status), status["exit-status"].as_i64().unwrap())));
    }

    /// Calls until so many containers were granted in all.
    pub fn await_granted(&mut self, count: usize) {
        while self.granted.len() < count {
            self.call(json!({}));
        }
    }

    /// Calls until so many have ended.
    pub fn await_completed(&mut self, count: usize) {
        while self.completed.len() < count {
            self.call(json!({}));
        }
    }
}

/// The id of a container that an answer names.
pub fn container_of(members: &Value) -> String {
    members["container-id"].as_str().unwrap().to_owned()
}

fn row(capability_mb: u32, members: Value) -> Value {
    let mut row = json!({"priority": 1, "resource-name": "*", "capability": {"memory": capability_mb, "vCores": 1}});
    for (name, value) in members.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

#[test]
fn a_program_asks_for_containers_launches_them_and_reads_their_ends_and_logs() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&ROOM);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut alice = Signer::new("alice", "alicekey");
    let mut master = Master::register(&mut alice, http, json!({}));
    let id = master.id.clone();
    master.call(json!({"ask": [row(512, json!({"num-containers": 2}))]}));
    master.await_granted(2);
    let (first, second) = (container_of(&master.granted[0]), container_of(&master.granted[1]));
    let launch = |id: &str, script: &str| json!({"container-id": id, "context": {"command": ["sh", "-c", script]}});
    let launches = [launch(&first, "echo out; echo err >&2; exit 3"), launch(&second, "kill -9 $$")];
    master.call(json!({"launch": launches}));
    master.await_completed(2);
    master.completed.sort();
    assert_eq!(master.completed, [(first.clone(), 3), (second, 137)]);
    assert_eq!(log(&mut alice, http, &first, "stdout"), "out\n");
    assert_eq!(log(&mut alice, http, &first, "stderr"), "err\n");
    let end = json!({"attempt": 1, "final-status": "SUCCEEDED", "diagnostics": ""});
    let state = master.signer.done(http, "POST", &format!("/apps/{id}/unregister"), Some(&end));
    assert_eq!(state["state"], "FINISHED");
}

/// The log of a container, from the worker.
fn log(user: &mut Signer, http: SocketAddr, container: &str, name: &str) -> String {
    let answered = user.ask(http, "GET", &format!("/containers/{container}/logs/{name}"), None);
    assert_eq!(answered.status, 307, "{answered:?}");
    // The head is in lower case here, and a container's id and the digits of a ticket are.
    let location = answered.header("location").unwrap();
    let (address, target) = location.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let address = address.to_socket_addrs().unwrap().find(SocketAddr::is_ipv4).unwrap();
    let served = try_get(address, &format!("/{target}"), "").unwrap();
    assert_eq!(served.status, 200, "{served:?}");
    served.body
}

#[test]
fn an_array_ends_though_the_daemon_is_killed_in_the_middle() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&ROOM);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut alice = Signer::new("alice", "alicekey");
    let id = alice.new_id(http);
    let folder = cluster.folder().join("items");
    std::fs::create_dir(&folder).unwrap();
    // Items from the fifth on wait for the gate.
    let script = format!(
        "cd {} && echo $JOBTRACKER_ITEM_ATTEMPT >> item-{{}}; while [ {{}} -gt 4 ] && [ ! -e gate ]; do sleep 0.05; done",
        folder.display()
    );
    let launch = json!({"spec": "s", "items": "1-20", "max-running": 4});
    let submitted = json!({
        "application-id": id, "application-name": "array", "unattended": true,
        "specs": {"s": {"command": ["sh", "-c", script]}}, "ask": [row(512, json!({"launch": launch}))],
    });
    assert_eq!(alice.ask(http, "POST", "/apps", Some(&submitted)).status, 202);
    while items(&folder) < 6 {
        std::thread::yield_now();
    }
    cluster.serving.take().unwrap().kill();
    std::fs::write(folder.join("gate"), "").unwrap();
    let serving = cluster.serving.insert(cluster.place.start());
    let app = alice.ended(serving.http, &id);
    assert_eq!((&app["state"], &app["finalStatus"]), (&json!("FINISHED"), &json!("SUCCEEDED")), "{app}");
    assert_eq!((&app["completedContainers"], &app["failedContainers"]), (&json!(20), &json!(0)), "{app}");
    for number in 1..=20 {
        let text = std::fs::read_to_string(folder.join(format!("item-{number}"))).unwrap();
        assert_eq!(text, "1\n", "item {number} ran once");
    }
}

fn items(folder: &Path) -> usize {
    files_of(folder).iter().filter(|name| name.starts_with("item-")).count()
}
