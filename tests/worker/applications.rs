//! Applications from end to end: signed requests, the daemon, a built-in worker and real processes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;

use crate::cluster::{Cluster, files_of};
use crate::daemon::answered::Answered;
use crate::daemon::child::{TIMEOUT, try_get};
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};

const ROOM: [&str; 2] = ["jobtracker.tasktracker.memory.mb=4096", "jobtracker.tasktracker.vcores=4"];

/// Who signs.
struct Signer {
    name: String,
    key: Key,
    last_ms: i64,
}

// === impl Signer ===

impl Signer {
    fn new(name: &str, key: &str) -> Self {
        Self { name: name.to_owned(), key: Key::new(key), last_ms: 0 }
    }

    /// An answer, with its head.
    fn ask(&mut self, http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Answered {
        self.last_ms = wall_ms().max(self.last_ms + 1);
        let separator = if path.contains('?') { '&' } else { '?' };
        let (name, timestamp_ms) = (&self.name, self.last_ms);
        let mut target = format!("/ws/v1/cluster{path}{separator}user={name}&timestamp={timestamp_ms}");
        let body = body.map(ToString::to_string).unwrap_or_default();
        if !body.is_empty() {
            target += "&sha256=";
            target.extend(Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")));
        }
        let signature = sign(&format!("{method} {target}"), &self.key);
        let mut stream = TcpStream::connect(http).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nAuthorization: {signature}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Answered::parse(&answer)
    }

    /// The JSON of a request that succeeds.
    fn done(&mut self, http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Value {
        let answered = self.ask(http, method, path, body);
        assert!((200..300).contains(&answered.status), "{method} {path}: {answered:?}");
        serde_json::from_str(&answered.body).unwrap()
    }

    fn new_id(&mut self, http: SocketAddr) -> String {
        self.done(http, "POST", "/apps/new-application", None)["application-id"].as_str().unwrap().to_owned()
    }

    /// The report of an application once it is over.
    fn ended(&mut self, http: SocketAddr, id: &str) -> Value {
        let mut app = self.done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
        while ["ACCEPTED", "RUNNING"].contains(&app["state"].as_str().unwrap()) {
            let version = &app["version"];
            let path = format!("/apps/{id}?version={version}&wait-ms=10000");
            app = self.done(http, "GET", &path, None)["app"].clone();
        }
        app
    }
}

/// An application that registered, between two calls.
struct Master {
    signer: Signer,
    http: SocketAddr,
    id: String,
    response_id: u64,
    granted: Vec<String>,
    /// Container and exit status.
    completed: Vec<(String, i64)>,
}

// === impl Master ===

impl Master {
    /// The program of a new application of a user, which has registered.
    fn registered(user: &mut Signer, http: SocketAddr) -> Self {
        let id = user.new_id(http);
        let submitted = json!({"application-id": id, "application-name": "two"});
        let secret = user.done(http, "POST", "/apps", Some(&submitted))["secret"].as_str().unwrap().to_owned();
        let mut signer = Signer::new(&id, &secret);
        signer.done(http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
        Self { signer, http, id, response_id: 0, granted: vec![], completed: vec![] }
    }

    fn call(&mut self, mut members: Value) {
        members["attempt"] = json!(1);
        members["response-id"] = json!(self.response_id);
        members["wait-ms"] = json!(10_000);
        let answer = self.signer.done(self.http, "POST", &format!("/apps/{}/allocate", self.id), Some(&members));
        self.response_id = answer["response-id"].as_u64().unwrap();
        let text = |container: &Value| container["container-id"].as_str().unwrap().to_owned();
        self.granted.extend(answer["allocated-containers"].as_array().unwrap().iter().map(text));
        let completed = answer["completed-container-statuses"].as_array().unwrap().iter();
        self.completed.extend(completed.map(|status| (text(status), status["exit-status"].as_i64().unwrap())));
    }
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
    let mut master = Master::registered(&mut alice, http);
    let id = master.id.clone();
    master.call(json!({"ask": [row(512, json!({"num-containers": 2}))]}));
    while master.granted.len() < 2 {
        master.call(json!({}));
    }
    let (first, second) = (master.granted[0].clone(), master.granted[1].clone());
    let launch = |id: &str, script: &str| json!({"container-id": id, "context": {"command": ["sh", "-c", script]}});
    let launches = [launch(&first, "echo out; echo err >&2; exit 3"), launch(&second, "kill -9 $$")];
    master.call(json!({"launch": launches}));
    while master.completed.len() < 2 {
        master.call(json!({}));
    }
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

#[test]
fn a_container_on_a_full_disk_is_no_fault_of_its_program() {
    if skip_without_disks("a container on a full disk") {
        return;
    }
    let mut cluster = Cluster::new(0);
    let disk = cluster.add_worker_on_small_disk(4, &ROOM);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut master = Master::registered(&mut Signer::new("alice", "alicekey"), http);
    let mut run = |is_full: bool| {
        let before = (master.granted.len(), master.completed.len());
        master.call(json!({"ask": [row(512, json!({"num-containers": 1}))]}));
        while master.granted.len() == before.0 {
            master.call(json!({}));
        }
        if is_full {
            OnSmallDisk::fill_folder(&disk);
        }
        // The file is content that the launch brings along.
        let context = json!({"command": ["cmp", "note", "note"], "local-resources": {"note": {"content": "bm90ZQ=="}}});
        master.call(json!({"launch": [{"container-id": master.granted[before.0], "context": context}]}));
        while master.completed.len() == before.1 {
            master.call(json!({}));
        }
        master.completed[before.1].1
    };
    assert_eq!(run(true), -101);
    OnSmallDisk::make_room_in(&disk);
    assert_eq!(run(false), 0, "with room it runs");
}
