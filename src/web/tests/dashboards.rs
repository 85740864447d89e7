//! Dashboards and alerts name only what a scrape has, metrics and labels; each says what is bad and what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::super::owner::{OwnWork, UsedLimit};
use crate::api::{BoughtSlots, PolicyName, ReportedGroup};
use crate::engine::{
    ClusterSnapshot, ContainersSnapshot, Decided, Decision, Fact, MoneySnapshot, Preempted, QueueSnapshot, Victim,
};
use crate::latency::LatencyCounts;
use crate::market::{Charge, LedgerTotals, MarketFact, QueueTick, Tick};
use crate::model::{FactNumber, PerKind, PerPool};
use crate::store::{FactBatch, LoadedState};
use crate::views::{ReadModel, Shown};
use crate::web::owner::Health;

use super::{Scrape, WorkMetrics};

const DASHBOARDS: [&str; 2] =
    [include_str!("../../../etc/grafana/jobtracker.json"), include_str!("../../../etc/grafana/jobtracker-market.json")];
const RULES: &str = include_str!("../../../etc/prometheus/jobtracker.rules.yml");
const GUIDE: &str = include_str!("../../../docs/operate.md");
/// Labels that the scraper adds, and those of histograms.
const OTHER_LABELS: [&str; 3] = ["instance", "job", "le"];

/// A scrape of a public market with containers and a tick.
fn scrape(shows_money: bool) -> String {
    let account = MarketFact::Account {
        queue: "alice".parse().unwrap(),
        balance: "7319.5".parse().unwrap(),
        rate: "3.25".parse().unwrap(),
    };
    let paid = QueueTick {
        queue: "alice".parse().unwrap(),
        charge: Charge { rate: "3.25".parse().unwrap(), interval_ms: 20_000, slot_ms: PerPool::new(40_000, 4_000, 0) },
        graces: Vec::new(),
        balance: "7319.5".parse().unwrap(),
        interval: None,
        in_vain: PerKind::default(),
        flickers: 0,
    };
    let tick = Tick {
        number: 4,
        wall_ms: 1_000_000,
        interval_ms: 20_000,
        price: "3.25".parse().unwrap(),
        ledger: LedgerTotals::default(),
        queue_ticks: vec![paid],
        laid: Vec::new(),
    };
    let mut model = ReadModel::load(&LoadedState::default(), 9);
    let preempted = Preempted {
        victim: Victim::Attempt("attempt_1_0001_m_000002_0".parse().unwrap()),
        queue: "bob".into(),
        worker: "w1".into(),
        slots: 2,
        rate: None,
        age_ms: 9_000,
        lost_ms: 8_250,
        claimants: Vec::new().into(),
    };
    let decided = Decision { at_ms: 1_000_500, what: Decided::Preempted(preempted) };
    let facts = vec![Fact::Market(account), Fact::Market(tick.into_fact()), Fact::Decided(Box::new(decided))];
    model.apply(&FactBatch { first: FactNumber(1), facts }).unwrap();
    let mut overview = ClusterSnapshot {
        at_ms: 1_050_000,
        price: Some("3.25".to_owned()),
        money: Some(MoneySnapshot {
            balances: vec![("alice".to_owned(), "7319.5".parse().unwrap())],
            issued: "8000".parse().unwrap(),
            charged: "680.5".parse().unwrap(),
        }),
        containers: Some(ContainersSnapshot::default()),
        orders: Some([1, 2, 3, 4]),
        deadlines: Some([5, 6, 7]),
        queues: vec![QueueSnapshot {
            name: "alice".to_owned(),
            running: PerKind::new(2, 0),
            share: Some("1.000000000".to_owned()),
            ..QueueSnapshot::default()
        }],
        ..ClusterSnapshot::default()
    };
    overview.report.policy = PolicyName::Dynamic;
    overview.report.groups = vec![ReportedGroup {
        name: "alice".to_owned(),
        parent: None,
        jobs: 1,
        running: PerKind::new(2, 0),
        held: PerKind::new(2, 0),
        waiting: PerKind::default(),
        capacity: None,
        pool: None,
        bought: Some(BoughtSlots {
            share: "1.000000000".to_owned(),
            quota: PerPool::new(4, 1, 0),
            rate: "3.25".parse().unwrap(),
        }),
    }];
    let overview = Arc::new(overview);
    let shown = Shown { views: model.views().clone(), overview: overview.clone(), ..Shown::default() };
    let health = Health {
        is_alive: true,
        is_ready: true,
        at_ms: 1_052_500,
        budgets: Some(Default::default()),
        ..Health::default()
    };
    let usage = crate::process_stat::ProcessStat::of_this_process();
    let mut times = LatencyCounts::default();
    [200, 1_500, 70_000].into_iter().for_each(|us| times.add(Duration::from_micros(us)));
    let own = OwnWork {
        heartbeats: times,
        commits: times,
        facts_waiting: 12,
        reloads_done: 2,
        reloads_failed: 1,
        limits: vec![UsedLimit { name: "rpc_connections", used: 9_500, most: 10_000 }],
        max_tasks: Some(4_000),
    };
    let requests = vec![("/api/v1/jobs/{job}".into(), 200, times), ("_other".into(), 404, times)];
    let work = WorkMetrics { own: Some(own), requests, http_connections: Some((250, 1_000)) };
    Scrape { overview, shown, event_streams: 3, usage, health, work, has_market: true, shows_money }.encode().unwrap()
}

/// Labels by the name of the series, as a scraper stores it.
fn series(scrape: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in scrape.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap();
        let labels = all.entry(line[..end].to_owned()).or_default();
        if let Some(inside) = line[end..].strip_prefix('{').and_then(|rest| Some(rest.rsplit_once('}')?.0)) {
            labels.extend(inside.split("\",").filter_map(|pair| Some(pair.split_once('=')?.0.to_owned())));
        }
    }
    all
}

/// The metrics that an expression names, and the labels.
fn named(expression: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut metrics, mut labels) = (BTreeSet::new(), BTreeSet::new());
    for word in expression.split(|c| !is_word(c)).filter(|word| word.contains('_')) {
        if word.starts_with("jobtracker_") || word.starts_with("process_") {
            metrics.insert(word.to_owned());
        }
    }
    for clause in ["by (", "without ("] {
        for rest in expression.split(clause).skip(1) {
            labels.extend(rest.split(')').next().unwrap().split(',').map(|label| label.trim().to_owned()));
        }
    }
    for rest in expression.split('{').skip(1) {
        let matchers = rest.split('}').next().unwrap().split(',');
        labels.extend(matchers.filter_map(|matcher| Some(matcher.split(['=', '!']).next()?.trim().to_owned())));
    }
    (metrics, labels)
}

#[track_caller]
fn assert_is_scraped(expression: &str, series: &BTreeMap<String, BTreeSet<String>>) {
    let (metrics, labels) = named(expression);
    assert!(!metrics.is_empty(), "{expression}");
    let mut known: BTreeSet<&str> = OTHER_LABELS.into();
    for metric in &metrics {
        let found = series.get(metric).unwrap_or_else(|| panic!("no scrape has {metric}: {expression}"));
        known.extend(found.iter().map(String::as_str));
    }
    for label in labels {
        assert!(known.contains(label.as_str()), "no series of {metrics:?} has {label}: {expression}");
    }
}

#[test]
fn every_metric_and_label_of_a_dashboard_is_in_a_scrape() {
    let series = series(&scrape(true));
    let mut uids = BTreeSet::new();
    for dashboard in DASHBOARDS {
        let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        assert!(uids.insert(dashboard["uid"].as_str().unwrap().to_owned()));
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        for query in variables.iter().filter(|variable| variable["type"] == "query") {
            let query = query["query"].as_str().unwrap().trim_start_matches("label_values(").trim_end_matches(')');
            let (metric, label) = query.split_once(", ").unwrap();
            assert_is_scraped(&format!("sum by ({label}) ({metric})"), &series);
        }
        let (mut ids, mut titles) = (BTreeSet::new(), BTreeSet::new());
        for panel in dashboard["panels"].as_array().unwrap() {
            let title = panel["title"].as_str().unwrap();
            assert!(
                ids.insert(panel["id"].as_u64().unwrap()) && titles.insert(title.to_owned()),
                "{title} is there twice"
            );
            assert!(
                panel["description"].as_str().is_some_and(|words| words.len() > 10),
                "{title} says not what is bad"
            );
            assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title} has no unit");
            for target in panel["targets"].as_array().unwrap() {
                assert_is_scraped(target["expr"].as_str().unwrap(), &series);
            }
        }
    }
}

#[test]
fn every_alert_names_what_a_scrape_has_and_a_place_that_says_what_to_do() {
    let series = series(&scrape(true));
    let anchors: BTreeSet<String> = GUIDE
        .lines()
        .filter(|line| line.starts_with("##"))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-").replace(['.', ','], ""))
        .collect();
    let mut names = BTreeSet::new();
    for alert in RULES.split("      - alert: ").skip(1) {
        let name = alert.lines().next().unwrap();
        assert!(names.insert(name), "{name} is there twice");
        let value = |key: &str| {
            let line = alert.lines().find_map(|line| line.trim().strip_prefix(key));
            line.unwrap_or_else(|| panic!("{name} has no {key}")).trim().to_owned()
        };
        let expression = value("expr:");
        if !expression.starts_with("up{") {
            assert_is_scraped(&expression, &series);
        }
        assert!(matches!(&*value("severity:"), "page" | "warn"), "{name}");
        assert!(value("summary:").len() > 20, "{name}");
        let todo = value("todo:");
        let anchor = todo.strip_prefix("docs/operate.md#").unwrap_or_else(|| panic!("{name}: {todo}"));
        assert!(anchors.contains(anchor), "{name}: docs/operate.md has no heading for #{anchor}");
    }
    assert!(names.len() > 20);
}

#[test]
fn a_private_market_has_no_series_with_its_money_and_values_are_what_facts_say() {
    let (public, private) = (scrape(true), scrape(false));
    let has = |line: &str| assert!(public.lines().any(|found| found == line), "{line}: {public}");
    // The tick of 1,000 s was due 20 s later, and it is 1,050 s.
    has("jobtracker_tick_lateness_seconds 30.0");
    has("jobtracker_ticks_total 4");
    has("jobtracker_views_lag_seconds 2.5");
    has("jobtracker_event_streams 3");
    has("jobtracker_queue_bid{queue=\"alice\"} 3.25");
    // 2 slots at 3.25 each 20 s of 7319.5.
    has(&format!("jobtracker_queue_empty_seconds{{queue=\"alice\"}} {:?}", 7319.5 / 6.5 * 20.0));
    has("jobtracker_task_seconds_bucket{le=\"+Inf\",kind=\"map\"} 0");
    for line in [
        "jobtracker_heartbeat_seconds_bucket{le=\"0.05\"} 2",
        "jobtracker_heartbeat_seconds_bucket{le=\"0.1\"} 3",
        "jobtracker_heartbeat_seconds_count 3",
        "jobtracker_heartbeat_seconds_sum 0.0717",
        "jobtracker_fact_commit_seconds_count 3",
        "jobtracker_http_request_seconds_count{code=\"200\",route=\"/api/v1/jobs/{job}\"} 3",
        "jobtracker_container_wait_seconds_count 0",
        "jobtracker_facts_waiting 12",
        "jobtracker_reloads_total{result=\"done\"} 2",
        "jobtracker_reloads_total{result=\"failed\"} 1",
        "jobtracker_decisions_total{kind=\"preempted\"} 1",
        // Two slots for 8.25 s each.
        "jobtracker_preempted_seconds_total{queue=\"bob\"} 16.5",
        "jobtracker_deadlines{state=\"at_risk\"} 6",
        "jobtracker_orders{state=\"spent\"} 4",
        "jobtracker_limit_used_ratio{limit=\"rpc_connections\"} 0.95",
        "jobtracker_limit_used_ratio{limit=\"http_connections\"} 0.25",
        "jobtracker_limit_used_ratio{limit=\"tasks\"} 0.0",
        // 2.2 slots for the whole interval.
        "jobtracker_queue_spent_total{queue=\"alice\"} 7.15",
    ] {
        has(line);
    }
    for secret in
        ["7319.5", "queue_spent", "7.15", "queue_bid", "queue_empty", "credits_issued", "queue_share", "680.5"]
    {
        assert!(public.contains(secret) && !private.contains(secret), "{secret}");
    }
}
