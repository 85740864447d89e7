//! Each recorded answer beside ours over the same state.

use crate::engine::ClusterSnapshot;
use crate::model::{AttemptState, PerKind, Priority, RunState};

use super::stage::{Recorded, at, attempt, counters_of, job, queue, row, tally, tracker};
use super::tokens::tokens;
use crate::web::stock::{StockGraph, StockJob, StockPastJob, StockPastJobs, StockTally, StockTask};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/web/", $name))
    };
}

const WORKER_1: (&str, u16) = ("worker1", 50060);
const WORKER_2: (&str, u16) = ("worker2", 50061);
const PIPE_FAILED: &str = "java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 1";

/// The tokens, one a line, with the daemon's time zone as that of the recording.
#[track_caller]
pub(super) fn assert_same(theirs: &str, ours: &str) {
    let zone = super::super::java_text::date(at(50, 0));
    let zone = zone.split(' ').nth(4).unwrap_or_default().to_owned();
    assert_eq!(zone, "UTC", "these tests need TZ=UTC, as the recording had it");
    similar_tokens(&tokens(theirs), &tokens(ours));
}

#[track_caller]
fn similar_tokens(theirs: &[String], ours: &[String]) {
    for (place, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        assert_eq!(ours, theirs, "token {place}");
    }
    assert_eq!(ours.len(), theirs.len(), "{:?}", &ours[theirs.len().min(ours.len())..]);
}

/// JSON as 1.2.1 sends it: blank lines, then one object.
fn json(body: &str) -> serde_json::Value {
    assert!(body.starts_with("\n\n\n\n\n"), "{body:?}");
    serde_json::from_str(body.trim()).unwrap()
}

/// Their page looks the sums over maps and reduces up by the displayed name, so it shows 0 for a counter that has another one.
fn looked_up(job: &mut StockJob) {
    let counters = job.counters.iter_mut().flat_map(|group| &mut group.counters);
    let is_displayed = |name: &str| name.contains(' ');
    for counter in counters.filter(|counter| is_displayed(&counter.name)) {
        (counter.map_value, counter.reduce_value) = (0, 0);
    }
}

fn word_count_1() -> StockJob {
    StockJob {
        progress: PerKind::new(1.0, 0.0),
        work: PerKind::new(tally(6, 0, 0, 6, 0), tally(1, 0, 1, 0, 0)),
        counters: counters_of(recorded!("jobdetails-running.json")),
        ..job(1, "word count <1>", RunState::Running)
    }
}

fn fails() -> StockJob {
    StockJob {
        submit_ms: at(51, 33),
        finish_ms: Some(at(51, 33)),
        failure_info: "# of failed Map Tasks exceeded allowed limit. FailedCount: 1. LastFailedTask: \
                       task_202611220350_0002_m_000000"
            .to_owned(),
        progress: PerKind::new(1.0, 1.0),
        work: PerKind::new(StockTally { failed_attempts: 3, ..tally(2, 0, 0, 0, 2) }, tally(0, 0, 0, 0, 0)),
        cleanup: tally(2, 0, 0, 1, 1),
        counters: counters_of(recorded!("jobdetails-failed.json")),
        ..job(2, "fails & ends", RunState::Failed)
    }
}

fn long_running() -> StockJob {
    StockJob {
        submit_ms: at(51, 34),
        queue: "etl".to_owned(),
        progress: PerKind::new(2.0 / 3.0, 0.0),
        work: PerKind::new(tally(6, 0, 2, 4, 0), tally(1, 0, 1, 0, 0)),
        ..job(3, "long running", RunState::Running)
    }
}

pub(super) fn word_count_2() -> StockJob {
    StockJob {
        submit_ms: at(52, 53),
        finish_ms: Some(at(52, 53)),
        progress: PerKind::new(1.0, 1.0),
        work: PerKind::new(tally(6, 0, 0, 6, 0), tally(1, 0, 0, 1, 0)),
        cleanup: tally(2, 0, 0, 1, 1),
        counters: counters_of(recorded!("jobdetails-succeeded.json")),
        ..job(4, "word count <2>", RunState::Succeeded)
    }
}

/// In the middle of the recorded run.
pub(super) fn middle() -> Recorded {
    let jobs = vec![word_count_1(), fails(), long_running()];
    Recorded {
        overview: ClusterSnapshot {
            start_ms: at(50, 8),
            at_ms: at(52, 21),
            identifier: "202611220350".to_owned(),
            attempts: PerKind::new(2, 2),
            running: PerKind::new(2, 2),
            slots: PerKind::new(4, 4),
            jobs_accepted: 3,
            queues: vec![queue("default"), queue("etl")],
            jobs: jobs.iter().map(row).collect(),
            trackers: vec![tracker("worker1", 50060, 3, 1, [9, 8]), tracker("worker2", 50061, 1, 2, [8, 6])],
            ..ClusterSnapshot::default()
        },
        jobs,
        now_ms: at(52, 19),
        ..Recorded::default()
    }
}

fn end() -> Recorded {
    let killed = StockJob {
        state: RunState::Killed,
        progress: PerKind::new(1.0, 1.0),
        finish_ms: Some(at(52, 20)),
        ..word_count_1()
    };
    let long = StockJob {
        priority: Priority::High,
        progress: PerKind::new(1.0, 0.0),
        work: PerKind::new(tally(6, 0, 0, 6, 0), tally(1, 0, 1, 0, 0)),
        ..long_running()
    };
    let jobs = vec![killed, fails(), long, word_count_2()];
    let middle = middle();
    Recorded {
        overview: ClusterSnapshot {
            attempts: PerKind::new(0, 1),
            running: PerKind::new(0, 1),
            slots: PerKind::new(6, 6),
            jobs_accepted: 4,
            // Theirs stand in the order of their hashes.
            queues: vec![queue("etl"), queue("default")],
            jobs: jobs.iter().map(row).collect(),
            trackers: [middle.overview.trackers, vec![tracker("localhost", 50060, 0, 0, [0, 0])]].concat(),
            ..middle.overview
        },
        jobs,
        ..middle
    }
}

fn with_memory(ours: &str) -> String {
    let (before, after) = ours.split_once("(Heap Size is ").unwrap();
    let (sizes, after) = after.split_once(')').unwrap();
    let unit = |size: &str| size.ends_with("B") && size.contains(' ');
    assert!(sizes.split('/').all(unit) && sizes.split('/').count() == 2, "{sizes}");
    format!("{before}(Heap Size is 256 MB/256 MB){after}")
}

#[tokio::test]
async fn the_cluster_is_as_recorded() {
    let ours = end().get("/jobtracker.jsp").await;
    assert_eq!((ours.status.as_u16(), ours.kind.as_str()), (200, "text/html; charset=utf-8"));
    assert_same(recorded!("jobtracker.html"), &with_memory(&ours.body));
}

#[tokio::test]
async fn the_cluster_is_as_recorded_in_json() {
    for (state, theirs) in [(middle(), recorded!("jobtracker.json")), (end(), recorded!("jobtracker-completed.json"))] {
        let ours = state.get("/jobtracker.jsp?format=json").await;
        assert_eq!(ours.kind, "application/json; charset=utf-8");
        let (mut theirs, mut ours) = (json(theirs), json(&ours.body));
        for body in [&mut theirs, &mut ours] {
            for memory in ["usedHeapMemoryBytes", "totalHeapMemoryBytes"] {
                assert!(body["clusterSummary"][memory].take().is_u64());
            }
        }
        assert_eq!(ours, theirs);
    }
}

#[tokio::test]
async fn jobs_are_as_recorded() {
    let pages = [
        (middle(), "0001&refresh=0", recorded!("jobdetails-running.html")),
        (middle(), "0002", recorded!("jobdetails-failed.html")),
        (end(), "0004", recorded!("jobdetails-succeeded.html")),
        (end(), "0099", recorded!("job-unknown.html")),
    ];
    for (mut state, query, theirs) in pages {
        state.jobs.iter_mut().for_each(looked_up);
        let ours = state.get(&format!("/jobdetails.jsp?jobid=job_202611220350_{query}")).await;
        assert_eq!(ours.status.as_u16(), 200);
        assert_same(theirs, &ours.body);
    }
}

#[tokio::test]
async fn jobs_are_as_recorded_in_json() {
    let bodies = [
        ("?jobid=job_202611220350_0001&", 200, recorded!("jobdetails-running.json")),
        ("?jobid=job_202611220350_0002&", 200, recorded!("jobdetails-failed.json")),
        ("?jobid=job_202611220350_0004&", 200, recorded!("jobdetails-succeeded.json")),
        ("?jobid=job_202611220350_0099&", 404, recorded!("job-unknown.json")),
        ("?", 400, recorded!("job-missing.json")),
    ];
    let state = Recorded { jobs: vec![word_count_1(), fails(), word_count_2()], ..middle() };
    for (query, status, theirs) in bodies {
        let ours = state.get(&format!("/jobdetails.jsp{query}format=json")).await;
        assert_eq!(ours.status.as_u16(), status);
        assert_eq!(json(&ours.body), json(theirs), "{query}");
    }
}

fn maps_of_long_running() -> Vec<StockTask> {
    let task = |number: u32| StockTask {
        id: format!("task_202611220350_0003_m_{number:06}").parse().unwrap(),
        progress: if number < 4 { 1.0 } else { 0.0 },
        status: match number {
            0..4 => "Records R/W=51/1".to_owned(),
            _ => format!("file:/tmp/hadoop-mapred/input/part{}:0+255", number + 1),
        },
        start_ms: if number < 4 { at(51, 34) } else { at(51, 59) },
        finish_ms: if number < 4 { at(51, 59) } else { 0 },
        diagnostics: Vec::new(),
        counters: 13,
    };
    (0..6).map(task).collect()
}

#[tokio::test]
async fn lists_of_tasks_are_as_recorded() {
    let state = Recorded { tasks: maps_of_long_running(), ..middle() };
    let of = "/jobtasks.jsp?jobid=job_202611220350_0003&type=map";
    let page = state.get(&format!("{of}&pagenum=1&state=running")).await;
    assert_same(recorded!("jobtasks-running.html"), &page.body);
    let (mut ours, mut theirs) =
        (json(&state.get(&format!("{of}&format=json")).await.body), json(recorded!("jobtasks.json")));
    // Theirs counts back from 1970, in whole seconds of what it knows in ms.
    for body in [&mut ours, &mut theirs] {
        for task in body["tasksInfo"].as_array_mut().unwrap() {
            assert!(task["durationSecs"].take().is_i64());
        }
    }
    assert_eq!(ours, theirs);
    let beyond = state.get(&format!("{of}&pagenum=2&format=json")).await;
    assert_eq!((beyond.status.as_u16(), json(&beyond.body)), (404, json(recorded!("jobtasks-page2.json"))));
    assert!(state.get(&format!("{of}&pagenum=9")).await.body.contains("<b>No such tasks</b>"));
}

#[tokio::test]
async fn attempts_are_as_recorded() {
    let map = crate::web::stock::StockAttempt {
        counters: 15,
        ..attempt("attempt_202611220350_0001_m_000000_0", AttemptState::Succeeded, WORKER_1, at(50, 34))
    };
    let failed = |id: &str, worker| crate::web::stock::StockAttempt {
        counters: 8,
        diagnostics: vec![PIPE_FAILED.to_owned()],
        ..attempt(id, AttemptState::Failed, worker, at(51, 33))
    };
    let reduce = attempt("attempt_202611220350_0001_r_000000_0", AttemptState::Running, WORKER_1, at(50, 34));
    let done =
        attempt("attempt_202611220350_0004_r_000000_0", AttemptState::Succeeded, ("localhost", 50060), at(52, 53));
    let done =
        crate::web::stock::StockAttempt { counters: 13, shuffle_ms: done.start_ms, sort_ms: done.start_ms, ..done };
    let failures = [
        failed("attempt_202611220350_0002_m_000000_0", WORKER_2),
        failed("attempt_202611220350_0002_m_000000_1", WORKER_1),
        failed("attempt_202611220350_0002_m_000001_0", WORKER_2),
    ];
    let state = Recorded {
        jobs: vec![word_count_1(), fails(), word_count_2()],
        attempts: [vec![map, reduce, done], failures.to_vec()].concat(),
        split_nodes: vec!["/default-rack/localhost".to_owned()],
        ..middle()
    };
    let pages = [
        ("0001_m", recorded!("taskdetails-map.html")),
        ("0002_m", recorded!("taskdetails-failed.html")),
        ("0001_r", recorded!("taskdetails-reduce-running.html")),
        ("0004_r", recorded!("taskdetails-reduce-done.html")),
    ];
    for (task, theirs) in pages {
        let ours = state.get(&format!("/taskdetails.jsp?tipid=task_202611220350_{task}_000000")).await;
        assert_same(theirs, &ours.body);
    }
    let failures = "/jobfailures.jsp?jobid=job_202611220350_0002&kind=map&cause=failed";
    assert_same(recorded!("jobfailures.html"), &state.get(failures).await.body);
    let flaky = state.get("/jobblacklistedtrackers.jsp?jobid=job_202611220350_0002").await;
    assert_same(recorded!("jobblacklistedtrackers.html"), &flaky.body);
    let of_map = state.get("/taskdetails.jsp?tipid=task_202611220350_0001_m_000000&format=json").await;
    assert_eq!(json(&of_map.body), json(recorded!("taskdetails-map.json")));
    // No input: theirs is of a reduce.
    let state = Recorded { split_nodes: Vec::new(), ..state };
    let of_reduce = state.get("/taskdetails.jsp?tipid=task_202611220350_0004_r_000000&format=json").await;
    assert_eq!(json(&of_reduce.body), json(recorded!("taskdetails-reduce-done.json")));
}

#[tokio::test]
async fn counters_of_tasks_are_as_recorded() {
    let state = Recorded { counters: counters_of(recorded!("taskstats.json")), ..middle() };
    let page = state.get("/taskstats.jsp?tipid=task_202611220350_0001_m_000000").await;
    assert_same(recorded!("taskstats.html"), &page.body);
    let ours = state.get("/taskstats.jsp?attemptid=attempt_202611220350_0001_m_000000_0&format=json").await;
    assert_eq!(json(&ours.body), json(recorded!("taskstats.json")));
}

#[tokio::test]
async fn trackers_are_as_recorded() {
    for (kind, theirs) in [
        ("active", recorded!("machines-active.html")),
        ("blacklisted", recorded!("machines-blacklisted.html")),
        ("excluded", recorded!("machines-excluded.html")),
    ] {
        assert_same(theirs, &middle().get(&format!("/machines.jsp?type={kind}")).await.body);
    }
    // Theirs is an error.
    let all = middle().get("/machines.jsp").await;
    assert!(all.status.is_success() && all.body.contains("<h2>Task Trackers</h2>"), "{}", all.body);
}

#[tokio::test]
async fn queues_are_as_recorded() {
    for (name, theirs) in
        [("default", recorded!("jobqueue_details.html")), ("nope", recorded!("jobqueue_details-unknown.html"))]
    {
        assert_same(theirs, &middle().get(&format!("/jobqueue_details.jsp?queueName={name}")).await.body);
    }
}

#[tokio::test]
async fn questions_before_a_kill_are_as_recorded() {
    let kill = middle().get("/jobdetails.jsp?action=confirm&jobid=job_202611220350_0001").await;
    let titled = |page: &str| page.replace("<title>Are you sure?</title>", "");
    // Theirs has a second heading where the first should end.
    assert_same(&recorded!("confirm-kill.html").replace("?<h3>", "?"), &titled(&kill.body));
    let task = "attemptid=attempt_202611220350_0003_m_000000_0&tipid=task_202611220350_0003_m_000000";
    let ours = middle().get(&format!("/taskdetails.jsp?action=confirm&subaction=kill-task&{task}")).await;
    assert_same(&recorded!("confirm-task.html").replace("?<h3>", "?"), &titled(&ours.body));
}

#[tokio::test]
async fn pictures_have_the_shape_of_the_recorded_ones() {
    let graph = |tasks: usize, done: usize| StockGraph {
        tasks: tasks as u32,
        per_group: 1,
        groups: (0..tasks).map(|task| if task < done { [1.0, 0.0, 0.0] } else { [0.0; 3] }).collect(),
    };
    let long = StockJob { graphs: PerKind::new(graph(6, 4), graph(1, 0)), ..long_running() };
    let state = Recorded { jobs: vec![long], ..middle() };
    // Elements with their places; what is drawn with which style and colour is ours.
    let shapes = |svg: &str| -> Vec<String> {
        let elements = svg.lines().filter(|line| line.starts_with(['<']) && !line.starts_with("<?"));
        let place = |line: &str| {
            let attributes = line.split(' ').filter(|part| {
                ["<", "x", "y", "width", "height"].iter().any(|start| part.starts_with(start))
                    && !part.starts_with("xml")
            });
            attributes.map(|part| part.split('>').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
        };
        elements.map(place).collect()
    };
    for (kind, theirs) in [("map", recorded!("taskgraph-map.svg")), ("reduce", recorded!("taskgraph-reduce.svg"))] {
        let ours = state.get(&format!("/taskgraph?type={kind}&jobid=job_202611220350_0003")).await;
        assert_eq!(ours.kind, "image/svg+xml; charset=utf-8");
        similar_tokens(&shapes(theirs), &shapes(&ours.body));
    }
    assert_eq!(state.get("/taskgraph?type=map").await.body, "");
}

fn past_job(number: i32, name: &str, submit_ms: i64, log_name: &str) -> StockPastJob {
    let folder = "file:/var/log/hadoop/history/done/version-1/localhost_1795319408172_/2026/11/22/000000";
    let StockJob { id, user, .. } = job(number, name, RunState::Succeeded);
    let log_file = format!("{folder}/{id}_{log_name}");
    StockPastJob { id, name: name.to_owned(), user, submit_ms, log_file }
}

#[tokio::test]
async fn the_list_of_past_jobs_is_as_recorded() {
    let jobs = vec![
        past_job(4, "word count <2>", at(52, 53), "1795319573186_root_word%2Bcount%2B%253C2%253E"),
        past_job(2, "fails & ends", at(51, 33), "1795319493583_root_fails%2B%2526%2Bends"),
        past_job(1, "word count <1>", at(50, 33), "1795319433567_root_word%2Bcount%2B%253C1%253E"),
    ];
    let state = Recorded { past: StockPastJobs { jobs, total: 3 }, ..middle() };
    // Theirs has brackets that are no text, and elements between rows where none may be.
    let theirs = recorded!("jobhistoryhome.html").replace("<<!--", "&lt;<!--").replace("<center>\n<tr>", "<tr>");
    assert_same(&theirs, &state.get("/jobhistoryhome.jsp").await.body);
    let third = state.get("/jobhistoryhome.jsp?search=root:count;11/22/2026&pageno=3&scansize=1").await.body;
    let words = " jobs\n for user <b>root</b>\n with jobname having the keyword <b>count</b> in it.\n for the date <b>11/22/2026</b>";
    assert!(third.contains(words), "{third}");
    let all = state.get("/jobhistoryhome.jsp?pageno=-1").await.body;
    assert!(all.contains("lastPage : 1 -->\n1\n"), "all of them are one page: {all}");
    let asked = state.searched.lock().unwrap().clone();
    let (search, first, count) = &asked[1];
    assert_eq!(
        (search.user.as_deref(), &search.words, *first, *count),
        (Some("root"), &vec!["count".into()], 200, 100)
    );
    assert_eq!((asked[2].1, asked[2].2), (0, 10_000));
    let to_home = state.get("/jobhistory.jsp").await;
    assert_eq!((to_home.status.as_u16(), to_home.location.as_deref()), (302, Some("jobhistoryhome.jsp")));
    for (target, status) in [("pageno=x", 400), ("search=;yesterday", 400), ("search=%FF", 200), ("pageno=-9", 200)] {
        assert_eq!(state.get(&format!("/jobhistoryhome.jsp?{target}")).await.status.as_u16(), status, "{target}");
    }
}
