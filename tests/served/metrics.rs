//! What the daemon counts of its own work, in a scrape: each thing that happens is one more.

use rustix::process::Signal;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::operate::{BUDGETS, send};
use crate::upgrade::stage::client;

use jobtracker::wire::protocol::Protocol;

/// The value of a series.
fn value(scrape: &str, series: &str) -> f64 {
    let line = scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series}: {scrape}")).parse().unwrap()
}

fn scrape(serving: &ChildDaemon) -> String {
    serving.get("/metrics", "").body
}

#[test]
fn a_heartbeat_a_commit_a_request_and_a_reload_more_are_one_more_each() {
    let place = DaemonFolders::new(BUDGETS);
    let serving = place.start();
    let first = scrape(&serving);
    assert_eq!(value(&first, "jobtracker_heartbeat_seconds_count"), 0.0);
    let mut calls = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    for count in 1..=3 {
        tracker.obey(calls.call(&tracker.clone().heartbeat().into_call()));
        let scrape = scrape(&serving);
        assert_eq!(value(&scrape, "jobtracker_heartbeat_seconds_count"), f64::from(count));
        assert_eq!(value(&scrape, "jobtracker_heartbeat_seconds_bucket{le=\"+Inf\"}"), f64::from(count));
        // A scrape is counted once it is answered.
        let scrapes = "jobtracker_http_request_seconds_count{code=\"200\",route=\"/metrics\"}";
        assert_eq!(value(&scrape, scrapes), f64::from(count));
    }
    let commits = |scrape: &str| value(scrape, "jobtracker_fact_commit_seconds_count");
    let before = commits(&scrape(&serving));
    serving.top_up("alice", "1");
    let after = scrape(&serving);
    assert!(commits(&after) > before);
    assert_eq!(value(&after, "jobtracker_facts_waiting"), 0.0);
    // The top-up changes the work of others, and is a request of its own route; its text is no label.
    assert_eq!(value(&after, "jobtracker_decisions_total{kind=\"money\"}"), 1.0);
    assert_eq!(value(&after, "jobtracker_http_request_seconds_count{code=\"200\",route=\"/scheduler\"}"), 1.0);
    assert_eq!(serving.get("/no/such/page", "").status, 404);
    assert_eq!(serving.get("/no/such/other", "").status, 404);
    let requests = scrape(&serving);
    assert_eq!(value(&requests, "jobtracker_http_request_seconds_count{code=\"404\",route=\"_other\"}"), 2.0);
    for limit in ["rpc_connections", "http_connections", "waiting_facts", "waiting_requests", "tasks"] {
        let used = value(&requests, &format!("jobtracker_limit_used_ratio{{limit=\"{limit}\"}}"));
        assert!((0.0..0.1).contains(&used) && (used > 0.0) == limit.ends_with("connections"), "{limit}: {used}");
    }
    send(&serving, Signal::HUP);
    serving.log.wait_for("SIGHUP: ");
    let reloaded = scrape(&serving);
    assert_eq!(value(&reloaded, "jobtracker_reloads_total{result=\"done\"}"), 1.0);
    assert_eq!(value(&reloaded, "jobtracker_reloads_total{result=\"failed\"}"), 0.0);
    // The market is private.
    assert!(!reloaded.contains("jobtracker_queue_spent"), "{reloaded}");
    assert_eq!(serving.stop().0, 0);
}
