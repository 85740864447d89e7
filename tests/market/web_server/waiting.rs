//! What pages say where things do not go as usual: no worker can run a job, the store does not write, another scheduler rules.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::web_server::pages::{job, overview, stage, tracker};
use crate::web_server::stage::{NOW_MS, Stage};

use jobtracker::engine::{ClusterSnapshot, JobSnapshot, Stuck};
use jobtracker::market::SlotHolder;
use jobtracker::model::RunState;
use jobtracker::web::{Health, MarketPresence};

#[tokio::test]
async fn costs_stay_on_pages_while_another_scheduler_rules() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let stage = Stage::public_of(listener, MarketPresence::Idle);
    *stage.cluster.overview.lock().unwrap() = Arc::new(overview());
    let (start, job) = (stage.get("/").await.body, stage.get("/jobs/job_202611211200_0001").await.body);
    assert!(start.contains(">Cost</th>") && start.contains("12.75") && job.contains("12.75"), "{start}\n{job}");
    assert!(!start.contains(">Share</th>") && !start.contains("<dt>Price"), "it has none: {start}");
}

/// What no worker can run is said where people look, with the reason.
#[tokio::test]
async fn pages_and_health_say_what_no_worker_can_run() {
    let because = "mapred.mapper.class is \"a.B\"".to_owned();
    let job = JobSnapshot {
        failure_info: format!("the only connected worker cannot run it: {because}"),
        ..job(2, "x", RunState::Prep)
    };
    let stuck = vec![Stuck { holder: SlotHolder::Job(job.id), because }];
    let trackers = vec![tracker("node1", true)];
    let stage = stage(ClusterSnapshot { jobs: vec![job], stuck, trackers, ..overview() }).await;
    let line = "no worker can run job_202611211200_0002: mapred.mapper.class is \"a.B\"";
    assert_eq!(stage.get("/readyz").await.body, format!("ok, but {line}\n"));
    assert!(stage.get("/status").await.body.contains("ok, but no worker can run job_202611211200_0002"));
    let page = stage.get("/").await.body;
    assert!(page.contains("no worker can run job_202611211200_0002"), "{page}");
    let page = stage.get("/jobs/job_202611211200_0002").await.body;
    assert!(page.contains("the only connected worker cannot run it: mapred.mapper.class"), "{page}");
    assert!(stage.get("/metrics").await.body.contains("\njobtracker_stuck{kind=\"job\"} 1\n"));
}

/// While the store cannot write, what was shown last is shown with its age.
#[tokio::test]
async fn what_is_old_says_so() {
    let stage = stage(overview()).await;
    let shown = async |is_ready, age_ms| {
        let text = "the state store cannot write".to_owned();
        *stage.cluster.health.lock().unwrap() =
            Health { is_alive: true, is_ready, text, at_ms: NOW_MS + age_ms, ..Health::default() };
        (stage.get("/").await, stage.get("/status").await)
    };
    for (is_ready, age_ms) in [(true, 65_000), (false, 4_999)] {
        let (page, status) = shown(is_ready, age_ms).await;
        assert_eq!((page.header("age"), status.header("age")), (None, None), "{is_ready} {age_ms}");
        assert!(!page.body.contains("what is shown is"), "{}", page.body);
    }
    let (page, status) = shown(false, 65_000).await;
    assert_eq!((page.header("age"), status.header("age")), (Some("65"), Some("65")));
    assert!(page.body.contains("what is shown is 1 min 5 s old"), "{}", page.body);
    assert!(status.body.contains("\"old_s\":65"), "{}", status.body);
    // Before there was anything to show, there is the reason.
    stage.cluster.gone.store(true, Ordering::SeqCst);
    let (page, status) = shown(false, 65_000).await;
    for answer in [page, status] {
        assert_eq!(answer.status_line, "HTTP/1.1 503 Service Unavailable");
        assert!(answer.body.ends_with("the state store cannot write\n"), "{}", answer.body);
    }
}

/// The daemon's log names amounts: it is no page where these are private.
#[tokio::test]
async fn the_log_is_kept_where_amounts_are_private() {
    let status = async |stage: Stage| stage.get("/logs/").await.status_line;
    assert_eq!(status(Stage::of(MarketPresence::Ruling).await).await, "HTTP/1.1 403 Forbidden");
    assert_eq!(status(Stage::of(MarketPresence::Idle).await).await, "HTTP/1.1 403 Forbidden");
    // Whether it is a file depends on where the tests' own output goes.
    assert_ne!(status(Stage::of(MarketPresence::Absent).await).await, "HTTP/1.1 403 Forbidden");
    assert_ne!(status(Stage::public().await).await, "HTTP/1.1 403 Forbidden");
}
