//! The start page, metrics, health and everything that is not there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::web_server::stage::{NOW_MS, START_MS, Stage};

use jobtracker::api::SchedulerReport;
use jobtracker::engine::{
    ApplicationTallies, ClusterSnapshot, ContainersSnapshot, JobSnapshot, LiveJob, MoneySnapshot, QueueSnapshot,
    TrackerSnapshot,
};
use jobtracker::model::{PerKind, Priority, RunState};
use jobtracker::web::Health;

pub fn job(number: i32, name: &str, state: RunState) -> JobSnapshot {
    JobSnapshot {
        id: format!("job_202611211200_{number:04}").parse().unwrap(),
        name: name.to_owned(),
        user: "alice".to_owned(),
        queue: "alice".to_owned(),
        priority: Priority::Normal,
        state,
        submit_ms: START_MS,
        finish_ms: (state == RunState::Failed).then_some(START_MS + 42_000),
        tasks: PerKind::new(10, 1),
        finished: PerKind::new(4, 0),
        running: PerKind::new(3, 0),
        live: LiveJob { progress: PerKind::new(0.4, 0.0), ..LiveJob::default() },
        cost: Some("12.75".to_owned()),
        failure_info: if state == RunState::Failed { "task_… failed 4 times".to_owned() } else { String::new() },
    }
}

pub fn tracker(host: &str, healthy: bool) -> TrackerSnapshot {
    TrackerSnapshot {
        name: format!("tracker_{host}:localhost/127.0.0.1:4711"),
        worker: format!("tracker_{host}:localhost/127.0.0.1:4711"),
        host: host.to_owned(),
        rack: "/default-rack".to_owned(),
        http_port: if healthy { 50060 } else { 0 },
        slots: PerKind::new(2, 1),
        running: PerKind::new(2, 0),
        silent_ms: 2_500,
        is_silent: false,
        is_draining: false,
        healthy,
        graylisted: !healthy,
        is_short: false,
        complaints: if healthy { String::new() } else { "ERROR disk <full>\n4 failures on the tracker".to_owned() },
        ..TrackerSnapshot::default()
    }
}

pub fn overview() -> ClusterSnapshot {
    ClusterSnapshot {
        scheduler: "Dynamic Priority".to_owned(),
        start_ms: START_MS,
        at_ms: NOW_MS,
        slots: PerKind::new(4, 2),
        running: PerKind::new(3, 0),
        waiting: PerKind::new(12, 1),
        preparing_jobs: 0,
        running_jobs: 1,
        known_jobs: 2,
        jobs_accepted: 7,
        jobs_ended: [3, 1, 2],
        attempts_launched: 99,
        attempts_preempted: 7,
        heartbeats: 1234,
        report: SchedulerReport::default(),
        containers: None,
        price: Some("1.5".to_owned()),
        money: Some(MoneySnapshot {
            balances: vec![("alice".to_owned(), "2.5".parse().unwrap())],
            issued: "10".parse().unwrap(),
            charged: "7.5".parse().unwrap(),
        }),
        queues: vec![QueueSnapshot {
            name: "alice".to_owned(),
            running: PerKind::new(3, 0),
            waiting: PerKind::new(12, 1),
            paused: None,
            share: Some("0.333333333".to_owned()),
            ..QueueSnapshot::default()
        }],
        jobs: vec![job(2, "word count", RunState::Running), job(1, "<script>alert('x')</script>", RunState::Failed)],
        trackers: vec![tracker("node1", true), tracker("node2", false)],
        ..ClusterSnapshot::default()
    }
}

pub async fn stage(overview: ClusterSnapshot) -> Stage {
    let stage = Stage::public().await;
    *stage.cluster.overview.lock().unwrap() = Arc::new(overview);
    stage
}

#[tokio::test]
async fn each_job_has_a_page() {
    let stage = stage(overview()).await;
    let page = stage.get("/jobs/job_202611211200_0001").await;
    assert_eq!(page.status_line, "HTTP/1.1 200 OK");
    for text in
        ["<code>job_202611211200_0001</code>", "&#60;script&#62;", "failed 4 times", "12.75", "jobtracker job tasks"]
    {
        assert!(page.body.contains(text), "{text} in {}", page.body);
    }
    let unknown = stage.get("/jobs/job_202611211200_0009").await;
    assert_eq!(unknown.status_line, "HTTP/1.1 404 Not Found");
    assert!(unknown.body.contains("jobtracker job status job_202611211200_0009"), "{}", unknown.body);
    assert_eq!(stage.get("/jobs/x").await.status_line, "HTTP/1.1 404 Not Found");
}

#[tokio::test]
async fn a_page_loads_nothing_but_files_of_its_own_server() {
    let stage = stage(overview()).await;
    let style = stage.get("/static/jobtracker.css").await;
    assert_eq!(style.status_line, "HTTP/1.1 200 OK");
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert!(!style.body.contains("url("), "the style loads something");
    let page = stage.get("/").await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let sources: Vec<&str> = page.body.lines().filter(|line| line.contains("src=") || line.contains("<link")).collect();
    assert_eq!(sources.len(), 3, "{sources:?}");
    for source in sources {
        let (_, address) = source.split_once("href=\"").or_else(|| source.split_once("src=\"")).unwrap();
        let file = stage.get(address.split('"').next().unwrap()).await;
        assert_eq!(file.status_line, "HTTP/1.1 200 OK", "{source}");
        assert_eq!(file.header("cache-control"), Some("max-age=31536000, immutable"), "{source}");
    }
}

#[tokio::test]
async fn an_empty_cluster_has_a_page() {
    let page = stage(ClusterSnapshot::default()).await.get("/").await.body;
    for text in ["There are no queues.", "No job has been submitted yet.", "no worker is connected"] {
        assert!(page.contains(text), "{text}");
    }
}

#[tokio::test]
async fn without_a_market_the_page_has_no_market() {
    let with = stage(overview()).await.get("/").await.body;
    let stage = Stage::with(Default::default(), false).await;
    *stage.cluster.overview.lock().unwrap() = Arc::new(overview());
    let without = stage.get("/").await.body;
    for text in ["id=\"price\"", "Share", "0.333333333"] {
        assert!(with.contains(text) && !without.contains(text), "{text}");
    }
}

#[tokio::test]
async fn long_tables_are_cut() {
    let trackers = (0..1003).map(|number| tracker(&format!("node{number}"), true)).collect();
    let stage = stage(ClusterSnapshot { trackers, ..ClusterSnapshot::default() }).await;
    let page = stage.get("/").await.body;
    assert!(page.contains("1003 healthy") || page.contains(">1003<"), "{page}");
    let workers = stage.get("/workers").await.body;
    assert!(workers.contains("503 more are not shown."), "{workers}");
}

#[tokio::test]
async fn the_page_says_what_is_wrong() {
    let stage = stage(overview()).await;
    let text = "the store takes no facts: <disk full>".to_owned();
    *stage.cluster.health.lock().unwrap() = Health { is_alive: true, text, ..Health::default() };
    let page = stage.get("/").await.body;
    assert!(page.contains("the store takes no facts: &#60;disk full&#62;"), "{page}");
}

#[tokio::test]
async fn bad_files_are_told_though_jobs_run() {
    let stage = stage(overview()).await;
    let good = stage.get("/metrics").await.body;
    for name in ["acl", "budget"] {
        assert!(good.contains(&format!("\njobtracker_{name}_file_good 1\n")), "{good}");
    }
    *stage.cluster.health.lock().unwrap() = Health {
        is_alive: true,
        is_ready: true,
        acl_error: Some("hadoop.acl:2: <carol user>; the last good list stays in force".to_owned()),
        budget_error: Some("cannot write hadoop.budget".to_owned()),
        store_error: Some("facts that found no row: 2".to_owned()),
        rowless_updates: 2,
        defect: Some("invariants of the program are broken: 3 times, first at a.rs:1: b".to_owned()),
        invariant_violations: 3,
        ..Health::default()
    };
    let page = stage.get("/").await.body;
    let told = [
        "1 of 2 workers is not well",
        "hadoop.acl:2: &#60;carol user&#62;; the last good list",
        "cannot write hadoop.budget",
        "facts that found no row: 2",
        "invariants of the program are broken: 3 times",
    ];
    for text in told {
        assert!(page.contains(text), "{text} in {page}");
    }
    let bad = stage.get("/metrics").await.body;
    assert!(bad.contains("\njobtracker_store_rowless_updates_total 2\n"), "{bad}");
    assert!(bad.contains("\njobtracker_invariant_violations_total 3\n"), "{bad}");
    for name in ["acl", "budget"] {
        assert!(bad.contains(&format!("\njobtracker_{name}_file_good 0\n")), "{bad}");
    }
}

#[tokio::test]
async fn without_a_market_no_metric_speaks_of_its_files() {
    let metrics = Stage::with(Default::default(), false).await.get("/metrics").await.body;
    assert!(metrics.contains("jobtracker_ready") && !metrics.contains("_file_good"), "{metrics}");
}

#[tokio::test]
async fn metrics_are_text_of_prometheus_unless_open_metrics_is_asked_for() {
    let stage = stage(overview()).await;
    for accept in ["", "Accept: text/plain\r\n", "Accept: */*\r\n"] {
        let metrics = stage.request("GET", "/metrics", accept).await;
        assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"), "{accept:?}");
        let has = |line: &str| metrics.body.lines().any(|found| found == line);
        assert!(has("# TYPE jobtracker_heartbeats_total counter"), "{}", metrics.body);
        assert!(has("# TYPE jobtracker_slots gauge") && !metrics.body.contains("# EOF"), "{}", metrics.body);
    }
}

#[tokio::test]
async fn metrics_are_open_metrics_where_asked_for() {
    let accept =
        "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n";
    let metrics = stage(overview()).await.request("GET", "/metrics", accept).await;
    assert_eq!(metrics.header("content-type"), Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let of_the_process = |line: &&str| !line.starts_with("process_cpu") && !line.starts_with("process_resident");
    // What the views alone know is held to dashboards and alerts, in `src/web/tests/dashboards.rs`.
    let (before, rest) = metrics.body.split_once("# HELP jobtracker_build_info ").unwrap();
    let (_, after) = rest.split_once("# HELP process_start").unwrap();
    let stable = format!("{before}# HELP process_start{after}");
    let stable: Vec<&str> = stable.lines().filter(of_the_process).collect();
    insta::assert_snapshot!(stable.join("\n"), @r#"
    # HELP jobtracker_slots Slots of all trackers that accept work
    # TYPE jobtracker_slots gauge
    jobtracker_slots{kind="map"} 4
    jobtracker_slots{kind="reduce"} 2
    # HELP jobtracker_slots_used Slots in use
    # TYPE jobtracker_slots_used gauge
    jobtracker_slots_used{kind="map"} 3
    jobtracker_slots_used{kind="reduce"} 0
    # HELP jobtracker_tasks_waiting Tasks that wait for a slot
    # TYPE jobtracker_tasks_waiting gauge
    jobtracker_tasks_waiting{kind="map"} 12
    jobtracker_tasks_waiting{kind="reduce"} 1
    # HELP jobtracker_trackers Trackers
    # TYPE jobtracker_trackers gauge
    jobtracker_trackers{health="healthy"} 1
    jobtracker_trackers{health="short"} 0
    jobtracker_trackers{health="unhealthy"} 1
    jobtracker_trackers{health="draining"} 0
    jobtracker_trackers{health="silent"} 0
    # HELP jobtracker_heartbeats Heartbeats processed
    # TYPE jobtracker_heartbeats counter
    jobtracker_heartbeats_total 1234
    # HELP jobtracker_attempts_launched Attempts launched
    # TYPE jobtracker_attempts_launched counter
    jobtracker_attempts_launched_total 99
    # HELP jobtracker_attempts_preempted Attempts preempted in favour of other queues
    # TYPE jobtracker_attempts_preempted counter
    jobtracker_attempts_preempted_total 7
    # HELP jobtracker_store_rowless_updates Facts without a row to change in state.db: more than 0 is a defect
    # TYPE jobtracker_store_rowless_updates counter
    jobtracker_store_rowless_updates_total 0
    # HELP jobtracker_invariant_violations Invariants found broken: more than 0 is a defect
    # TYPE jobtracker_invariant_violations counter
    jobtracker_invariant_violations_total 0
    # HELP jobtracker_histories_written Histories of finished jobs written
    # TYPE jobtracker_histories_written counter
    jobtracker_histories_written_total 0
    # HELP jobtracker_history_write_failures Failed attempts to write a history, or a user's copy of one
    # TYPE jobtracker_history_write_failures counter
    jobtracker_history_write_failures_total 0
    # HELP jobtracker_histories_waiting Finished jobs whose history is not written
    # TYPE jobtracker_histories_waiting gauge
    jobtracker_histories_waiting 0
    # HELP jobtracker_ready 1 while jobs can be submitted and run
    # TYPE jobtracker_ready gauge
    jobtracker_ready 1
    # HELP jobtracker_acl_file_good 1 while the list in force is the ACL file's content
    # TYPE jobtracker_acl_file_good gauge
    jobtracker_acl_file_good 1
    # HELP jobtracker_budget_file_good 1 while the image of the budgets, a file, a database or a program, can be updated
    # TYPE jobtracker_budget_file_good gauge
    jobtracker_budget_file_good 1
    # HELP jobtracker_jobs Unfinished jobs
    # TYPE jobtracker_jobs gauge
    jobtracker_jobs{state="prep"} 0
    jobtracker_jobs{state="running"} 1
    # HELP jobtracker_stuck What waits and no worker can run, of the newest that is unfinished
    # TYPE jobtracker_stuck gauge
    jobtracker_stuck{kind="job"} 0
    # HELP jobtracker_jobs_accepted Jobs accepted
    # TYPE jobtracker_jobs_accepted counter
    jobtracker_jobs_accepted_total 7
    # HELP jobtracker_jobs_ended Finished jobs
    # TYPE jobtracker_jobs_ended counter
    jobtracker_jobs_ended_total{state="succeeded"} 3
    jobtracker_jobs_ended_total{state="failed"} 1
    jobtracker_jobs_ended_total{state="killed"} 2
    # HELP jobtracker_queue_slots_used Slots a queue uses
    # TYPE jobtracker_queue_slots_used gauge
    jobtracker_queue_slots_used{queue="alice",kind="map"} 3
    jobtracker_queue_slots_used{queue="alice",kind="reduce"} 0
    # HELP jobtracker_queue_tasks_waiting Tasks of a queue that wait for a slot
    # TYPE jobtracker_queue_tasks_waiting gauge
    jobtracker_queue_tasks_waiting{queue="alice",kind="map"} 12
    jobtracker_queue_tasks_waiting{queue="alice",kind="reduce"} 1
    # HELP jobtracker_market_price Sum of the effective spending rates, credits for a slot
    # TYPE jobtracker_market_price gauge
    jobtracker_market_price 1.5
    # HELP jobtracker_queue_share Share a queue has bought, 0 to 1
    # TYPE jobtracker_queue_share gauge
    jobtracker_queue_share{queue="alice"} 0.333333333
    # HELP jobtracker_queue_balance_credits Credits that a queue has
    # TYPE jobtracker_queue_balance_credits gauge
    jobtracker_queue_balance_credits{queue="alice"} 2.5
    # HELP jobtracker_market_issued_credits Credits ever issued to queues
    # TYPE jobtracker_market_issued_credits gauge
    jobtracker_market_issued_credits 10.0
    # HELP jobtracker_market_charged_credits Credits ever charged to queues
    # TYPE jobtracker_market_charged_credits gauge
    jobtracker_market_charged_credits 7.5
    # HELP process_start_time_seconds Start of the daemon, since the epoch
    # TYPE process_start_time_seconds gauge
    process_start_time_seconds 1700000000.0
    # HELP process_cpu_seconds Processor time used
    # TYPE process_cpu_seconds counter
    # HELP process_resident_memory_bytes Memory in use
    # TYPE process_resident_memory_bytes gauge
    # EOF
    "#);
}

#[tokio::test]
async fn applications_and_containers_have_metrics_of_few_labels() {
    let without = stage(overview()).await.get("/metrics").await.body;
    assert!(!without.contains("container") && !without.contains("application"), "they are switched off");
    let tallies = ApplicationTallies {
        submitted: 9,
        unfinished: [1, 2],
        ended: [3, 2, 1],
        granted: 50,
        live: [1, 2, 3],
        container_ends: [20, 9, 1, 2, 3, 4, 5, 6, 7, 8, 10],
        held_memory_mb: 3,
        held_vcores: 6,
        beats: 77,
    };
    let containers = ContainersSnapshot {
        tallies,
        workers: 2,
        declared_memory_mb: 4,
        declared_vcores: 8,
        container_use: Default::default(),
        attempt_use: Default::default(),
        held_slots: 5,
        waiting: 11,
    };
    let shown = stage(ClusterSnapshot { containers: Some(containers), ..overview() }).await.get("/metrics").await.body;
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('#')).collect();
    let lines = lines.into_iter().filter(|line| line.contains("container") || line.contains("application"));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    jobtracker_stuck{kind="application"} 0
    jobtracker_applications{state="accepted"} 1
    jobtracker_applications{state="running"} 2
    jobtracker_applications_submitted_total 9
    jobtracker_applications_ended_total{state="finished"} 3
    jobtracker_applications_ended_total{state="failed"} 2
    jobtracker_applications_ended_total{state="killed"} 1
    jobtracker_containers{state="not_launched"} 1
    jobtracker_containers{state="launching"} 2
    jobtracker_containers{state="running"} 3
    jobtracker_containers_granted_total 50
    jobtracker_containers_ended_total{by="succeeded"} 20
    jobtracker_containers_ended_total{by="failed"} 9
    jobtracker_containers_ended_total{by="not_started"} 1
    jobtracker_containers_ended_total{by="aborted"} 2
    jobtracker_containers_ended_total{by="disk"} 3
    jobtracker_containers_ended_total{by="preempted"} 4
    jobtracker_containers_ended_total{by="memory"} 5
    jobtracker_containers_ended_total{by="killed"} 6
    jobtracker_containers_ended_total{by="application_over"} 7
    jobtracker_containers_ended_total{by="log"} 8
    jobtracker_containers_ended_total{by="time_limit"} 10
    jobtracker_containers_waiting 11
    jobtracker_container_workers 2
    jobtracker_container_declared_bytes 4194304
    jobtracker_container_declared_cores 8
    jobtracker_container_held_bytes 3145728
    jobtracker_used_bytes{by="containers"} 0
    jobtracker_used_cpu_seconds{by="containers"} 0.0
    jobtracker_container_held_cores 6
    jobtracker_container_held_slots 5
    jobtracker_container_beats_total 77
    jobtracker_application_calls_waiting 0
    jobtracker_container_wait_seconds_sum 0.0
    jobtracker_container_wait_seconds_count 0
    jobtracker_container_wait_seconds_bucket{le="1.0"} 0
    jobtracker_container_wait_seconds_bucket{le="5.0"} 0
    jobtracker_container_wait_seconds_bucket{le="15.0"} 0
    jobtracker_container_wait_seconds_bucket{le="60.0"} 0
    jobtracker_container_wait_seconds_bucket{le="300.0"} 0
    jobtracker_container_wait_seconds_bucket{le="900.0"} 0
    jobtracker_container_wait_seconds_bucket{le="3600.0"} 0
    jobtracker_container_wait_seconds_bucket{le="14400.0"} 0
    jobtracker_container_wait_seconds_bucket{le="86400.0"} 0
    jobtracker_container_wait_seconds_bucket{le="+Inf"} 0
    "#);
}

/// Everything that a request without a signature may be sent to.
const UNSIGNED: [&str; 42] = [
    "/",
    "/jobs",
    "/jobs?format=csv",
    "/jobs/job_202611211200_0002",
    "/queues",
    "/queues?format=csv",
    "/queues/alice",
    "/market",
    "/market?rate=1",
    "/policy",
    "/workers",
    "/slots",
    "/users",
    "/users/alice",
    "/reports/users",
    "/?part=main",
    "/jmx",
    "/jobtracker.jsp?format=json",
    "/machines.jsp",
    "/jobqueue_details.jsp?queueName=alice",
    "/jobdetails.jsp?jobid=job_202611211200_0002",
    "/jobtracker.jsp",
    "/metrics",
    "/healthz",
    "/readyz",
    "/static/jobtracker.css",
    "/nothing",
    "/scheduler",
    "/scheduler?",
    "/scheduler?price",
    "/scheduler?time",
    "/scheduler?info=alice",
    "/scheduler?info&user=alice&timestamp=1700000000001",
    "/scheduler?infos",
    "/scheduler?quote=1&queue=alice",
    "/scheduler?setSpending=1&queue=alice",
    "/scheduler?nonsense",
    "/scheduler/queues?queues",
    "/scheduler/statement?statement=alice",
    "/scheduler/history",
    "/scheduler/history?history&queue=alice",
    "/scheduler/explain?job=job_202611211200_0002",
];

#[tokio::test]
async fn what_a_private_market_shows_unsigned_tells_no_share_and_no_cost() {
    let stage = Stage::new().await;
    *stage.cluster.overview.lock().unwrap() = Arc::new(overview());
    for target in UNSIGNED {
        let answer = stage.get(target).await;
        // Share, rate, budget and cost, as the market and the jobs have them; and what is named after them.
        for told in ["0.3333", "0.6666", "<spending>", "100.0", "12.75", "queue_share", "_credits", ">Share<", ">Cost<"]
        {
            assert!(!answer.body.contains(told), "{target} tells {told}: {}", answer.body);
        }
    }
    assert!(stage.get("/").await.body.contains("data-metric=\"price\" data-value=\"1.5\""), "the price is for all");
    assert!(stage.get("/metrics").await.body.contains("jobtracker_market_price 1.5\n"));
    let own = stage.signed("GET", "alice", "info").await.body;
    assert!(own.contains("<share>0.333333333</share>"), "{own}");
}

#[tokio::test]
async fn every_answer_has_a_type_that_nobody_may_guess_anew() {
    let stage = Stage::new().await;
    for target in UNSIGNED {
        for method in ["GET", "HEAD", "POST", "OPTIONS", "DELETE", "PUT", "TRACE"] {
            let answer = stage.request(method, target, "").await;
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {target}");
            assert!(answer.header("content-type").is_some(), "{method} {target}");
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{method} {target}");
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        }
    }
}

#[tokio::test]
async fn jobs_that_are_not_shown_are_counted() {
    let stage = stage(ClusterSnapshot { preparing_jobs: 123, running_jobs: 577, known_jobs: 800, ..overview() }).await;
    let page = stage.get("/").await.body;
    for number in ["\"jobs.running\" data-value=\"577\"", "\"jobs.preparing\" data-value=\"123\""] {
        assert!(page.contains(number), "{number}: {page}");
    }
    let metrics = stage.get("/metrics").await.body;
    assert!(metrics.contains("jobtracker_jobs{state=\"prep\"} 123\n"), "{metrics}");
    assert!(metrics.contains("jobtracker_jobs{state=\"running\"} 577\n"), "{metrics}");
}

#[tokio::test]
async fn health_is_told_apart_from_readiness() {
    let stage = Stage::new().await;
    let statuses = async |is_alive, is_ready| {
        *stage.cluster.health.lock().unwrap() =
            Health { is_alive, is_ready, text: "the reason".to_owned(), ..Health::default() };
        let (alive, ready) = (stage.get("/healthz").await, stage.get("/readyz").await);
        assert_eq!(ready.body, "the reason\n");
        [alive.status_line, ready.status_line].map(|line| line["HTTP/1.1 ".len()..][..3].to_owned())
    };
    assert_eq!(statuses(true, true).await, ["200", "200"]);
    assert_eq!(statuses(true, false).await, ["200", "503"]);
    assert_eq!(statuses(false, true).await, ["503", "503"]);
}

#[tokio::test]
async fn without_an_owner_pages_are_503_and_health_still_answers() {
    let stage = Stage::new().await;
    stage.cluster.gone.store(true, Ordering::SeqCst);
    for target in ["/", "/metrics"] {
        assert_eq!(stage.get(target).await.status_line, "HTTP/1.1 503 Service Unavailable", "{target}");
    }
    assert_eq!(stage.get("/healthz").await.status_line, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_not_done_405() {
    let stage = Stage::new().await;
    for target in ["/x", "/jobtracker.jsp/", "/static/", "/static/../Cargo.toml", "/healthz/", "/<script>"] {
        let answer = stage.get(target).await;
        if answer.status_line != "HTTP/1.1 400 Bad Request" {
            assert_eq!(answer.status_line, "HTTP/1.1 404 Not Found", "{target}");
            assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        }
    }
    assert_eq!(stage.request("POST", "/", "").await.status_line, "HTTP/1.1 405 Method Not Allowed");
    let head = stage.request("HEAD", "/healthz", "").await;
    assert_eq!((head.status_line.as_str(), head.body.as_str()), ("HTTP/1.1 200 OK", ""));
}
