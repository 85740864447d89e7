//! Answers of the daemon that strangers make as large as they can: launches for a worker, reports of applications, news for many waits.

use std::net::{SocketAddr, TcpStream};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::attacker::connect_from;
use crate::cluster::Cluster;
use crate::daemon::signer::{Signer, exchange, request};
use crate::stage::{Stage, size, turn};
use crate::verdict::Attack;
use crate::victims::VictimOptions;

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
const MIB: u64 = 1 << 20;
/// As much as a command and an environment may have.
const TEXT_BYTES: usize = 60 << 10;
/// Launches of a call, whose body has a limit.
const LAUNCHES_OF_CALL: usize = 50;

/// An application whose program is this test.
struct Program {
    id: String,
    signer: Signer,
    http: SocketAddr,
    response_id: u64,
    granted: Vec<String>,
}

impl Program {
    fn register(user: &mut Signer, http: SocketAddr) -> Self {
        let id = user.new_id(http);
        let body = json!({"application-id": id, "application-name": "large"});
        let secret = user.done(http, "POST", "/apps", Some(&body))["secret"].as_str().unwrap().to_owned();
        let mut signer = Signer::new(&id, &secret);
        signer.done(http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
        Self { id, signer, http, response_id: 0, granted: Vec::new() }
    }

    fn call(&mut self, mut members: Value) {
        members["attempt"] = json!(1);
        members["response-id"] = json!(self.response_id);
        let answer = self.signer.done(self.http, "POST", &format!("/apps/{}/allocate", self.id), Some(&members));
        self.response_id = answer["response-id"].as_u64().unwrap();
        let granted = answer["allocated-containers"].as_array().unwrap().iter();
        self.granted.extend(granted.map(|one| one["container-id"].as_str().unwrap().to_owned()));
    }

    /// Rows of so many hosts, of which none is there.
    fn ask_for_hosts(&mut self, count: u32) {
        let row = |priority: u32, name: &str| json!({"priority": priority, "resource-name": name, "capability": {"memory": 1024, "vCores": 1}, "num-containers": 1});
        // A table has at most 10,000 hosts.
        for (priority, hosts) in [(1, 0..count / 2), (2, count / 2..count)] {
            let mut rows: Vec<Value> =
                hosts.map(|host| row(priority, &format!("host-{host}.of.nobody.example.com"))).collect();
            rows.extend([row(priority, "/default-rack"), row(priority, "*")]);
            self.call(json!({"ask": rows}));
        }
    }
}

/// Launches of the largest contexts for one worker go to it in portions, and another user's container runs.
#[test]
fn launches_of_large_contexts() {
    let _turn = turn();
    let count = size(60, 600) as usize;
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&["jobtracker.tasktracker.memory.mb=2048000", "jobtracker.tasktracker.vcores=2000"]);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut bob = Program::register(&mut Signer::new("bob", "bobkey"), http);
    let row = json!({"priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1}, "num-containers": count});
    bob.call(json!({"ask": [row]}));
    while bob.granted.len() < count {
        bob.call(json!({"wait-ms": 10_000}));
    }
    let text = "x".repeat(TEXT_BYTES);
    let context = |number: usize| json!({"command": ["sh", "-c", "exit 0", text, number.to_string()], "environment": {"LARGE": text}});
    let all = std::mem::take(&mut bob.granted);
    let launches: Vec<Value> =
        all.iter().enumerate().map(|(at, id)| json!({"container-id": id, "context": context(at)})).collect();
    // All at once, for a worker that was busy for a while.
    kill_process(cluster.worker_pid(0), Signal::STOP).unwrap();
    for some in launches.chunks(LAUNCHES_OF_CALL) {
        bob.call(json!({"launch": some}));
    }
    kill_process(cluster.worker_pid(0), Signal::CONT).unwrap();
    let mut alice = Signer::new("alice", "alicekey");
    let id = alice.new_id(http);
    let row = json!({
        "priority": 1, "resource-name": "*", "capability": {"memory": 512, "vCores": 1},
        "launch": {"spec": "s", "items": "1"},
    });
    let specs = json!({"s": {"command": ["true"]}});
    let honest =
        json!({"application-id": id, "application-name": "honest", "unattended": true, "specs": specs, "ask": [row]});
    alice.done(http, "POST", "/apps", Some(&honest));
    let app = alice.ended(http, &id);
    assert_eq!(app["finalStatus"], "SUCCEEDED", "{app}");
    // Nothing of the large ones is lost either.
    let mut user = Signer::new("bob", "bobkey");
    let path = format!("/apps/{}", bob.id);
    while user.done(http, "GET", &path, None)["app"]["completedContainers"] != count {
        bob.call(json!({"wait-ms": 1_000}));
    }
}

/// Reports of many rows, news for many waits, and answers that nobody reads cost the owner and the memory little; what the
/// applications keep is free again once they are over.
#[test]
fn reports_without_end() {
    let signed = VictimOptions { is_signed: true, ..VictimOptions::default() };
    let mut attack = Attack::on(Stage::market(&[]), "reports without end", &signed);
    let mut bob = Signer::new("bob", "bobkey");
    let (longest, waits, grown, ids) = attack.strike(|stage| {
        let http = stage.serving.http;
        let mut programs: Vec<Program> = (0..size(3, 15)).map(|_| Program::register(&mut bob, http)).collect();
        programs.iter_mut().for_each(|program| program.ask_for_hosts(size(2_000, 19_800)));
        let with_tables = stage.serving.resident_bytes();
        let longest = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..6)
                .map(|_| {
                    let (target, signature) = bob.sign("GET", "/apps?limit=1000", "");
                    scope.spawn(move || exchange(http, &request(http, "GET", &target, &signature, "")))
                })
                .collect();
            asked.into_iter().map(|asked| asked.join().unwrap().body.len()).max().unwrap()
        });
        let path = format!("/apps/{}", programs[0].id);
        let send = |bob: &mut Signer, path: &str| {
            let (target, signature) = bob.sign("GET", path, "");
            let words = format!("GET {target} HTTP/1.1\r\nHost: {http}\r\nAuthorization: {signature}\r\n\r\n");
            connect_from(LOOPBACK, http, words.as_bytes()).ok()
        };
        let unread: Vec<TcpStream> =
            (0..14).filter_map(|_| send(&mut bob, &format!("{path}?rows=1000&rows-after=0"))).collect();
        let version = bob.done(http, "GET", &path, None)["app"]["version"].clone();
        let waits: Vec<TcpStream> =
            (0..200).map_while(|_| send(&mut bob, &format!("{path}?version={version}&wait-ms=30000"))).collect();
        programs[0].call(json!({"progress": 0.5, "ask": [{
            "priority": 3, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1}, "num-containers": 1,
        }]}));
        let grown = stage.serving.resident_bytes().saturating_sub(with_tables);
        drop(unread);
        let ids: Vec<String> = programs.into_iter().map(|program| program.id).collect();
        (longest as u64, waits.len(), grown, ids)
    });
    ids.iter().for_each(|id| bob.kill(attack.stage.serving.http, id));
    attack.must(longest <= MIB, || format!("a report of all applications has {} kB", longest >> 10));
    attack.must(grown <= 96 * MIB, || format!("reports and {waits} waits took {} MiB", grown / MIB));
    attack.close();
}
