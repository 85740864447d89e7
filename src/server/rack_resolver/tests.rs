//! Batches, order and waiters of the topology program.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::rack_queue::MAX_RUNS;
use super::*;

/// A folder with a program that appends its arguments to `asked`, one line per run.
/// Its runs end with it.
struct Place {
    folder: tempfile::TempDir,
    resolver: Arc<RackResolver>,
}

impl Place {
    fn new(script: &str) -> (Self, Arc<RackResolver>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("racks");
        let script = format!("#!/bin/sh\ncd {} || exit\necho \"$@\" >> asked\n{script}\n", folder.path().display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let resolver = RackResolver::with_script(Some(path), 2);
        (Self { folder, resolver: resolver.clone() }, resolver)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn runs(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("asked")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Runs of the script wait until this is called.
    fn release_runs(&self) {
        std::fs::write(self.path("go"), "").unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.resolver.stop();
    }
}

const PRINT: &str = "for host; do echo /rack-$host; done";
/// Waits for the file `go` first.
const PRINT_LATER: &str = "until [ -e go ]; do sleep 0.01; done; for host; do echo /rack-$host; done";

/// The racks of a job of the user, after its wait.
async fn racks(resolver: &Arc<RackResolver>, user: &str, hosts: &[&str]) -> Vec<String> {
    if let Some(mut rack_request) = resolver.request_racks(&user.into(), hosts.iter().copied(), true) {
        rack_request.wait().await;
    }
    resolver.known(hosts.iter().copied())
}

#[tokio::test]
async fn hosts_are_asked_for_in_batches_and_once_each() {
    let (place, resolver) = Place::new(PRINT);
    let racks_found = racks(&resolver, "alice", &["10.0.0.1", "10.0.0.2", "10.0.0.3"]).await;
    assert_eq!(racks_found, ["/rack-10.0.0.1", "/rack-10.0.0.2", "/rack-10.0.0.3"]);
    racks(&resolver, "bob", &["10.0.0.2", "10.0.0.4"]).await;
    let runs = place.runs();
    let mut asked: Vec<&str> = runs.iter().flat_map(|run| run.split(' ')).collect();
    asked.sort_unstable();
    assert_eq!((runs.len(), &*asked), (3, &["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"][..]), "{runs:?}");
}

#[tokio::test]
async fn a_program_that_fails_leaves_the_default_rack_and_is_asked_again() {
    for script in ["exit 1", "echo /one /two /three", "echo rack", "echo", "kill -9 $$"] {
        let (place, resolver) = Place::new(script);
        for runs in 1..3 {
            assert_eq!(racks(&resolver, "alice", &["10.0.0.1"]).await, [DEFAULT_RACK], "{script}");
            assert_eq!(place.runs().len(), runs, "{script}");
        }
    }
}

#[tokio::test]
async fn invalid_names_are_not_passed_to_the_program() {
    let (place, resolver) = Place::new(PRINT);
    let long = "1".repeat(300);
    let racks_found = racks(&resolver, "alice", &["", "1 2", "1\n2", "1\0", "1é", &long]).await;
    assert_eq!((racks_found, place.runs().len()), (vec![DEFAULT_RACK.to_owned(); 6], 0));
}

#[tokio::test]
async fn hosts_of_trackers_overtake_those_of_jobs() {
    let (place, resolver) = Place::new(PRINT_LATER);
    let hosts: Vec<String> = (0..100).map(|host| format!("10.1.0.{host}")).collect();
    let rack_request = resolver.request_racks(&"mallory".into(), hosts.iter().map(String::as_str), true).unwrap();
    // All threads for jobs are busy.
    while place.runs().len() < MAX_RUNS - 1 {
        tokio::task::yield_now().await;
    }
    let trackers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|host| resolver.request_for_tracker(host).unwrap());
    // The reserved thread takes queued trackers.
    while place.runs().len() < MAX_RUNS {
        tokio::task::yield_now().await;
    }
    place.release_runs();
    for (answer, host) in trackers.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap(), format!("/rack-10.0.0.{host}"));
    }
    let runs = place.runs();
    let last = runs.iter().rposition(|run| run.contains("10.0.0.")).unwrap();
    assert!(last < 2 * MAX_RUNS, "{runs:?}");
    drop(rack_request);
}

#[tokio::test]
async fn one_bad_host_of_a_tracker_does_not_cost_the_others_their_racks() {
    let (_place, resolver) = Place::new("for host; do [ $host = 10.0.0.66 ] && exit 1; echo /rack-$host; done");
    let hosts = ["10.0.0.1", "10.0.0.66", "10.0.0.3"];
    let answer = hosts.map(|host| {
        let resolver = resolver.clone();
        async move { resolver.rack_of_tracker(host).await }
    });
    let [first, bad, third] = answer;
    let answer = tokio::join!(first, bad, third);
    assert_eq!(answer, ("/rack-10.0.0.1".into(), DEFAULT_RACK.into(), "/rack-10.0.0.3".into()));
}

#[tokio::test]
async fn a_job_waits_for_others_jobs_only_for_a_moment() {
    let (place, resolver) = Place::new(PRINT_LATER);
    let rack_request = |user: &str, host: &str| resolver.request_racks(&user.into(), [host].into_iter(), true);
    let first = rack_request("mallory", "10.0.0.1").unwrap();
    assert_eq!(first.timeout, JOB_TIMEOUT.0);
    assert_eq!(rack_request("mallory", "10.0.0.2").unwrap().timeout, JOB_TIMEOUT.0);
    assert_eq!(rack_request("alice", "10.0.0.3").unwrap().timeout, JOB_TIMEOUT.1);
    // Known racks need no wait.
    place.release_runs();
    let mut second = rack_request("alice", "10.0.0.4").unwrap();
    second.wait().await;
    assert!(rack_request("alice", "10.0.0.4").is_none());
}

#[tokio::test]
async fn abandoned_requests_give_way() {
    let (place, resolver) = Place::new(PRINT_LATER);
    let hosts: Vec<String> = (0..5_000).map(|host| format!("10.1.{}.{}", host / 250, host % 250)).collect();
    let ask = |user: &str, can_wait| resolver.request_racks(&user.into(), hosts.iter().map(String::as_str), can_wait);
    for number in 0..1_000 {
        drop(ask(&format!("mallory{}", number % 100), number % 3 == 0));
    }
    let (requests, waiting) = {
        let queue = resolver.queue();
        (queue.requests(), queue.waiting_hosts())
    };
    assert!(requests <= 64 && waiting <= 64 * 1_000, "{requests} requests, {waiting} hosts");
    let mut rack_request = resolver.request_racks(&"alice".into(), ["10.0.0.1"].into_iter(), true).unwrap();
    place.release_runs();
    rack_request.wait().await;
    assert_eq!(resolver.known(["10.0.0.1"].into_iter()), ["/rack-10.0.0.1"], "before all abandoned requests");
    let rack_request = ask("bob", true).unwrap();
    rack_request.withdraw();
}

#[tokio::test]
async fn a_stop_kills_the_program_and_starts_no_other() {
    let (place, resolver) = Place::new("exec sleep 1000 > alive");
    let alive = place.path("alive");
    assert!(std::process::Command::new("mkfifo").arg(&alive).status().unwrap().success());
    let _answer = resolver.request_for_tracker("10.0.0.1").unwrap();
    // Opens once the program runs; it holds the pipe until it is dead.
    let mut pipe = std::fs::File::open(alive).unwrap();
    resolver.stop();
    std::io::Read::read_to_end(&mut pipe, &mut Vec::new()).unwrap();
    let _answer = resolver.request_for_tracker("10.0.0.2");
    resolver.clone().run_batches();
    assert_eq!(place.runs(), ["10.0.0.1"]);
}
