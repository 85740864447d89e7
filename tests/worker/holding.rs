//! Plays for slots that others have bought, with real workers: who holds what, and who pays.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::applications::{Master, container_of};
use crate::cluster::Cluster;
use crate::daemon::signer::Signer;
use crate::daemon::small_disk::skip_without_disks;
use crate::signed_changes::job;

/// One worker of four slots, all of them for containers.
const FOUR: [&str; 4] = [
    "jobtracker.tasktracker.memory.mb=4096",
    "jobtracker.tasktracker.vcores=4",
    "mapred.tasktracker.map.tasks.maximum=0",
    "mapred.tasktracker.reduce.tasks.maximum=0",
];

fn stage(budgets: &str, kill_interval_s: u32) -> (Cluster, SocketAddr) {
    let kill = format!("mapred.priority-scheduler.kill-interval={kill_interval_s}");
    let mut cluster = Cluster::of_market(budgets, &[&kill]);
    cluster.add_worker(&FOUR);
    let http = cluster.serving.as_ref().unwrap().http;
    (cluster, http)
}

fn wants(count: usize) -> Value {
    json!([{"priority": 1, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1}, "num-containers": count}])
}

/// What a queue has left.
fn balance(cluster: &Cluster, queue: &str) -> f64 {
    cluster.place.balance(queue).unwrap().parse().unwrap()
}

/// An unattended array of alice's.
fn array(alice: &mut Signer, http: SocketAddr, items: &str, script: &str) -> String {
    let id = alice.new_id(http);
    let launch = json!({"spec": "s", "items": items});
    let row =
        json!({"priority": 1, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1}, "launch": launch});
    let submitted = json!({
        "application-id": id, "application-name": "array", "unattended": true,
        "specs": {"s": {"command": ["sh", "-c", script]}}, "ask": [row],
    });
    assert_eq!(alice.ask(http, "POST", "/apps", Some(&submitted)).status, 202);
    id
}

/// A program that was granted all and does not call loses it to who waits, and `app status` of the one says of the other.
#[test]
fn a_silent_hoarder_loses_what_it_has_not_launched() {
    let (_cluster, http) = stage("bob 100000 50\nalice 100000 1\n", 0);
    let mut bob = Master::register(&mut Signer::new("bob", "bobkey"), http, json!({}));
    bob.call(json!({"ask": wants(9)}));
    while bob.granted.len() < 4 {
        bob.call(json!({}));
    }
    bob.call_at_once(json!({}));
    let mut alice = Signer::new("alice", "alicekey");
    let id = array(&mut alice, http, "1-20", "true");
    let waiting = alice.done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
    assert_eq!((&waiting["heldByOthers"]["slots"], &waiting["heldByOthers"]["applications"]), (&json!(4), &json!(1)));
    let app = alice.ended(http, &id);
    assert_eq!((&app["finalStatus"], &app["completedContainers"]), (&json!("SUCCEEDED"), &json!(20)), "{app}");
    let of_bob = bob.signer.done(http, "GET", &format!("/apps/{}", bob.id), None)["app"].clone();
    assert_eq!(of_bob["why"][0]["reason"], "no_call", "{of_bob}");
}

/// Containers that ignore TERM and ask for ten minutes keep the slots of who has bought them for an interval at most.
#[test]
fn a_clinger_goes_within_an_interval_and_pays_for_its_grace() {
    let (cluster, http) = stage("bob 100000 1\nalice 100000 100\n", 1);
    let mut bob = Master::register(&mut Signer::new("bob", "bobkey"), http, json!({}));
    bob.call(json!({"ask": wants(4)}));
    bob.await_granted(4);
    let clings =
        json!({"command": ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], "kill-grace-ms": 600_000});
    let launches: Vec<Value> =
        bob.granted.iter().map(|one| json!({"container-id": container_of(one), "context": clings})).collect();
    bob.call_at_once(json!({"launch": launches}));
    let mut alice = Signer::new("alice", "alicekey");
    let id = array(&mut alice, http, "1-4", "true");
    let app = alice.ended(http, &id);
    assert_eq!((&app["finalStatus"], &app["completedContainers"]), (&json!("SUCCEEDED"), &json!(4)), "{app}");
    bob.await_completed(3);
    assert!(bob.completed.iter().all(|(_, exit)| *exit == -102), "{:?}", bob.completed);
    assert!(balance(&cluster, "bob") < 100_000.0, "held is paid for");
}

/// Wishes that no node could meet buy nothing, raise no price and keep no slot from others, however much is bid for them.
#[test]
fn a_phantom_gets_and_keeps_nothing() {
    let (cluster, http) = stage("bob 100000 900\nalice 100000 10\n", 1);
    let mut bob = Master::register(&mut Signer::new("bob", "bobkey"), http, json!({}));
    let row = |name: &str| {
        json!({
            "priority": 1, "resource-name": name, "capability": {"memory": 1024, "vCores": 1}, "num-containers": 4,
            "relax-locality": name != "*" && name != "/default-rack",
        })
    };
    bob.call_at_once(json!({"ask": [row("no-such-host"), row("/default-rack"), row("*")]}));
    let mut alice = Signer::new("alice", "alicekey");
    // Two whole intervals of one second at least.
    let id = array(&mut alice, http, "1-12", "sleep 1");
    let app = alice.ended(http, &id);
    assert_eq!((&app["finalStatus"], &app["completedContainers"]), (&json!("SUCCEEDED"), &json!(12)), "{app}");
    assert!(bob.granted.is_empty(), "{:?}", bob.granted);
    assert_eq!(cluster.place.balance("bob").unwrap(), "100000.0");
    // All but what ran before the first tick was alice's own, and not free as beyond a quota.
    let paid = 100_000.0 - balance(&cluster, "alice");
    assert!(paid >= 60.0, "{paid} of 120.0");
    let of_bob = bob.signer.done(http, "GET", &format!("/apps/{}", bob.id), None)["app"].clone();
    assert!(of_bob["cannotRun"].as_str().unwrap().contains("relax-locality"), "{of_bob}");
}

/// What no worker has room for buys nothing and keeps nothing either, and says so.
#[test]
fn a_phantom_of_a_size_that_no_worker_has_gets_and_keeps_nothing() {
    let (cluster, http) = stage("bob 100000 900\nalice 100000 10\n", 1);
    let mut bob = Master::register(&mut Signer::new("bob", "bobkey"), http, json!({}));
    let capability = json!({"memory": 900 << 10, "vCores": 1});
    let row = json!({"priority": 1, "resource-name": "*", "capability": capability, "num-containers": 4});
    bob.call_at_once(json!({"ask": [row]}));
    let mut alice = Signer::new("alice", "alicekey");
    let id = array(&mut alice, http, "1-12", "sleep 1");
    let app = alice.ended(http, &id);
    assert_eq!((&app["finalStatus"], &app["completedContainers"]), (&json!("SUCCEEDED"), &json!(12)), "{app}");
    assert_eq!((bob.granted.len(), cluster.place.balance("bob").unwrap().as_str()), (0, "100000.0"));
    let paid = 100_000.0 - balance(&cluster, "alice");
    assert!(paid >= 60.0, "{paid} of 120.0");
    let of_bob = bob.signer.done(http, "GET", &format!("/apps/{}", bob.id), None)["app"].clone();
    assert!(of_bob["cannotRun"].as_str().unwrap().contains("921,600 MB"), "{of_bob}");
}

/// Maps whose output would fit no disk keep no slot from others either.
#[test]
fn a_phantom_of_maps_that_fit_no_disk_keeps_nothing() {
    if skip_without_disks("a_phantom_of_maps_that_fit_no_disk_keeps_nothing") {
        return;
    }
    let kill = "mapred.priority-scheduler.kill-interval=1";
    let mut cluster = Cluster::of_market("bob 100000 900\nalice 100000 10\n", &[kill]);
    let room = ["jobtracker.tasktracker.memory.mb=4096", "jobtracker.tasktracker.vcores=4"];
    cluster.add_worker_on_small_disk(16, &room);
    let http = cluster.serving.as_ref().unwrap().http;
    let many = cluster.folder().join("many");
    std::fs::create_dir(&many).unwrap();
    (0..12).for_each(|number| std::fs::write(many.join(number.to_string()), "a line\n").unwrap());
    // Half of the disk is full after two maps, and each wants as much room again.
    let mapper = "sh -c 'cat >/dev/null; head -c 3000000 /dev/zero | tr \"\\0\" x | fold -w 1000'";
    let words = ["submit", "--detach", "--input", "many", "--output", "out", "--mapper", mapper, "--reducer", "cat"];
    let late = ["-D", "mapred.reduce.slowstart.completed.maps=1.0"];
    let id = job(&cluster, "bob", Some("bobkey"), &[&words[..], &late].concat()).done().trim().to_owned();
    let maps = || {
        let said = job(&cluster, "bob", Some("bobkey"), &["status", &id, "--json"]).done();
        let status: Value = serde_json::from_str(&said).unwrap();
        let of = |name: &str| status["tasks"]["map"][name].as_u64().unwrap();
        (of("finished"), of("running"))
    };
    let stuck = (0..1_000).map(|_| maps()).find(|(finished, running)| *finished >= 2 && *running == 0).unwrap();
    assert!(stuck.0 < 12, "{stuck:?}");
    let mut alice = Signer::new("alice", "alicekey");
    let app = array(&mut alice, http, "1-12", "sleep 1");
    let app = alice.ended(http, &app);
    assert_eq!((&app["finalStatus"], &app["completedContainers"]), (&json!("SUCCEEDED"), &json!(12)), "{app}");
    assert_eq!(maps(), stuck);
    // Her own, and not free as beyond a quota.
    let paid = 100_000.0 - balance(&cluster, "alice");
    assert!(paid >= 60.0, "{paid} of 120.0");
}

/// Asks, holds and gives back in the same call in which it asks again: what it held is paid for, and others get their turn.
#[expect(clippy::disallowed_methods, reason = "what is held costs by the time for which it is")]
#[test]
fn a_hoarder_that_gives_back_and_asks_again_pays_for_what_it_held() {
    let (cluster, http) = stage("bob 100000 50\nalice 100000 1\n", 0);
    let mut bob = Master::register(&mut Signer::new("bob", "bobkey"), http, json!({}));
    bob.call(json!({"ask": wants(4)}));
    bob.await_granted(4);
    let mut alice = Signer::new("alice", "alicekey");
    let id = array(&mut alice, http, "1-4", "true");
    let began = std::time::Instant::now();
    let mut held_s = 0.0;
    while began.elapsed().as_secs() < 5 {
        let since = std::time::Instant::now();
        // Longer than any prompt return.
        bob.call_at_once(json!({"wait-ms": 300}));
        let release: Vec<String> = bob.granted.drain(..).map(|one| container_of(&one)).collect();
        held_s += since.elapsed().as_secs_f64() * release.len() as f64;
        bob.call_at_once(json!({"release": release, "ask": wants(4)}));
    }
    let app = alice.ended(http, &id);
    assert_eq!(app["completedContainers"], 4, "{app}");
    let paid = 100_000.0 - balance(&cluster, "bob");
    assert!(paid > held_s * 50.0 / 4.0, "{paid} for {held_s} slot-seconds");
}

/// Commands that are shorter than an interval pay for their time, wherever the ticks fall.
#[test]
fn a_clock_player_pays_for_the_time_between_ticks() {
    let (cluster, http) = stage("alice 100000 10\n", 0);
    let mut alice = Signer::new("alice", "alicekey");
    let id = array(&mut alice, http, "1-60", "sleep 0.2");
    let app = alice.ended(http, &id);
    assert_eq!(app["finalStatus"], "SUCCEEDED", "{app}");
    // What ran before the first tick was not sold: an interval on four slots.
    let paid = 100_000.0 - balance(&cluster, "alice");
    assert!(paid >= 60.0, "{paid} of at least 120.0");
    // Once the last tick has passed, its cost is what she has paid.
    loop {
        let app = alice.done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
        let cost: f64 = app["cost"].as_str().unwrap().parse().unwrap();
        if (100_000.0 - balance(&cluster, "alice") - cost).abs() < 1e-6 {
            break;
        }
    }
}
