//! Applications of strangers that keep memory, places or names from others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::attacker::{as_another_user, connect_from, stage_job, try_submit};
use crate::cluster::Cluster;
use crate::daemon::answered::Answered;
use crate::daemon::child::{DaemonFolders, try_get};
use crate::daemon::signer::{Signer, exchange};
use crate::daemon::skip::skip_without_root;
use crate::stage::{Stage, place, run, size};
use crate::verdict::Attack;
use crate::victims::{VictimOptions, read_page, small_job};

/// The only address of users of this machine.
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
const MIB: u64 = 1 << 20;

/// An array of bob's that no worker runs.
fn waiting(id: &str, specs: &serde_json::Map<String, Value>) -> Value {
    let row = json!({
        "priority": 1, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1},
        "launch": {"spec": "s0", "items": "1-2"},
    });
    json!({"application-id": id, "application-name": "waits", "unattended": true, "specs": specs, "ask": [row]})
}

/// So many specs, whose commands have so many bytes.
fn specs(count: u32, bytes: usize) -> serde_json::Map<String, Value> {
    let spec = json!({"command": ["sh", "-c", "x".repeat(bytes)]});
    (0..count).map(|number| (format!("s{number}"), spec.clone())).collect()
}

fn signed() -> VictimOptions {
    VictimOptions { is_signed: true, ..VictimOptions::default() }
}

/// What one user's applications keep is bounded in bytes, not in number, and is free again once they are over.
#[test]
fn applications_of_large_specs() {
    let limit = u64::from(size(32, 256)) * MIB;
    let stage = Stage::market(&[&format!("jobtracker.max-job-bytes={limit}")]);
    let mut attack = Attack::on(stage, "applications of large specs", &signed());
    let mut bob = Signer::new("bob", "bobkey");
    let taken: Vec<String> = attack.strike(|stage| {
        let http = stage.serving.http;
        let specs = specs(100, 60 << 10);
        let ids: Vec<String> = (0..limit / (6 * MIB) * 2).map(|_| bob.new_id(http)).collect();
        let is_taken =
            |id: &String| (200..300).contains(&bob.ask(http, "POST", "/apps", Some(&waiting(id, &specs))).status);
        ids.into_iter().filter(is_taken).collect()
    });
    taken.iter().for_each(|id| bob.kill(attack.stage.serving.http, id));
    let kept = taken.len() as u64 * 6 * MIB;
    attack.must(kept > 0 && kept <= limit / 2, || format!("{} MiB of one user are kept", kept / MIB));
    attack.close();
}

/// Requests that wait for news of an application hold places; pages of this machine are answered beside them.
#[test]
fn waits_without_end() {
    let mut attack = Attack::on(Stage::market(&[]), "waits without end", &signed());
    let (held, pages) = attack.strike(|stage| {
        let http = stage.serving.http;
        let mut bob = Signer::new("bob", "bobkey");
        let id = bob.new_id(http);
        bob.done(http, "POST", "/apps", Some(&waiting(&id, &specs(1, 10))));
        let version = bob.done(http, "GET", &format!("/apps/{id}"), None)["app"]["version"].clone();
        let waits = (0..500).map_while(|_| {
            let (target, signature) = bob.sign("GET", &format!("/apps/{id}?version={version}&wait-ms=30000"), "");
            let head = format!("GET {target} HTTP/1.1\r\nHost: {http}\r\nAuthorization: {signature}\r\n\r\n");
            connect_from(LOOPBACK, http, head.as_bytes()).ok()
        });
        let held: Vec<TcpStream> = waits.collect();
        let pages = ["/healthz", "/readyz", "/"].map(|page| (page, read_page(http, page).err()));
        (held, pages)
    });
    for (page, error) in pages {
        attack.must(error.is_none(), || format!("{page} beside {} waits: {error:?}", held.len()));
    }
    drop(held);
    attack.close();
}

/// Bodies of which half has come count by bytes.
#[test]
fn halves_of_large_bodies() {
    let mut attack = Attack::on(Stage::market(&[]), "halves of large bodies", &signed());
    let most = 64 * MIB;
    let (held, grown) = attack.strike(|stage| {
        let http = stage.serving.http;
        let before = stage.serving.resident_bytes();
        let mut bob = Signer::new("bob", "bobkey");
        let half = "x".repeat(6 << 20);
        let bodies = (0..size(30, 110)).filter_map(|_| {
            // The whole body never comes, so its sum is never asked for.
            let (target, signature) = bob.sign("POST", "/apps", "{}");
            let head = format!(
                "POST {target} HTTP/1.1\r\nHost: {http}\r\nAuthorization: {signature}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{half}",
                7 << 20
            );
            connect_from(LOOPBACK, http, head.as_bytes()).ok()
        });
        let held: Vec<TcpStream> = bodies.collect();
        let _ = read_page(http, "/healthz");
        (held, stage.serving.resident_bytes().saturating_sub(before))
    });
    attack.must(grown <= most + 16 * MIB, || format!("{} halves took {} MiB", held.len(), grown / MIB));
    drop(held);
    attack.close();
}

/// Posts without a signature, in a user's name and with further headers.
fn post(http: SocketAddr, path: &str, user: &str, headers: &str, body: &str) -> Answered {
    let head = format!(
        "POST /ws/v1/cluster{path}?user.name={user} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nX-Requested-By: test\r\n\
         {headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(http, &head)
}

/// Where root starts both programs and says nothing of users, what another user of the machine asks for runs as that user.
#[test]
fn commands_of_another_user_of_this_machine() {
    if skip_without_root("commands_of_another_user_of_this_machine") {
        return;
    }
    let place = DaemonFolders::new("");
    // Users of this machine are known by their connections then.
    std::fs::remove_file(place.acl()).unwrap();
    let mut cluster = Cluster::at(place, &[], 0);
    let made = cluster.folder().join("made");
    std::fs::create_dir(&made).unwrap();
    for (path, mode) in [(cluster.place.path("."), 0o755), (cluster.folder(), 0o755), (made.clone(), 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    // The default, and no word about who runs commands.
    cluster.add_worker(&["jobtracker.worker.min-uid=1000"]);
    let http = cluster.serving.as_ref().unwrap().http;
    let id = as_another_user(|| {
        let id = post(http, "/apps/new-application", "nobody", "", "");
        let id: Value = serde_json::from_str(&id.body).unwrap_or_else(|_| panic!("{id:?}"));
        let id = id["application-id"].as_str().unwrap().to_owned();
        let mut body = waiting(&id, &specs(1, 1));
        body["specs"]["s0"]["command"] = json!(["touch", made.join("here").display().to_string()]);
        body["ask"][0]["launch"]["items"] = json!("1");
        let sent = post(http, "/apps", "nobody", "", &body.to_string());
        assert_eq!(sent.status, 202, "{sent:?}");
        id
    });
    // By root, who may ask for all.
    let report = || try_get(http, &format!("/ws/v1/cluster/apps/{id}?user.name=nobody"), "").unwrap();
    let mut ends = (0..100_000)
        .map(|_| report())
        .filter(|report| !["ACCEPTED", "RUNNING"].iter().any(|state| report.body.contains(state)));
    let end = ends.next().unwrap();
    assert_eq!(made.join("here").metadata().map(|about| about.uid()).ok(), Some(65_534), "{end:?}");
}

/// Behind a proxy the kernel knows whose the proxy is, not who asks: an unsigned name counts for nothing there.
#[test]
fn names_through_a_proxy() {
    let place = place(&["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"]);
    // Without keys, who is on this machine is known by the kernel.
    std::fs::remove_file(place.acl()).unwrap();
    let stage = Stage::around(place);
    let http = stage.serving.http;
    let ask = |headers: &str| post(http, "/apps/new-application", "root", headers, "").status;
    assert_eq!(ask(""), 200);
    for name in ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"] {
        let status = ask(&format!("{name}: 10.0.0.1\r\n"));
        assert!((400..500).contains(&status), "{name}: {status}");
    }
}

/// Where a Unix socket is served, the kernel says who asks there, and names over TCP are nobody's: a proxy of this machine's names no user.
#[test]
fn names_beside_a_unix_socket() {
    let mut place = place(&["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"]);
    std::fs::remove_file(place.acl()).unwrap();
    let socket = place.path("run/web");
    place.overrides.push(format!("jobtracker.web.socket={}", socket.display()));
    std::fs::set_permissions(place.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
    let stage = Stage::around(place);
    let http = stage.serving.http;
    let targets = ["/ws/v1/cluster/apps/new-application?", "/scheduler/pause?pauseQueue=default&"];
    let request = |target: &str, user: &str| {
        format!(
            "POST {target}user.name={user} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Requested-By: test\r\n\
             Content-Type: application/json\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let by_socket = |target: &str, user: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(request(target, user).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for target in targets {
        for user in ["root", "nobody"] {
            let status = exchange(http, &request(target, user)).status;
            assert!([401, 403].contains(&status), "{user} over TCP: {target}: {status}");
        }
        assert_eq!(by_socket(target, "root"), "200", "{target}");
    }
    if skip_without_root("names_beside_a_unix_socket, as another user") {
        return;
    }
    as_another_user(|| {
        assert_eq!(by_socket(targets[0], "nobody"), "200");
        for target in targets {
            assert_eq!(by_socket(target, "root"), "403", "{target}");
        }
    });
}

/// A link of another site's changes nothing: browsers follow it with the rights of who reads.
#[test]
fn links_that_change_jobs() {
    let fair = "mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.FairScheduler";
    let stage = Stage::fifo(&[fair, "webinterface.private.actions=true"]);
    let job = run(async {
        let job = stage_job(stage.rpc, "alice", &small_job(false)).await.unwrap();
        try_submit(stage.rpc, "alice", &job).await.unwrap();
        job.id
    });
    for change in ["setPool=stolen", "setPriority=VERY_LOW"] {
        let page = read_page(stage.serving.http, &format!("/scheduler?{change}&jobid={job}")).unwrap();
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("<form method=\"post\""), "{page}");
    }
    let page = read_page(stage.serving.http, "/scheduler").unwrap();
    assert!(!page.contains("stolen"), "{page}");
}
