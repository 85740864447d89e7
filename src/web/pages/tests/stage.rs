//! A cluster of plain numbers, and a page of it as text.

use axum::body::to_bytes;
use axum::http::{HeaderMap, Uri};

use crate::api::{
    AttemptDetail, BoughtSlots, JobDetail, PendingReason, PlaceInLine, PolicyName, ReportedGroup, ReportedJob,
    SchedulerReport, TaskState,
};
use crate::engine::{ClusterSnapshot, Fact, JobSnapshot, LiveJob, MoneySnapshot, QueueSnapshot, TrackerSnapshot};
use crate::market::{LedgerTotals, MarketFact, Tick};
use crate::model::{AttemptState, FactNumber, JobId, Kind, PerKind, PerPool, Priority, RunState};
use crate::store::{FactBatch, LoadedState};
use crate::views::{ReadModel, Views};

use super::super::asked::Asked;
use super::super::page::Page;
use super::super::viewer::View;

/// When all of it is seen, epoch ms.
pub(crate) const NOW_MS: i64 = 1_700_000_060_000;

pub(crate) fn job_id(number: i32) -> JobId {
    format!("job_202611211200_{number:04}").parse().unwrap()
}

pub(crate) fn job(number: i32, name: &str, state: RunState) -> JobSnapshot {
    let is_over = !matches!(state, RunState::Prep | RunState::Running);
    JobSnapshot {
        id: job_id(number),
        name: name.to_owned(),
        user: "alice".to_owned(),
        queue: "alice".to_owned(),
        priority: Priority::Normal,
        state,
        submit_ms: NOW_MS - 50_000 - i64::from(number),
        finish_ms: is_over.then_some(NOW_MS - 8_000),
        tasks: PerKind::new(10, 1),
        finished: PerKind::new(4, 0),
        running: PerKind::new(if is_over { 0 } else { 3 }, 0),
        live: LiveJob::default(),
        cost: Some("12.7319".to_owned()),
        failure_info: if state == RunState::Failed { "JobCleanup Task Failure".to_owned() } else { String::new() },
    }
}

fn tracker(host: &str, healthy: bool) -> TrackerSnapshot {
    TrackerSnapshot {
        name: format!("tracker_{host}:localhost/127.0.0.1:4711"),
        worker: format!("rack/{host}"),
        host: host.to_owned(),
        rack: "/default-rack".to_owned(),
        http_port: 50_060,
        slots: PerKind::new(2, 1),
        running: PerKind::new(2, 0),
        silent_ms: 2_500,
        is_silent: false,
        is_draining: false,
        healthy,
        graylisted: false,
        is_short: false,
        complaints: if healthy { String::new() } else { "ERROR disk <full>".to_owned() },
        ..TrackerSnapshot::default()
    }
}

fn group(name: &str) -> ReportedGroup {
    ReportedGroup {
        name: name.to_owned(),
        parent: None,
        jobs: 1,
        running: PerKind::new(3, 0),
        held: PerKind::new(3, 0),
        waiting: PerKind::new(3, 1),
        capacity: None,
        pool: None,
        bought: Some(BoughtSlots {
            share: "0.731900000".to_owned(),
            quota: PerPool::new(2, 1, 0),
            rate: "1.0987".parse().unwrap(),
        }),
    }
}

fn reported(number: i32) -> ReportedJob {
    ReportedJob {
        job: job_id(number),
        name: "counts".to_owned(),
        user: "alice".to_owned(),
        queue: "alice".to_owned(),
        group: "alice".to_owned(),
        priority: Priority::Normal,
        state: "RUNNING".to_owned(),
        has_begun: true,
        submit_ms: NOW_MS - 50_000,
        tasks: PerKind::new(10, 1),
        finished: PerKind::new(4, 0),
        running: PerKind::new(3, 0),
        held: PerKind::new(3, 0),
        waiting: PerKind::new(3, 1),
        place: PerKind::new(Some(PlaceInLine { groups_before: 77, jobs_before: 0 }), None),
        held_back_by: vec![
            PendingReason::ReducesWait { maps_done: 4, maps_needed: 9 },
            PendingReason::NotFunded { budget: "2.5171".parse().unwrap(), bid: "1.0987".parse().unwrap() },
        ],
        capacity: None,
        pool: None,
        deadline: None,
    }
}

/// A market with a running and a failed job.
pub(crate) fn snapshot() -> ClusterSnapshot {
    let queue = QueueSnapshot {
        name: "alice".to_owned(),
        running: PerKind::new(3, 0),
        waiting: PerKind::new(3, 1),
        paused: None,
        share: Some("0.731900000".to_owned()),
        ..QueueSnapshot::default()
    };
    ClusterSnapshot {
        scheduler: "Dynamic Priority".to_owned(),
        start_ms: NOW_MS - 60_000,
        at_ms: NOW_MS,
        slots: PerKind::new(4, 2),
        running: PerKind::new(3, 0),
        waiting: PerKind::new(3, 1),
        running_jobs: 1,
        known_jobs: 2,
        jobs_accepted: 7,
        jobs_ended: [3, 1, 2],
        price: Some("1.5".to_owned()),
        money: Some(MoneySnapshot {
            balances: vec![("alice".to_owned(), "2.5171".parse().unwrap())],
            issued: "10.0171".parse().unwrap(),
            charged: "7.5".parse().unwrap(),
        }),
        report: SchedulerReport {
            policy: PolicyName::Dynamic,
            at_ms: NOW_MS,
            slots: PerKind::new(4, 2),
            groups: vec![group("alice")],
            jobs: vec![reported(2)],
            ..SchedulerReport::default()
        },
        queues: vec![QueueSnapshot { name: "<bob>".to_owned(), ..queue.clone() }, queue],
        jobs: vec![job(2, "word count", RunState::Running), job(1, "<script>alert('x')</script>", RunState::Failed)],
        trackers: vec![tracker("node1", true), tracker("node2", false)],
        ..ClusterSnapshot::default()
    }
}

pub(crate) fn public() -> View {
    View::of_snapshot(snapshot(), true, true)
}

pub(crate) fn private() -> View {
    View::of_snapshot(snapshot(), true, false)
}

pub(crate) fn asked(address: &str) -> Asked {
    Asked::of(&address.parse::<Uri>().unwrap(), &HeaderMap::new())
}

/// The body of a page.
pub(crate) async fn html(page: &Page, view: &View, address: &str) -> String {
    let answer = view.answer(page, &asked(address));
    String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

fn attempt(number: i32, state: AttemptState, from_ms: i64, to_ms: Option<i64>) -> AttemptDetail {
    AttemptDetail {
        attempt: job_id(1).task(Kind::Map, number).attempt(0),
        task: "map",
        state,
        is_preempted: false,
        tracker: "tracker_node1:localhost/127.0.0.1:4711".into(),
        launch_ms: from_ms,
        finish_ms: to_ms,
        shuffle_ms: None,
        sort_ms: None,
        slots: 1,
        diagnostics: Box::default(),
        status: Box::default(),
    }
}

/// Four maps done, a failed one with its words, one that runs, and four that wait.
pub(crate) fn detail() -> JobDetail {
    let submit_ms = job(1, "", RunState::Running).submit_ms;
    let mut attempts: Vec<AttemptDetail> = (0..4)
        .map(|number| attempt(number, AttemptState::Succeeded, submit_ms + 5_000, Some(submit_ms + 15_000)))
        .collect();
    let failed = attempt(4, AttemptState::Failed, submit_ms + 5_000, Some(submit_ms + 9_000));
    attempts.push(AttemptDetail { diagnostics: "uid 4711 is refused\nby the worker".into(), ..failed });
    attempts.push(attempt(5, AttemptState::Running, submit_ms + 20_000, None));
    let runs =
        vec![(TaskState::Succeeded, 4), (TaskState::Failed, 1), (TaskState::Running, 1), (TaskState::Waiting, 4)];
    JobDetail { runs: PerKind::new(runs, vec![(TaskState::Waiting, 1)]), attempts, attempts_left_out: 0, output: None }
}

/// Facts of a market with two accounts and its first tick.
pub(crate) fn market_views() -> Views {
    market_views_of("12.5")
}

/// With this balance of alice, who bids 1.
pub(crate) fn market_views_of(balance: &str) -> Views {
    let account = |queue: &str, balance: &str, rate: &str| MarketFact::Account {
        queue: queue.parse().unwrap(),
        balance: balance.parse().unwrap(),
        rate: rate.parse().unwrap(),
    };
    let tick = Tick {
        number: 1,
        wall_ms: NOW_MS - 10_000,
        interval_ms: 20_000,
        price: "1.5".parse().unwrap(),
        ledger: LedgerTotals::default(),
        queue_ticks: Vec::new(),
        laid: Vec::new(),
    };
    let facts = vec![account("alice", balance, "1"), account("bob", "9", "0.5"), tick.into_fact()];
    let mut model = ReadModel::load(&LoadedState::default(), 9);
    let facts = facts.into_iter().map(Fact::Market).collect();
    model.apply(&FactBatch { first: FactNumber(1), facts }).unwrap();
    model.views().clone()
}
