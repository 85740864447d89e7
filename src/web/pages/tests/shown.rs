//! What pages show.

use std::collections::BTreeSet;

use axum::http::StatusCode;

use crate::api::{
    BoughtSlots, CounterSpread, JobCounter, JobEvent, LiveAttempt, MovementReason, PriceHistory, PricePoint,
    ReportedGroup, Statement, StatementRow,
};
use crate::engine::{ContainersSnapshot, JobSnapshot, QueueSnapshot};
use crate::market::{ContainerUse, Role};
use crate::model::{Credits, Kind, PerKind, RunState};
use crate::views::{QueueSample, Sample, Samples, Views};
use crate::web::pages::asked::Asked;
use crate::web::pages::attempt_rows::{attempt_page, task_page, tasks_page, timeline_page};
use crate::web::pages::block::{Block, Column, Section, Table};
use crate::web::pages::error::Refused;
use crate::web::pages::job::{job_page, waits_picture};
use crate::web::pages::job_filter::JobFilter;
use crate::web::pages::job_records::{conf_page, counters_page, events_page};
use crate::web::pages::overview::{OverviewJobs, overview_page};
use crate::web::pages::page::Page;
use crate::web::pages::piece::{Piece, iso_text};
use crate::web::pages::search::{SearchResult, search};
use crate::web::pages::viewer::View;
use crate::web::pages::{health, jobs, market, policy, queues, workers};
use crate::web::pictures::Mark;
use crate::web::viewer::Viewer;

use super::stage::{
    NOW_MS, asked, detail, html, job, job_id, market_views, market_views_of, private, public, snapshot,
};

pub(super) fn prices() -> PriceHistory {
    let point = |tick, time_ms, price: &str| PricePoint::of(tick, time_ms, price.parse().unwrap());
    PriceHistory { step_ms: 10_000, points: vec![point(1, NOW_MS - 40_000, "1.25"), point(2, NOW_MS - 20_000, "1.5")] }
}

fn live() -> Vec<LiveAttempt> {
    let attempt = |number: i32, queue: &str| LiveAttempt {
        attempt: job_id(2).task(Kind::Map, number).attempt(0),
        user: "alice".into(),
        queue: queue.into(),
        tracker: "tracker_node1:localhost/127.0.0.1:4711".into(),
        launch_ms: NOW_MS - 1_000,
        slots: 1,
    };
    vec![attempt(0, "alice"), attempt(1, "<bob>")]
}

/// Every page of a view, with its address.
async fn pages(view: &View) -> Vec<(String, Page)> {
    let (running, failed) =
        (job(2, "word count", RunState::Running), job(1, "<script>alert('x')</script>", RunState::Failed));
    let both = || (vec![running.clone(), failed.clone()], 0);
    let overview = OverviewJobs { live: (vec![running.clone()], 0), ended: (vec![failed.clone()], 0) };
    let task = job_id(1).task(Kind::Map, 4);
    let mut pages = vec![
        ("/".to_owned(), overview_page(view, "myhost", &overview, Some(&prices()))),
        ("/jobs".to_owned(), jobs::jobs_page(view, &mut asked("/jobs?sort=name"), "", &JobFilter::default(), both())),
        ("/users".to_owned(), jobs::users_page(&both().0, 0)),
        ("/users/alice".to_owned(), jobs::user_page(view, "alice", both()).unwrap()),
        ("/queues".to_owned(), queues::queues_page(view)),
        ("/queues/alice".to_owned(), queues::queue_page(view, "alice", both(), Some(&statement())).unwrap()),
        (
            "/market".to_owned(),
            market::market_page(view, &mut asked("/market?rate=0.5"), &prices(), NOW_MS - 60_000).await.unwrap(),
        ),
        ("/policy".to_owned(), policy::policy_page(view, &asked("/policy"))),
        ("/workers".to_owned(), workers::workers_page(view)),
        ("/workers/rack%2Fnode1".to_owned(), workers::worker_page(view, "rack/node1", &live()).unwrap()),
        ("/slots".to_owned(), workers::slots_page(view, &mut asked("/slots"), &live()).unwrap()),
        ("/health".to_owned(), health::health_page(view)),
        ("/reports/users".to_owned(), health::private_report_page("users")),
        (format!("/tasks/{task}"), task_page(view, task, &failed, &detail()).unwrap()),
        (format!("/attempts/{}", task.attempt(0)), attempt_page(view, task.attempt(0), &failed, &detail()).unwrap()),
        ("/x".to_owned(), Refused::unknown("job", "<x>", None).page()),
    ];
    for job in [&running, &failed] {
        pages.push((format!("/jobs/{}", job.id), job_page(view, job, &Ok(detail()))));
        let address = format!("/jobs/{}/tasks", job.id);
        let page = tasks_page(view, &mut asked(&address), job, &detail()).unwrap();
        pages.push((address, page));
        let address = format!("/jobs/{}/timeline", job.id);
        let page = timeline_page(view, &mut asked(&address), job, &detail()).unwrap();
        pages.push((address, page));
        pages.extend(record_pages(job));
    }
    pages
}

/// Three movements: 20, charged to 7.7319, topped up to 2.5171 more.
fn statement() -> Statement {
    let row = |number: u64, ago_ms: i64, amount: &str, balance: &str| StatementRow {
        number,
        time_ms: NOW_MS - ago_ms,
        day: None,
        movements: 1,
        tick: number,
        reason: MovementReason::Charge,
        rate: None,
        interval_ms: None,
        map_slot_ms: None,
        reduce_slot_ms: None,
        container_slot_ms: None,
        map_slots: None,
        reduce_slots: None,
        container_slots: None,
        other_queue: None,
        by: None,
        note: None,
        amount: amount.parse().unwrap(),
        balance: Some(balance.parse().unwrap()),
    };
    let rows = vec![row(1, 60_000, "20", "20"), row(2, 40_000, "1", "7.7319"), row(3, 20_000, "1", "10.249")];
    Statement { queue: "alice".parse().unwrap(), balance: "10.249".parse().unwrap(), rows, has_earlier: false }
}

#[test]
fn a_queue_shows_its_balance_over_time_and_when_it_ends() {
    let view = public().with_views(market_views());
    let page = queues::queue_page(&view, "alice", (Vec::new(), 0), Some(&statement())).unwrap();
    let money = format!("{:?}", page.sections.iter().find(|section| section.id == "money").unwrap());
    for part in [
        "Balance: 10.249 now, 20.0 at most of what is shown",
        "name: \"burn_down\"",
        // 12.5 at a bid of 1 for the 5 slots that it buys, from the next tick on.
        &iso_text(NOW_MS + 10_000 + 50_000),
    ] {
        assert!(money.contains(part), "{part}: {money}");
    }
    let hidden = private().with_views(market_views());
    let page = queues::queue_page(&hidden, "alice", (Vec::new(), 0), Some(&statement())).unwrap();
    assert!(!format!("{:?}", page.sections).contains("burn_down"));
}

fn counter(id: &str, value: i64) -> JobCounter {
    JobCounter {
        group: "Map-Reduce Framework".to_owned(),
        group_id: "org.apache.hadoop.mapred.Task$Counter".to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        value,
        tasks: CounterSpread::of(vec![1, value]),
    }
}

fn conf(name: &str) -> Vec<(String, String)> {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    vec![pair("a.same", "1"), pair("b.name", name), pair("c.<same>", "<script>alert(1)</script>")]
}

/// Counters, configuration and events of a job, alone and beside another.
fn record_pages(job: &JobSnapshot) -> Vec<(String, Page)> {
    let asked = |part: &str| asked(&format!("/jobs/{}/{part}", job.id));
    let counters = [counter("A", 100), counter("B", 40), counter("ONLY_HERE", 1)];
    let theirs = vec![counter("A", 101), counter("B", 4)];
    let event = JobEvent {
        number: 3,
        attempt: job.id.task(Kind::Map, 1).attempt(0),
        task: "map",
        status: "SUCCEEDED",
        tracker: "http://node1:50060".to_owned(),
        run_time_ms: 61_000,
    };
    let page = |part: &str, page| (format!("/jobs/{}/{part}", job.id), page);
    vec![
        page("counters", counters_page(&asked("counters"), job, &counters, &None)),
        page("counters", counters_page(&asked("counters"), job, &counters, &Some((job_id(7), theirs)))),
        page("conf", conf_page(&asked("conf"), job, &conf("x"), &None)),
        page("conf", conf_page(&asked("conf"), job, &conf("x"), &Some((job_id(7), conf("y"))))),
        page("events", events_page(&asked("events"), job, 3, &[event])),
    ]
}

#[tokio::test]
async fn what_differs_from_another_job_comes_first() {
    let view = public();
    let job = job(2, "n", RunState::Running);
    let pages = record_pages(&job);
    let [_, (_, counters), _, (_, conf), (_, events)] = &pages[..] else { panic!("five pages") };
    let lines =
        async |page: &Page| html(page, &view, "/x?format=csv").await.lines().map(str::to_owned).collect::<Vec<_>>();
    let counters = lines(counters).await;
    assert_eq!(
        counters[1..],
        [
            "ONLY_HERE,\"Map-Reduce Framework\",1,–,1",
            "B,\"Map-Reduce Framework\",40,4,36",
            "A,\"Map-Reduce Framework\",100,101,-1",
        ]
    );
    let conf = lines(conf).await;
    assert_eq!(conf[1..], ["b.name,differs,x,y", "a.same,same,1,1", &conf[3]]);
    let events = html(events, &view, "/x").await;
    assert!(
        events.contains("/attempts/attempt_202611211200_0002_m_000001_0") && events.contains("Earlier"),
        "{events}"
    );
}

#[tokio::test]
async fn every_page_has_one_heading_landmarks_named_pictures_and_no_markup_of_clients() {
    let view = public();
    for (address, page) in pages(&view).await {
        let html = html(&page, &view, &address).await;
        for part in [
            "<html lang=\"en\">",
            "<main id=\"main\"",
            "href=\"#main\"",
            "<nav aria-label=\"Pages\">",
            "data-generation=\"12.3\"",
            "</html>",
        ] {
            assert!(html.contains(part), "{address} lacks {part}: {html}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{address}");
        assert!(
            !html.contains("<script>alert") && !html.contains("<bob>") && !html.contains(" style="),
            "{address}: {html}"
        );
        assert_eq!(html.matches("<table").count(), html.matches("<caption>").count(), "{address}");
        let ids: Vec<&str> = html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{address}: {ids:?}");
        for rest in html.split("aria-labelledby=\"").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(ids.contains(&name), "{address}: {name} names nothing");
        }
        for tag in ["section", "figure", "table", "details", "svg", "ul", "dl", "p", "bdi", "span"] {
            let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{address}: {tag}");
        }
    }
}

#[tokio::test]
async fn where_access_lists_are_on_no_page_names_what_runs() {
    let pages_of = |view: &View| {
        [
            ("/workers/x", workers::worker_page(view, "rack/node1", &live()).unwrap()),
            ("/slots", workers::slots_page(view, &mut asked("/slots"), &live()).unwrap()),
        ]
    };
    let (open, closed) = (public(), public().seen_by(|_| Viewer::stranger(true, true)));
    for ((address, shown), (_, hidden)) in pages_of(&open).into_iter().zip(pages_of(&closed)) {
        let (shown, hidden) = (html(&shown, &open, address).await, html(&hidden, &closed, address).await);
        let id = job_id(2).to_string().replace("job_", "");
        assert!(shown.contains(&id) && !hidden.contains(&id), "{address}: {hidden}");
        assert!(hidden.contains("not open to this request"), "{address}: {hidden}");
    }
}

/// The tables of all sections of a page.
async fn all_csv(page: &Page, view: &View, address: &str) -> String {
    let mut all = String::new();
    for section in page.sections.iter().filter(|section| section.table().is_some()) {
        all += &html(page, view, &format!("{address}?format=csv&part={}", section.id)).await;
    }
    all
}

#[tokio::test]
async fn each_table_has_an_address_of_its_lines() {
    let table =
        |caption, head| Block::Table(Table::new(caption, vec![Column::text(head)], vec![vec![vec![Piece::text("x")]]]));
    let page = Page {
        sections: vec![
            Section::new("words", "Words", vec![Block::line("none here")]),
            Section::new("first", "The first", vec![table("one", "One")]),
            Section::new("second", "The second", vec![table("two", "Two")]),
        ],
        ..Page::default()
    };
    let view = public();
    let shown = html(&page, &view, "/x").await;
    for link in [
        r#"<a href="/x?format=csv">CSV: The first</a>"#,
        r#"<a href="/x?format=csv&#38;part=second">CSV: The second</a>"#,
    ] {
        assert!(shown.contains(link), "{shown}");
    }
    for (address, expected) in
        [("/x?format=csv", "One"), ("/x?format=csv&part=main", "One"), ("/x?format=csv&part=second", "Two")]
    {
        assert_eq!(html(&page, &view, address).await.lines().next(), Some(expected), "{address}");
    }
    assert!(html(&page, &view, "/x?format=csv&part=words").await.contains("no such table"));
}

/// In CSV a number stands as it is, whatever form it has on the page.
#[tokio::test]
async fn heads_of_csv_name_the_units_of_its_numbers() {
    let report = serde_json::from_value(serde_json::json!({
        "report": "users",
        "rows": [{
            "user": "alice", "jobs": 1, "map_slot_seconds": 3600, "reduce_slot_seconds": 7200, "waited_s": 5,
            "failed": 0, "charged": "0",
        }],
    }));
    let report = report.unwrap();
    let mut pages = pages(&public()).await;
    pages.push(("/reports/users".to_owned(), health::report_page(&report)));
    let mut named = BTreeSet::new();
    for (address, page) in &pages {
        let tables = page.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        for (column, cell) in tables.flat_map(|table| table.rows.iter().flat_map(|row| table.columns.iter().zip(row))) {
            let head = column.head_in_csv();
            for metric in cell.iter().filter_map(|piece| match piece {
                Piece::Number { metric, .. } => Some(*metric),
                _ => None,
            }) {
                assert_eq!(metric.ends_with("_ms"), head.ends_with(", ms"), "{address}: {head}: {metric}");
                assert_eq!(metric.ends_with("_seconds"), head.ends_with(" seconds"), "{address}: {head}: {metric}");
                named.extend(metric.ends_with("_ms").then_some(head));
            }
        }
    }
    assert!(named.len() >= 4, "{named:?}");
}

#[tokio::test]
async fn a_private_market_shows_no_share_no_rate_no_balance_and_no_cost_on_any_page() {
    let (private, public) = (private(), public());
    let secrets = ["7319", "1.0987", "2.5171", "10.0171", "12.7319", "77 other", "less than one slot costs"];
    let mut found = BTreeSet::new();
    for ((address, closed), (_, open)) in pages(&private).await.into_iter().zip(pages(&public).await) {
        let text = html(&closed, &private, &address).await;
        let csv = all_csv(&closed, &private, &address).await;
        let shown = html(&open, &public, &address).await;
        for secret in secrets {
            assert!(!text.contains(secret) && !csv.contains(secret), "{address} shows {secret}");
            if shown.contains(secret) {
                found.insert(secret);
            }
        }
    }
    assert_eq!(found.len(), secrets.len(), "a public one shows all: {found:?}");
}

#[tokio::test]
async fn a_failed_job_begins_with_the_words_of_its_first_failed_attempt() {
    let view = private();
    let page = html(&job_page(&view, &job(1, "n", RunState::Failed), &Ok(detail())), &view, "/jobs/x").await;
    let (words, hadoop) = (page.find("uid 4711 is refused").unwrap(), page.find("JobCleanup Task Failure").unwrap());
    assert!(words < hadoop && words < page.find("id=\"now\"").unwrap(), "{page}");
    assert!(
        page.contains("data-picture=\"grid\"") && page.contains("4 of 10 maps done, 1 running, 4 waiting, 1 failed")
    );
    let closed =
        html(&job_page(&view, &job(1, "n", RunState::Failed), &Err("User  cannot".to_owned())), &view, "/jobs/x").await;
    assert!(!closed.contains("uid 4711") && closed.contains("Not open to this request"), "{closed}");
}

#[tokio::test]
async fn a_waiting_job_says_why_in_the_words_of_explain() {
    let running = job(2, "n", RunState::Running);
    let public = public();
    let page = html(&job_page(&public, &running, &Ok(detail())), &public, "/jobs/x").await;
    for sentence in [
        "Its reduces wait until 9 maps are done; 4 are.",
        "Its queue has bought 2 map slots and holds 3; more come only from what others leave free.",
        "77 other queues or pools stand before its own in line for map slots.",
    ] {
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
}

#[test]
fn where_the_time_went_covers_all_of_it() {
    let job = job(1, "n", RunState::Running);
    let picture = waits_picture(&public(), &job, &detail()).unwrap();
    let spans: Vec<(&str, i64)> = picture.rows.iter().map(|row| (&*row[1], row[3].parse().unwrap())).collect();
    let all = (NOW_MS - job.submit_ms) / 1_000;
    assert_eq!(
        spans[..3],
        [("waits: not sampled", 5), ("some run, some wait: not sampled", 10), ("waits: not sampled", 5)]
    );
    assert_eq!(spans.iter().map(|(_, seconds)| seconds).sum::<i64>(), all);
    let boxes: Vec<f64> = picture
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Box { width, .. } => Some(width.0),
            _ => None,
        })
        .collect();
    assert!((boxes[1] / boxes[0] - 2.0).abs() < 0.001, "{boxes:?}");
}

#[tokio::test]
async fn a_part_is_the_section_of_the_page_and_a_tag_saves_sending_it_again() {
    let view = public();
    let page = queues::queues_page(&view);
    let whole = html(&page, &view, "/queues").await;
    let part = html(&page, &view, "/queues?part=queues").await;
    assert!(part.starts_with("<section id=\"queues\"") && whole.contains(part.trim()), "{part}");
    let answer = view.answer(&page, &asked("/queues?part=queues"));
    let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
    let known = format!("\"another\", W/{tag}").parse().unwrap();
    let uri = "/queues?part=queues".parse().unwrap();
    let again = Asked::of(&uri, &[(axum::http::header::IF_NONE_MATCH, known)].into_iter().collect());
    assert_eq!(view.answer(&page, &again).status(), StatusCode::NOT_MODIFIED);
    assert_eq!(view.answer(&page, &asked("/queues?part=x")).status(), StatusCode::NOT_FOUND);
    // An open page shows another heading, and looks no more once it does not change.
    for (refresh_s, refresh) in [(3, "data-refresh=\"3\""), (0, "data-refresh=\"0\"")] {
        let page = Page { refresh_s, ..page.clone() };
        let part = html(&page, &view, "/queues?part=main").await;
        let heading = format!("<h1 data-title=\"{}\">", page.title);
        assert!(part.contains(refresh) && part.contains(&heading), "{part}");
    }
    let notice = html(&page, &view, "/queues?nonsense=1").await;
    assert!(notice.contains("This page has no parameter nonsense."), "{notice}");
}

#[tokio::test]
async fn what_containers_hold_and_want_is_on_the_pages_of_slots() {
    let mut overview = snapshot();
    overview.running = PerKind::default();
    overview.trackers.truncate(1);
    overview.containers = Some(ContainersSnapshot { held_slots: 6, waiting: 44, ..ContainersSnapshot::default() });
    overview.queues.iter_mut().for_each(|queue| queue.containers = ContainerUse { held: 3, wanted: 22 });
    let view = View::of_snapshot(overview, false, false);
    let start = overview_page(&view, "myhost", &OverviewJobs::default(), None);
    assert!(start.title.starts_with("0 of 6 slots in use by tasks, 6 by containers"), "{}", start.title);
    let queues = queues::queues_page(&view);
    assert!(queues.title.ends_with("tasks and 44 containers wait"), "{}", queues.title);
    let alice = queues::queue_page(&view, "alice", (Vec::new(), 0), None).unwrap();
    assert!(alice.title.starts_with("6 slots used, 4 tasks and 22 containers wait"), "{}", alice.title);
    for (page, column) in [(&queues, "Slots in containers"), (&workers::workers_page(&view), "Containers</th>")] {
        let html = html(page, &view, page.entry).await;
        assert!(html.contains(column) && !html.contains("No slot is in use"), "{column}: {html}");
    }
}

#[test]
fn a_queue_that_gets_nothing_bids_nothing_or_has_too_little_for_its_bid() {
    let mut unpaid = snapshot();
    unpaid
        .report
        .groups
        .iter_mut()
        .filter_map(|group| group.bought.as_mut())
        .for_each(|bought| bought.rate = Credits::ZERO);
    unpaid.report.jobs.iter_mut().for_each(|job| job.held_back_by.clear());
    let why = |views: Views| {
        let view = View::of_snapshot(unpaid.clone(), true, true).with_views(views);
        let page = job_page(&view, &job(2, "word count", RunState::Running), &Ok(detail()));
        format!("{:?}", page.sections.iter().find(|section| section.id == "why").unwrap())
    };
    assert!(why(Views::default()).contains("Its queue bids nothing"));
    let poor = why(market_views_of("0.5"));
    assert!(poor.contains("less than one slot costs at its rate of 1.0") && !poor.contains("bids nothing"), "{poor}");
}

#[tokio::test]
async fn the_first_page_has_the_slots_of_the_last_hour_by_queue() {
    let sample = |ago_ms, alice| Sample {
        time_ms: NOW_MS - ago_ms,
        slots: PerKind::new(4, 2),
        used: PerKind::new(alice, 0),
        queues: vec![QueueSample { queue: "alice".into(), used: alice.into(), waiting: 0 }],
        ..Sample::default()
    };
    let of = |samples: Vec<Sample>| public().with_samples(Samples::of(samples, Vec::new()));
    let view = of(vec![sample(7_200_000, 6), sample(20_000, 5), sample(10_000, 3)]);
    let page = html(&overview_page(&view, "myhost", &OverviewJobs::default(), None), &view, "/").await;
    // What is older than an hour is left out.
    assert!(page.contains("Slots in use by queue, last hour: 3 of 6 now, 5 at most"), "{page}");
    assert!(page.contains("data-picture=\"slots_over_time\"") && page.contains("alice 5"), "{page}");
    let view = of(vec![sample(10_000, 3)]);
    let page = html(&overview_page(&view, "myhost", &OverviewJobs::default(), None), &view, "/").await;
    assert!(!page.contains("slots_over_time"), "one sample is no line: {page}");
}

#[test]
fn a_search_leads_to_what_has_the_name() {
    let view = private();
    let jobs = snapshot().jobs;
    let address = |text: &str| match search(&view, text, &jobs) {
        SearchResult::Address(address) => address,
        SearchResult::Page(page) => page.title,
    };
    assert_eq!(address("job_202611211200_0002"), "/jobs/job_202611211200_0002");
    assert_eq!(address("attempt_202611211200_0002_m_000001_0"), "/attempts/attempt_202611211200_0002_m_000001_0");
    assert_eq!(address("task_202611211200_0002_m_000001"), "/tasks/task_202611211200_0002_m_000001");
    assert_eq!(address("rack/node1"), "/workers/rack%2Fnode1");
    assert_eq!(address("alice"), "/queues/alice");
    assert_eq!(address("WORD"), "1 found");
    assert_eq!(address(""), "0 found");
}

#[test]
fn a_page_that_the_policy_has_not_says_so() {
    let refused = policy::deadlines_page(&private()).unwrap_err();
    assert_eq!((refused.status, &*refused.title), (StatusCode::NOT_FOUND, "There are no deadlines now"));
    assert!(refused.detail.contains("dynamic policy rules"), "{}", refused.detail);
    assert_eq!(refused.try_commands[1], "jobtracker scheduler use constraint");
}

/// A market of these queues, each with a share, seen by bob.
fn seen_by_bob(queues: &[(&str, &str)]) -> View {
    let mut cluster = snapshot();
    let (queue, group) = (cluster.queues[1].clone(), cluster.report.groups[0].clone());
    cluster.queues = queues
        .iter()
        .map(|(name, share)| QueueSnapshot {
            name: (*name).to_owned(),
            share: Some((*share).to_owned()),
            ..queue.clone()
        })
        .collect();
    cluster.report.groups = queues
        .iter()
        .map(|(name, share)| {
            let bought = group.bought.clone().map(|bought| BoughtSlots { share: (*share).to_owned(), ..bought });
            ReportedGroup { name: (*name).to_owned(), bought, ..group.clone() }
        })
        .collect();
    let money = cluster.money.as_mut().unwrap();
    money.balances.push(("bob".to_owned(), "3.1416".parse().unwrap()));
    View::of_snapshot(cluster, true, false).seen_by(|viewer| viewer.signed_in_as("bob", Role::User))
}

#[tokio::test]
async fn who_has_signed_in_sees_what_is_that_users_own_and_no_more() {
    let view = seen_by_bob(&[("alice", "0.731900000"), ("bob", "0.268100000")]);
    let mut shown = String::new();
    for (address, page) in pages(&view).await {
        let text = html(&page, &view, &address).await + &all_csv(&page, &view, &address).await;
        for secret in ["7319", "732", "2.5171", "10.0171", "12.7319", "77 other", "less than one slot costs"] {
            assert!(!text.contains(secret), "{address} shows {secret}: {text}");
        }
        assert!(text.contains("href=\"/users/bob\">Me</a>"), "{address}");
        assert!(text.contains("<form class=\"session\" method=\"post\" action=\"/session/end\"><bdi>bob</bdi>"));
        shown += &text;
    }
    assert!(shown.contains("0.268100000") && shown.contains("3.1416") && shown.contains("1.0987"), "its own");
    assert!(!shown.contains("other queues</"), "with one other queue the sum is that queue's own");
    assert!(!shown.contains("Sign in") && shown.contains("private"));
}

#[tokio::test]
async fn the_shares_of_several_others_are_shown_as_one() {
    let market = async |view: &View| {
        html(
            &market::market_page(view, &mut asked("/market"), &prices(), NOW_MS - 60_000).await.unwrap(),
            view,
            "/market",
        )
        .await
    };
    let three = seen_by_bob(&[("alice", "0.300000000"), ("bob", "0.268000000"), ("carol", "0.432000000")]);
    let page = market(&three).await;
    assert!(page.contains("<td>other queues</td>") && page.contains("732") && page.contains("268"), "{page}");
    assert!(!page.contains("<td>carol</td>") && !page.contains("432"), "{page}");
    let idle = seen_by_bob(&[("alice", "0.732000000"), ("bob", "0.268000000"), ("carol", "0.000000000")]);
    let page = market(&idle).await;
    assert!(!page.contains("other queues</td>") && !page.contains("732"), "a queue without a share hides none: {page}");
}

#[tokio::test]
async fn an_administrator_sees_all_and_a_stranger_is_sent_to_sign_in() {
    let administered = private().seen_by(|viewer| viewer.signed_in_as("root", Role::Admin));
    let all = pages(&administered).await;
    let mut shown = String::new();
    for (address, page) in &all {
        shown += &html(page, &administered, address).await;
    }
    for secret in ["7319", "1.0987", "2.5171", "10.0171", "12.7319", "77 other"] {
        assert!(shown.contains(secret), "{secret}");
    }
    let view = private();
    for (address, page) in pages(&view).await {
        let text = html(&page, &view, &address).await;
        assert!(!text.contains("Sign out") && !text.contains(">Me<"), "{address}");
        if ["/market", "/queues", "/policy"].contains(&&*address) {
            assert!(text.contains(&format!("Sign in: <code>jobtracker open {address}</code>")), "{address}: {text}");
        }
    }
}

#[tokio::test]
async fn who_may_keep_a_page_depends_on_who_looks() {
    let header = |view: &View, name: &str| {
        let answer = view.answer(&queues::queues_page(view), &asked("/queues"));
        answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
    };
    let (stranger, bob) = (private(), private().seen_by(|viewer| viewer.signed_in_as("bob", Role::User)));
    let alice = private().seen_by(|viewer| viewer.signed_in_as("alice", Role::User));
    assert_eq!(header(&stranger, "cache-control").as_deref(), Some("no-cache"));
    assert_eq!(header(&bob, "cache-control").as_deref(), Some("private, no-cache"));
    for view in [&stranger, &bob, &alice] {
        assert_eq!(header(view, "vary").as_deref(), Some("Accept, Accept-Encoding, Cookie"));
    }
    let tags: BTreeSet<_> = [&stranger, &bob, &alice].map(|view| header(view, "etag")).into();
    assert_eq!(tags.len(), 3, "each sees another page");
}
