//! The API over views of a small cluster.

mod description;
mod explain;
mod lists;
mod owner;
mod pictures;
mod plan;
mod private;
mod said;
mod sessions;
mod stage;
mod stream;

use serde_json::json;

use crate::model::RunState;

use super::super::owner::MarketPresence;
use stage::{START_MS, Stage, application_end, ended, job_id};

#[tokio::test]
async fn a_job_has_what_the_command_prints_but_for_what_depends_on_the_moment() {
    let stage = Stage::new();
    let tally = |total: u32, finished: u32, running: u32, pending: u32, stopped: u32| {
        json!({ "total": total, "finished": finished, "running": running, "pending": pending, "failed": 0,
                "stopped": stopped })
    };
    let expected = json!({
        "job": "job_202611211200_0002", "kind": "job", "name": "count words", "user": "alice", "queue": "alice",
        "state": "RUNNING", "priority": "NORMAL", "started_ms": START_MS + 2, "is_over": false,
        "map_percent": 0, "reduce_percent": 0, "deadline": { "due_ms": START_MS + 60_000, "state": "ON_TIME" },
        "tasks": { "map": tally(3, 0, 1, 2, 0), "reduce": tally(1, 0, 0, 1, 0) },
        "url": "http://h:50030/jobdetails.jsp?jobid=job_202611211200_0002",
    });
    assert_eq!(stage.get("/api/v1/jobs/job_202611211200_0002").await.json(), expected);
    let over = stage.get("/api/v1/jobs/job_202611211200_0001?pretty").await;
    assert!(
        over.text().starts_with("{\n  \"failure\": \"the reason\",\n  \"finish_ms\": 1700000000100,\n"),
        "{over:?}"
    );
    let tasks = json!({ "map": tally(3, 1, 0, 0, 2), "reduce": tally(1, 0, 0, 0, 1) });
    assert_eq!((&over.json()["tasks"], &over.json()["state"]), (&tasks, &json!("FAILED")));
}

#[tokio::test]
async fn the_parts_of_a_job_are_counted_from_its_attempts() {
    let stage = Stage::new();
    let of = async |rest: &str| stage.get(&format!("/api/v1/jobs/job_202611211200_0002{rest}")).await;
    let expected = json!({ "items": [{
        "attempt": "attempt_202611211200_0002_m_000001_0", "task": "map", "state": "FAILED", "worker": "h",
        "http": "http://h:50060", "since_ms": START_MS + 50, "finish_ms": START_MS + 90, "percent": 0,
        "status": "0.5 done", "diagnostics": "no such file: in.txt",
    }] });
    assert_eq!(of("/attempts?state=FAILED").await.json(), expected);
    let expected = "attempts,finish_ms,kind,started_ms,state,status,task,worker\r\n\
                    1,,map,1700000000050,RUNNING,,task_202611211200_0002_m_000000,h\r\n\
                    1,1700000000090,map,1700000000050,PENDING,0.5 done,task_202611211200_0002_m_000001,h\r\n\
                    0,,map,,PENDING,,task_202611211200_0002_m_000002,\r\n";
    assert_eq!(of("/tasks?kind=map&format=csv").await.text(), expected);
    let grids = of("/grid?cells=0").await.json();
    assert_eq!((&grids["grids"][0]["runs"], &grids["grids"][1]["runs"]), (&json!([[1, 1], [0, 2]]), &json!([[0, 1]])));
    assert_eq!(of("/grid?cells=1").await.json()["grids"][0]["cells"], json!([[2, 1, 0, 0, 0]]));
    let over = stage.get("/api/v1/jobs/job_202611211200_0001/tasks").await.json();
    let states: Vec<&str> =
        over["items"].as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["SUCCEEDED", "KILLED", "KILLED", "KILLED"]);
}

#[tokio::test]
async fn an_application_has_its_items_and_containers() {
    let stage = Stage::new();
    let of = async |rest: &str| stage.get(&format!("/api/v1/applications/application_1700000000000_0001{rest}")).await;
    let request = json!({ "allocation_request_id": 0, "containers": 2, "cores": 1, "items": "5-6", "memory_mb": 1_024,
                          "priority": 1, "relax_locality": true, "resource_name": "*" });
    let expected = json!({
        "application": "application_1700000000000_0001", "name": "simulate", "user": "bob", "queue": "bob",
        "state": "ACCEPTED", "final_status": "UNDEFINED", "started_ms": START_MS + 5, "type": "run",
        "unattended": true, "attempt": 0, "progress_percent": 0.0, "running_containers": 1, "pending_containers": 2,
        "completed_containers": 0, "failed_containers": 0, "preempted_containers": 0, "failed_items": "2",
        "items": { "total": 6, "done": 2 },
        "memory_mb": 1_024, "cores": 1, "slots": 2, "memory_mb_s": 0, "core_s": 0, "requests": [request],
    });
    assert_eq!(of("").await.json(), expected);
    let expected = "attempts,container,exit_status,item,state\r\n\
                    1,,0,1,SUCCEEDED\r\n\
                    1,,,2,FAILED\r\n\
                    1,container_1700000000000_0001_00_000003,,3,RUNNING\r\n\
                    1,,0,4,SUCCEEDED\r\n\
                    0,,,5,WAITING\r\n\
                    0,,,6,WAITING\r\n";
    assert_eq!(of("/items?format=csv").await.text(), expected);
    let running = of("/containers?state=RUNNING").await.json();
    assert_eq!((running["items"].as_array().unwrap().len(), &running["items"][0]["item"]), (1, &json!(3)));
    stage.cluster.apply(application_end());
    let expected = "attempts,exit_status,item,state\r\n\
                    1,0,1,SUCCEEDED\r\n\
                    1,,2,FAILED\r\n\
                    1,0,3,SUCCEEDED\r\n\
                    1,0,4,SUCCEEDED\r\n\
                    0,,5,ENDED\r\n\
                    0,,6,ENDED\r\n";
    assert_eq!(of("/items?format=csv").await.text(), expected, "what became of each is known after the end");
}

#[tokio::test]
async fn what_is_unchanged_is_not_sent_again_and_a_change_is() {
    let stage = Stage::new();
    for path in ["/api/v1/jobs", "/api/v1/cluster", "/api/v1/policy", "/api/v1/applications", "/api/v1/queues"] {
        let first = stage.get(path).await;
        let tag = first.header("etag").to_owned();
        // Time passes: nothing of it is in the body.
        stage.cluster.change_overview(|overview| {
            overview.at_ms += 1_000;
            overview.report.at_ms += 1_000;
        });
        let again = stage.ask("GET", path, &[("if-none-match", &tag)]).await;
        assert_eq!((again.status, again.bytes.len(), again.header("etag")), (304, 0, &*tag), "{path}");
        assert_ne!(again.header("jobtracker-as-of"), first.header("jobtracker-as-of"), "{path}");
    }
    let tag = stage.get("/api/v1/jobs").await.header("etag").to_owned();
    stage.cluster.apply(vec![ended(2, RunState::Succeeded, START_MS + 200)]);
    stage.cluster.report_end(job_id(2));
    let changed = stage.ask("GET", "/api/v1/jobs", &[("if-none-match", &format!("\"x\", {tag}"))]).await;
    assert_eq!((changed.status, changed.json()["items"][2]["state"].as_str()), (200, Some("SUCCEEDED")));
}

#[tokio::test]
async fn what_cannot_be_answered_is_a_problem_that_names_what_is_wrong() {
    let stage = Stage::new();
    let wrong = stage.get("/api/v1/jobs?state=DONE&limit=0&limit=5&colour=1&after=x&state=RUNNING").await;
    let errors = wrong.json()["errors"].clone();
    let wrong_ones: Vec<&str> =
        errors.as_array().unwrap().iter().map(|error| error["parameter"].as_str().unwrap()).collect();
    assert_eq!((wrong.problem().0, &wrong_ones[..]), (400, &["limit", "limit", "after", "state", "colour"][..]));
    assert_eq!(errors[4]["detail"].as_str().unwrap().split(';').next(), Some("the parameter is unknown"));
    let kind = async |path: &str| stage.get(path).await.problem();
    assert_eq!(kind("/api/v1/jobs/job_1_1").await, (404, "no-such-job".to_owned()));
    assert_eq!(kind("/api/v1/applications/application_7_0001").await, (404, "no-such-application".to_owned()));
    assert_eq!(kind("/api/v1/workers/a%2Fb..").await, (404, "no-such-worker".to_owned()));
    assert_eq!(kind("/api/v1/queues/nowhere").await, (404, "no-such-queue".to_owned()));
    assert_eq!(kind("/api/v1/users/eve").await, (404, "no-such-user".to_owned()));
    assert_eq!(kind("/api/v1/nothing").await, (404, "no-such-address".to_owned()));
    assert_eq!(kind("/api/v1/jobs/").await, (404, "no-such-address".to_owned()));
    assert_eq!(kind("/api/v1/cluster?at=7.7").await, (409, "stale-generation".to_owned()));
    assert_eq!(kind("/api/v1/cluster?at=now").await.0, 400);
    assert_eq!(stage.get("/api/v1/racks?at=7.6").await.header("jobtracker-generation"), "7.6");
    let posted = stage.ask("POST", "/api/v1/jobs", &[]).await;
    assert_eq!((posted.problem(), posted.header("allow")), ((405, "method-not-allowed".to_owned()), "GET, HEAD"));
    let html = stage.ask("GET", "/api/v1/jobs", &[("accept", "text/html")]).await;
    assert_eq!(html.problem(), (406, "not-acceptable".to_owned()));
    let none = Stage::with(MarketPresence::Absent, false, false);
    assert_eq!(none.get("/api/v1/market").await.problem(), (404, "no-market".to_owned()));
    assert_eq!(none.get("/api/v1/queues/alice/statement").await.problem(), (404, "no-market".to_owned()));
}

#[tokio::test]
async fn forms_are_as_they_are_asked_for() {
    let stage = Stage::new();
    let head = stage.ask("HEAD", "/api/v1/jobs", &[]).await;
    assert_eq!((head.status, head.bytes.len(), head.header("content-type")), (200, 0, "application/json"));
    let gzipped = stage.ask("GET", "/api/v1/jobs", &[("accept-encoding", "br, gzip;q=0.5")]).await;
    assert_eq!((gzipped.header("content-encoding"), &gzipped.bytes[..2]), ("gzip", &[0x1f, 0x8b][..]));
    let plain = stage.ask("GET", "/api/v1/jobs", &[("accept-encoding", "gzip;q=0")]).await;
    assert_eq!(plain.header("content-encoding"), "");
    let csv = stage.ask("GET", "/api/v1/jobs?name=hyper", &[("accept", "text/csv")]).await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    assert!(csv.text().contains("\"'=HYPERLINK(\"\"http://evil\"\")\""), "{}", csv.text());
    assert_eq!(
        stage.get("/api/v1/jobs?format=csv").await.header("vary"),
        "Accept, Accept-Encoding, Cookie, Authorization"
    );
}

#[tokio::test]
async fn quotes_are_a_curve_of_rates_for_a_queue_or_for_a_new_buyer() {
    let stage = Stage::with(MarketPresence::Ruling, true, false);
    let of = async |path: &str| stage.get(&format!("/api/v1/market/quotes{path}")).await.json()["quotes"].clone();
    let rates = |quotes: &serde_json::Value| -> Vec<String> {
        quotes.as_array().unwrap().iter().map(|quote| quote["rate"].as_str().unwrap().to_owned()).collect()
    };
    let new_buyer = of("?from=0&to=4.6&points=3").await;
    assert_eq!(rates(&new_buyer), ["0.0", "2.3", "4.6"]);
    // Half of the price that it makes: half of 4 and 2 slots.
    let last = &new_buyer[2];
    assert_eq!((&last["share"], &last["price"]), (&"0.500000000".into(), &"9.2".into()));
    assert_eq!((&last["map_slots"], &last["reduce_slots"]), (&2.into(), &1.into()));
    assert!(last.get("budget").is_none() && last.get("queue").is_none());
    assert_eq!(of("").await.as_array().unwrap().len(), 50);
    // Alice is the only queue with an account: any rate that she can pay buys what she wants.
    let alice = of("?queue=alice&from=1&to=8000&points=2").await;
    assert_eq!((&alice[0]["map_slots"], &alice[0]["reduce_slots"]), (&4.into(), &2.into()));
    assert_eq!((&alice[0]["share"], &alice[0]["is_funded"]), (&"1.000000000".into(), &true.into()));
    assert_eq!((&alice[1]["map_slots"], &alice[1]["is_funded"]), (&0.into(), &false.into()));
    // 6 credits in 20 s, from the tick after the last one on.
    let lasts_ms = 7_319_625 * 20 / 6 / 1_000 * 1_000;
    assert_eq!(alice[0]["full_use_empty_ms"], stage::START_MS + 30 + 20_000 + lasts_ms);
    assert_eq!(stage.get("/api/v1/market/quotes?queue=zed").await.problem(), (404, "no-such-queue".to_owned()));
    assert_eq!(stage.get("/api/v1/market/quotes?from=-1").await.problem(), (400, "invalid-request".to_owned()));
    let private = Stage::new();
    assert_eq!(private.get("/api/v1/market/quotes?queue=alice").await.problem(), (403, "forbidden".to_owned()));
    assert_eq!(private.get("/api/v1/market/quotes").await.status, 200);
    let idle = Stage::with(MarketPresence::Idle, true, false);
    assert_eq!(idle.get("/api/v1/market/quotes").await.problem(), (404, "no-market".to_owned()));
}

#[tokio::test]
async fn counters_events_and_configuration_of_a_job_are_lists() {
    let stage = Stage::new();
    let base = "/api/v1/jobs/job_202611211200_0002";
    let counters = stage.get(&format!("{base}/counters?limit=1")).await.json();
    let expected = json!({
        "group": "Map-Reduce Framework", "group_id": "org.apache.hadoop.mapred.Task$Counter",
        "id": "MAP_INPUT_RECORDS", "name": "map_input_records", "value": 12,
        "tasks": { "count": 3, "smallest": 1, "median": 3, "largest": 8 },
    });
    assert_eq!(counters["items"], json!([expected]));
    let next = stage.get(counters["next"].as_str().unwrap()).await.json();
    assert_eq!((&next["items"][0]["id"], next.get("next")), (&"SPILLED_RECORDS".into(), None));
    let mut path = Some(format!("{base}/events?limit=2"));
    let mut numbers = Vec::new();
    while let Some(asked) = path {
        let events = stage.get(&asked).await.json();
        numbers.extend(events["items"].as_array().unwrap().iter().map(|event| event["number"].as_i64().unwrap()));
        path = events["next"].as_str().map(str::to_owned);
    }
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let conf = stage.get(&format!("{base}/conf")).await.json();
    assert_eq!(conf["items"][1], json!({ "key": "my.secret", "value": "<redacted>" }));
    let csv = stage.get(&format!("{base}/conf?format=csv")).await;
    assert_eq!(csv.text(), "key,value\r\nmapred.job.name,count words\r\nmy.secret,<redacted>\r\n");
    assert_eq!(stage.get("/api/v1/jobs/job_202611211200_0099/conf").await.problem().1, "no-such-job");
}

#[tokio::test]
async fn samples_are_thinned_from_the_newest_on_and_waits_say_why() {
    let stage = Stage::new();
    let times = async |path: &str| {
        let series = stage.get(&format!("/api/v1/samples{path}")).await.json();
        let points = series["points"].as_array().unwrap().iter();
        (
            series["step_ms"].as_u64().unwrap(),
            points.map(|point| point["time_ms"].as_i64().unwrap()).collect::<Vec<_>>(),
        )
    };
    let at = |number: i64| START_MS + number * 10_000;
    assert_eq!(times("").await, (10_000, (0..7).map(at).collect()));
    assert_eq!(times("?points=2").await, (40_000, vec![at(2), at(6)]));
    assert_eq!(times(&format!("?since={}", at(5))).await, (10_000, vec![at(5), at(6)]));
    let point = &stage.get("/api/v1/samples").await.json()["points"][0];
    assert_eq!(point["queues"], json!([{ "queue": "alice", "used": 1, "waiting": 6 }]));
    let waits = stage.get("/api/v1/jobs/job_202611211200_0002/waits").await.json();
    let spans = waits["spans"].as_array().unwrap();
    assert_eq!((&spans[0]["from_ms"], &spans[0]["state"]), (&(START_MS + 2).into(), &"waits".into()));
    assert_eq!(spans[0]["reason"], "not_sampled");
    assert_eq!(spans[1]["state"], "limited");
}
