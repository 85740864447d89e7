//! Applications of strangers that keep memory, places or names from others.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::attacker::{connect_from, stage_job, try_submit};
use crate::daemon::signer::{Signer, exchange};
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

/// What one user's applications keep is bounded in bytes, not in number.
#[test]
fn applications_of_large_specs() {
    let limit = u64::from(size(32, 256)) * MIB;
    let stage = Stage::market(&[&format!("jobtracker.max-job-bytes={limit}")]);
    let mut attack = Attack::on(stage, "applications of large specs", &signed());
    let kept = attack.strike(|stage| {
        let http = stage.serving.http;
        let mut bob = Signer::new("bob", "bobkey");
        let specs = specs(100, 60 << 10);
        let sent = (0..limit / (6 * MIB) * 2).filter(|_| {
            let id = bob.new_id(http);
            (200..300).contains(&bob.ask(http, "POST", "/apps", Some(&waiting(&id, &specs))).status)
        });
        sent.count() as u64 * 6 * MIB
    });
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

/// Behind a proxy the kernel knows whose the proxy is, not who asks: an unsigned name counts for nothing there.
#[test]
fn names_through_a_proxy() {
    let place = place(&["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"]);
    // Without keys, who is on this machine is known by the kernel.
    std::fs::remove_file(place.acl()).unwrap();
    let stage = Stage::around(place);
    let http = stage.serving.http;
    let ask = |headers: &str| {
        let target = "/ws/v1/cluster/apps/new-application?user.name=root";
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nX-Requested-By: test\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: 0\r\n\r\n"
        );
        exchange(http, &head).status
    };
    assert_eq!(ask(""), 200);
    for name in ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"] {
        let status = ask(&format!("{name}: 10.0.0.1\r\n"));
        assert!((400..500).contains(&status), "{name}: {status}");
    }
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
