//! Containers that harm what they share: disks, logs, the table of processes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::applications::{Master, container_of};
use crate::cluster::{Cluster, files_of};
use crate::daemon::signer::Signer;
use crate::daemon::small_disk::{OnSmallDisk, skip_without_disks};

const ROOM: [&str; 3] = [
    "jobtracker.tasktracker.memory.mb=8192",
    "jobtracker.tasktracker.vcores=16",
    "jobtracker.containers.log.limit.kb=64",
];
const LOG_LIMIT: u64 = 64 << 10;

/// An application of alice's with so many containers.
fn master_with(http: SocketAddr, count: usize) -> Master {
    let mut master = Master::register(&mut Signer::new("alice", "alicekey"), http, json!({}));
    want(&mut master, count);
    master.await_granted(count);
    master
}

fn want(master: &mut Master, count: usize) {
    let capability = json!({"memory": 512, "vCores": 1});
    let row = json!({"priority": 1, "resource-name": "*", "capability": capability, "num-containers": count});
    master.call_at_once(json!({"ask": [row]}));
}

fn launch(master: &Master, number: usize, context: &Value) -> Value {
    json!({"container-id": container_of(&master.granted[number]), "context": context})
}

fn shell(script: &str) -> Value {
    json!({"command": ["sh", "-c", script]})
}

/// Status and diagnostics of a container that has ended.
fn end_of(http: SocketAddr, id: &str) -> (i64, String) {
    let report = Signer::new("root", "rootkey").done(http, "GET", &format!("/containers/{id}"), None);
    let container = &report["container"];
    (container["exitStatus"].as_i64().unwrap(), container["diagnostics"].as_str().unwrap().to_owned())
}

fn free_bytes(disk: &Path) -> u64 {
    let about = rustix::fs::statvfs(disk).unwrap();
    about.f_bavail * about.f_frsize
}

#[test]
fn a_full_disk_ends_what_needs_it_as_no_fault_of_its_own_and_takes_no_container_until_there_is_room() {
    if skip_without_disks("a_full_disk_ends_what_needs_it_as_no_fault_of_its_own") {
        return;
    }
    let mut cluster = Cluster::new(0);
    let disk = cluster.add_worker_on_small_disk(8, &[&ROOM[..], &["mapred.local.dir.minspacestart=1000000"]].concat());
    let http = cluster.serving.as_ref().unwrap().http;
    let mut master = master_with(http, 3);
    // More than the disk has; its digest does not matter any more.
    let large = cluster.folder().join("large");
    std::fs::File::create(&large).unwrap().set_len(16 << 20).unwrap();
    let resource =
        json!({"resource": format!("file://{}", large.display()), "sha256": "0".repeat(64), "size": 16 << 20});
    let mut brings = shell("true");
    brings["local-resources"] = json!({"large": resource});
    let fills = shell("dd if=/dev/zero of=filler bs=64k; echo $?; exit 5");
    let good = shell("echo there is room again >made; cat made");
    for (number, context) in [&brings, &fills, &good].into_iter().enumerate() {
        let launch = launch(&master, number, context);
        master.call(json!({"launch": [launch]}));
        master.await_completed(number + 1);
        // What it left is removed once its end was noted.
        while free_bytes(&disk) < 6 << 20 {
            std::thread::yield_now();
        }
    }
    let ends: Vec<_> = (0..3).map(|number| end_of(http, &container_of(&master.granted[number]))).collect();
    assert_eq!(ends.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [-101, 5, 0], "{ends:?}");
    assert!(ends[0].1.contains("large") && ends[0].1.contains("No space left"), "{ends:?}");
    // Filled by others: the node says so, and gets nothing.
    OnSmallDisk::fill_folder(&disk);
    let mut root = Signer::new("root", "rootkey");
    let mut state = || root.done(http, "GET", "/nodes", None)["nodes"]["node"][0].clone();
    while !state()["healthReport"].as_str().unwrap().contains("less free room than mapred.local.dir.minspacestart") {
        std::thread::yield_now();
    }
    want(&mut master, 1);
    master.call_at_once(json!({}));
    assert_eq!(master.granted.len(), 3, "{:?}", state());
    OnSmallDisk::make_room_in(&disk);
    master.await_granted(4);
    let last = launch(&master, 3, &good);
    master.call(json!({"launch": [last]}));
    master.await_completed(4);
    assert_eq!(master.completed[3].1, 0);
}

#[test]
fn floods_of_output_fill_their_own_logs_only_and_hinder_nobody() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&ROOM);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut floods = master_with(http, 8);
    let flood = shell("exec yes 'a line of output'");
    let launches: Vec<Value> = (0..8).map(|number| launch(&floods, number, &flood)).collect();
    floods.call_at_once(json!({"launch": launches}));
    let folder = cluster.folder().join("mapred/local/userlogs").join(&floods.id);
    let log_of = |number: usize| -> PathBuf { folder.join(container_of(&floods.granted[number])).join("stdout") };
    while (0..8).any(|number| log_of(number).metadata().map_or(0, |about| about.len()) < LOG_LIMIT) {
        std::thread::yield_now();
    }
    // Meanwhile others run as ever.
    let mut others = master_with(http, 4);
    let launches: Vec<Value> = (0..4).map(|number| launch(&others, number, &shell("exit 3"))).collect();
    others.call(json!({"launch": launches}));
    others.await_completed(4);
    assert!(others.completed.iter().all(|(_, status)| *status == 3), "{:?}", others.completed);
    let mut alice = Signer::new("alice", "alicekey");
    let path = format!("/apps/{}/state", floods.id);
    alice.done(http, "PUT", &path, Some(&json!({"state": "KILLED"})));
    assert_eq!(alice.ended(http, &floods.id)["state"], "KILLED");
    // It is over at once; its containers a moment later.
    while alice.done(http, "GET", &format!("/apps/{}", floods.id), None)["app"]["runningContainers"] != 0 {
        std::thread::yield_now();
    }
    for number in 0..8 {
        assert_eq!(log_of(number).metadata().unwrap().len(), LOG_LIMIT);
        assert!(std::fs::read_to_string(log_of(number)).unwrap().contains("[cut at the limit of a log"));
    }
}

/// The logs of one application have a sum, which a restart of the worker does not forget: the oldest go.
#[test]
fn logs_of_many_containers_have_a_sum_that_outlives_the_worker() {
    let room = ["jobtracker.tasktracker.memory.mb=8192", "jobtracker.containers.log.limit.kb=65536"];
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&room);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut master = Master::register(&mut Signer::new("alice", "alicekey"), http, json!({}));
    let folder = cluster.folder().join("mapred/local/userlogs").join(&master.id);
    let mut ran = Vec::new();
    while ran.len() < 4 {
        if ran.len() == 3 && master.granted.len() == 3 {
            cluster.kill_worker(0);
            cluster.add_worker(&room);
        }
        let number = master.granted.len();
        want(&mut master, 1);
        master.await_granted(number + 1);
        let launch = launch(&master, number, &shell("head -c 60000000 /dev/zero"));
        master.call(json!({"launch": [launch]}));
        master.await_completed(number + 1);
        match master.completed[number].1 {
            0 => ran.push(number),
            // It was granted on the worker that was killed, and lost with it.
            exit => assert_eq!((exit, ran.len()), (-100, 3), "{:?}", master.completed),
        }
    }
    let is_kept = |number: &usize| folder.join(container_of(&master.granted[*number])).exists();
    assert_eq!(ran.iter().map(is_kept).collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn many_processes_that_leave_their_session_and_their_parent_end_with_their_container() {
    let mut cluster = Cluster::new(0);
    cluster.add_worker(&ROOM);
    let http = cluster.serving.as_ref().unwrap().http;
    let mut master = master_with(http, 1);
    let folder = cluster.folder().join("left");
    std::fs::create_dir(&folder).unwrap();
    // Each is the child of a process that is gone, in a session of its own, with an environment of its own.
    let script = format!(
        "i=0; while [ $i -lt 100 ]; do \
            ( setsid env -i PATH=\"$PATH\" sh -c 'trap \"\" TERM HUP INT; : >{folder}/$$; exec sleep 1000' & ); i=$((i + 1)); \
         done; while [ $(ls {folder} | wc -l) -lt 100 ]; do sleep 0.01; done; exit 6",
        folder = folder.display()
    );
    let launch = launch(&master, 0, &shell(&script));
    master.call(json!({"launch": [launch]}));
    master.await_completed(1);
    assert_eq!(master.completed[0].1, 6);
    let left = files_of(&folder);
    assert_eq!(left.len(), 100);
    let is_alive = |pid: &&String| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("sleep"))
    };
    assert_eq!(left.iter().filter(is_alive).collect::<Vec<_>>(), Vec::<&String>::new());
}
