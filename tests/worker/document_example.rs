//! The worked example of the document over HTTP: real workers under the names of its hosts, placed by a topology script, and the table of
//! requests after each step.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::applications::{Master, container_of};
use crate::cluster::{Cluster, files_of};
use crate::daemon::signer::Signer;

/// The racks of the example, by the names of hosts.
const RACKS: &str = "#!/bin/sh
for host; do
    case $host in h1001 | h1010) echo /r11 ;; h2121) echo /r22 ;; h3118) echo /r31 ;; h4123) echo /r45 ;; *) echo /elsewhere ;; esac
done
";
/// The rows of both types, as reports order them.
const ROWS: [(u32, &str); 11] = [
    (1, "h1001"),
    (1, "h1010"),
    (1, "h2121"),
    (1, "h3118"),
    (1, "h4123"),
    (1, "/r11"),
    (1, "/r22"),
    (1, "/r31"),
    (1, "/r45"),
    (1, "*"),
    (2, "*"),
];
const INITIAL: [u32; 11] = [1, 1, 2, 1, 1, 2, 2, 1, 1, 2, 1];
const GRANTED_ON_H2121: [u32; 11] = [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1];
const MAP0_KEPT: [u32; 11] = [0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1];
const GRANTED_ON_H1010: [u32; 11] = [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1];

struct Example {
    cluster: Cluster,
    http: SocketAddr,
    user: Signer,
    master: Master,
    _topology: tempfile::TempDir,
}

fn memory_mb(priority: u32) -> u32 {
    1_024 * priority
}

fn row((priority, name): (u32, &str), count: u32) -> Value {
    let capability = json!({"memory": memory_mb(priority), "vCores": 1});
    json!({"priority": priority, "resource-name": name, "capability": capability, "num-containers": count})
}

impl Example {
    /// Two maps and a reduce are asked for; there is no worker.
    fn new(strict_gates: bool) -> Self {
        let topology = tempfile::tempdir().unwrap();
        let script = topology.path().join("racks");
        std::fs::write(&script, RACKS).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let cluster = Cluster::with(&[&format!("topology.script.file.name={}", script.display())], 0);
        let http = cluster.serving.as_ref().unwrap().http;
        let mut user = Signer::new("alice", "alicekey");
        let mut master = Master::register(&mut user, http, json!({"strict-gates": strict_gates}));
        let rows: Vec<Value> = ROWS.iter().zip(INITIAL).map(|(name, count)| row(*name, count)).collect();
        master.call_at_once(json!({"ask": rows}));
        Self { cluster, http, user, master, _topology: topology }
    }

    /// Starts a worker under a name of the example, with room for so many MB, on a host whose rack is known: the script runs once the first
    /// worker of a host has registered, and what that one is granted meanwhile counts on the default rack.
    fn join(&mut self, host: &str, memory_mb: u32) {
        let before = self.nodes().len();
        self.cluster.add_worker(&[&format!("slave.host.name={host}"), "jobtracker.tasktracker.containers=false"]);
        while !self.has_rack(host) {
            std::thread::yield_now();
        }
        self.cluster.add_worker(&[
            &format!("slave.host.name={host}"),
            "mapred.tasktracker.map.tasks.maximum=0",
            "mapred.tasktracker.reduce.tasks.maximum=0",
            &format!("jobtracker.tasktracker.memory.mb={memory_mb}"),
            &format!("jobtracker.tasktracker.vcores={}", memory_mb / 1_024),
        ]);
        // Room is declared by the first beat.
        while self.nodes().len() == before {
            std::thread::yield_now();
        }
    }

    /// Whether the rack of a host is known.
    fn has_rack(&mut self, host: &str) -> bool {
        let answer = self.user.done(self.http, "GET", "/nodes", None);
        let nodes = answer["nodes"]["node"].as_array().unwrap();
        nodes.iter().any(|node| node["nodeHostName"] == host && node["rack"] != "/default-rack")
    }

    /// The nodes that have declared room: name, rack, free MB.
    fn nodes(&mut self) -> Vec<(String, String, u64)> {
        let answer = self.user.done(self.http, "GET", "/nodes", None);
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let nodes = answer["nodes"]["node"].as_array().unwrap().iter();
        let nodes = nodes.filter(|node| number(&node["availMemoryMB"]) + number(&node["usedMemoryMB"]) > 0);
        nodes.map(|node| (text(&node["nodeHostName"]), text(&node["rack"]), number(&node["availMemoryMB"]))).collect()
    }

    /// The table, with the rows that are there.
    fn table(&mut self) -> Vec<(u32, String, u64)> {
        let path = format!("/apps/{}", self.master.id);
        let report = self.user.done(self.http, "GET", &path, None);
        let row = |row: &Value| {
            let priority = u32::try_from(row["priority"].as_u64().unwrap()).unwrap();
            assert_eq!(row["capability"], json!({"memory": memory_mb(priority), "vCores": 1}));
            (priority, row["resourceName"].as_str().unwrap().to_owned(), row["numContainers"].as_u64().unwrap())
        };
        report["app"]["resourceRequests"].as_array().unwrap().iter().map(row).collect()
    }

    fn assert_table(&mut self, counts: [u32; 11], step: &str) {
        let rows = ROWS.iter().zip(counts);
        let expected: Vec<(u32, String, u64)> =
            rows.map(|((priority, name), count)| (*priority, (*name).to_owned(), count.into())).collect();
        assert_eq!(self.table(), expected, "{step}");
    }

    /// Waits until so many containers are granted in all; the last one must be of this node, level and row.
    fn await_grant(&mut self, count: usize, expected: [&str; 3]) -> String {
        self.master.await_granted(count);
        assert_eq!(self.master.granted.len(), count, "{:?}", self.master.granted);
        let granted = self.master.granted.last().unwrap();
        let node = granted["node-id"].as_str().unwrap().split(':').next().unwrap();
        let found = [node, granted["locality"].as_str().unwrap(), granted["resource-name"].as_str().unwrap()];
        assert_eq!(found, expected, "{granted}");
        container_of(granted)
    }

    /// Sends rows of maps alone.
    fn lower(&mut self, rows: &[(&str, u32)]) {
        let rows: Vec<Value> = rows.iter().map(|(name, count)| row((1, name), *count)).collect();
        self.master.call_at_once(json!({"ask": rows}));
    }
}

#[test]
fn section_4_every_table_of_the_document_stands_after_its_step_on_workers_placed_by_a_topology_script() {
    let mut example = Example::new(false);
    example.assert_table(INITIAL, "initial");
    example.join("h2121", 1_024);
    let map0 = example.await_grant(1, ["h2121", "NODE_LOCAL", "h2121"]);
    example.assert_table(GRANTED_ON_H2121, "granted on h2121");
    for time in ["once", "twice"] {
        example.lower(&[("h1001", 0), ("h3118", 0), ("/r11", 1), ("/r31", 0)]);
        example.assert_table(MAP0_KEPT, time);
    }
    example.join("h1010", 1_024);
    let map1 = example.await_grant(2, ["h1010", "NODE_LOCAL", "h1010"]);
    example.assert_table(GRANTED_ON_H1010, "granted on h1010");
    // Its rows still show one, and no map is wanted any more; for the reduce it is too small.
    example.join("h4123", 1_024);
    example.master.call_at_once(json!({}));
    assert_eq!(example.master.granted.len(), 2, "{:?}", example.master.granted);
    example.lower(&[("h2121", 0), ("h4123", 0), ("/r22", 0), ("/r45", 0)]);
    assert_eq!(example.table(), [(2, "*".to_owned(), 1)], "a type without demand is dropped with the next row of it");
    example.join("h3118", 2_048);
    let reduce = example.await_grant(3, ["h3118", "OFF_SWITCH", "*"]);
    assert_eq!(example.table(), [(2, "*".to_owned(), 0)]);
    let racks: Vec<_> = example.nodes().into_iter().map(|(host, rack, _)| format!("{host} {rack}")).collect();
    assert_eq!(racks.len(), 4);
    for placed in ["h1010 /r11", "h2121 /r22", "h3118 /r31", "h4123 /r45"] {
        assert!(racks.iter().any(|found| found == placed), "{racks:?}");
    }
    // Each runs where it was granted.
    let folder = example.cluster.folder().join("ran");
    std::fs::create_dir(&folder).unwrap();
    let launches: Vec<Value> = [("map0", &map0), ("map1", &map1), ("reduce", &reduce)]
        .map(|(name, id)| {
            let script = format!("touch {}/{name}.on.${{JOBTRACKER_NODE_ID%:*}}", folder.display());
            json!({"container-id": id, "context": {"command": ["sh", "-c", script]}})
        })
        .into();
    example.master.call(json!({"launch": launches}));
    example.master.await_completed(3);
    assert!(example.master.completed.iter().all(|(_, status)| *status == 0), "{:?}", example.master.completed);
    assert_eq!(files_of(&folder), ["map0.on.h2121", "map1.on.h1010", "reduce.on.h3118"]);
}

#[test]
fn section_4_what_was_not_lowered_is_granted_once_more_and_may_be_returned() {
    let mut example = Example::new(false);
    example.join("h2121", 1_024);
    example.await_grant(1, ["h2121", "NODE_LOCAL", "h2121"]);
    // The same map could run here: its other places were not lowered.
    example.join("h1001", 1_024);
    let unwanted = example.await_grant(2, ["h1001", "NODE_LOCAL", "h1001"]);
    example.assert_table([0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1], "granted on h1001");
    example.master.call(json!({"release": [unwanted]}));
    assert_eq!(example.master.completed, [(unwanted.clone(), -100)]);
    example.assert_table([0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1], "a release asks for nothing");
    let path = format!("/containers/{unwanted}");
    let report = example.user.done(example.http, "GET", &path, None);
    assert_eq!(report["container"]["startedTime"], 0, "{report}");
    // Asked for again, where the room is: before that, the delay would make any host good enough.
    example.join("h1010", 1_024);
    example.lower(&[("h1001", 0), ("*", 1)]);
    example.await_grant(3, ["h1010", "NODE_LOCAL", "h1010"]);
}

#[test]
fn section_4_under_strict_gates_a_host_that_was_lowered_to_nothing_gets_nothing() {
    let mut example = Example::new(true);
    example.join("h2121", 1_024);
    example.await_grant(1, ["h2121", "NODE_LOCAL", "h2121"]);
    example.lower(&[("h1001", 0), ("h3118", 0), ("/r11", 1), ("/r31", 0)]);
    // Room for a map, and none for the reduce; its heartbeats are many more than any delay by the end of this test.
    example.join("h3118", 1_024);
    example.join("h1010", 1_024);
    example.await_grant(2, ["h1010", "NODE_LOCAL", "h1010"]);
    example.assert_table(GRANTED_ON_H1010, "granted on h1010");
    let free = |(host, _, free_mb): &(String, String, u64)| (host == "h3118").then_some(*free_mb);
    assert_eq!(example.nodes().iter().find_map(free), Some(1_024));
}
