//! `/scheduler` without an operation: the ruling policy's page, its JSON, and the forms that change jobs.

use std::sync::Arc;

use crate::web_server::stage::{Answered, Stage};

use jobtracker::api::{PolicyName, SchedulerReport};
use jobtracker::engine::ClusterSnapshot;
use jobtracker::web::{JobChange, JobForms};

const JOB: &str = "job_202611211200_0001";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A server under a policy.
async fn stage(policy: PolicyName, job_forms: JobForms) -> Stage {
    let stage = Stage::with_forms(job_forms).await;
    let report = SchedulerReport { policy, ..SchedulerReport::default() };
    *stage.cluster.overview.lock().unwrap() = Arc::new(ClusterSnapshot { report, ..ClusterSnapshot::default() });
    stage
}

async fn post(stage: &Stage, form: &str, headers: &str) -> Answered {
    let request = format!(
        "POST /scheduler HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{FORM}{headers}Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    Answered::parse(&stage.exchange(request).await)
}

fn status(answered: &Answered) -> &str {
    answered.status_line.split(' ').nth(1).unwrap()
}

fn changes(stage: &Stage) -> Vec<JobChange> {
    stage.cluster.changes.lock().unwrap().iter().map(|(_, change)| change.clone()).collect()
}

#[tokio::test]
async fn each_policy_has_its_page_and_fifo_none() {
    for (policy, expected, title) in [
        (PolicyName::Fifo, "404", "The scheduler in use"),
        (PolicyName::Capacity, "200", "<title>myhost Job Scheduler Admininstration</title>"),
        (PolicyName::Fair, "200", "<title>myhost Fair Scheduler Administration</title>"),
    ] {
        let stage = stage(policy, JobForms::Off).await;
        for method in ["GET", "POST"] {
            let page = stage.request(method, "/scheduler", "").await;
            assert_eq!(status(&page), expected, "{policy:?}");
            assert!(page.body.contains(title), "{policy:?}: {}", page.body);
        }
        let expected = if policy == PolicyName::Fifo { "404" } else { "405" };
        assert_eq!(status(&stage.request("PUT", "/scheduler", "").await), expected);
    }
}

/// Row 34 of the Fair scheduler.
#[tokio::test]
async fn row_34_both_views_of_the_fair_page_answer() {
    let stage = stage(PolicyName::Fair, JobForms::Off).await;
    for target in ["/scheduler", "/scheduler?advanced"] {
        let page = stage.get(target).await;
        assert_eq!(status(&page), "200");
        assert!(page.body.contains("Fair Scheduler Administration"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"));
        assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn the_report_is_json_under_every_policy() {
    for policy in [PolicyName::Fifo, PolicyName::Dynamic, PolicyName::Capacity, PolicyName::Fair] {
        let stage = stage(policy, JobForms::Off).await;
        let answered = stage.get("/scheduler?format=json").await;
        assert_eq!((status(&answered), answered.header("content-type")), ("200", Some("application/json")));
        let report: SchedulerReport = serde_json::from_str(&answered.body).unwrap();
        assert_eq!(report.policy, policy);
        assert_eq!(status(&stage.get("/scheduler?format=xml").await), "400");
    }
    let ruling = Stage::new().await;
    assert_eq!(status(&ruling.get("/scheduler?format=json").await), "200", "unsigned, while a market rules");
    let bare = ruling.get("/scheduler").await;
    assert_eq!((status(&bare), bare.header("content-type")), ("200", Some("text/xml; charset=utf-8")));
}

#[tokio::test]
async fn a_form_changes_a_job_and_leads_back() {
    let stage = stage(PolicyName::Fair, JobForms::ForAll).await;
    let page = "Origin: http://h\r\nSec-Fetch-Site: same-origin\r\n";
    let changed = post(&stage, &format!("jobid={JOB}&setPool=a+b"), page).await;
    assert_eq!((status(&changed), changed.header("location")), ("302", Some("/scheduler")));
    let changed = post(&stage, &format!("advanced=&jobid={JOB}&setPriority=LOW"), page).await;
    assert_eq!((status(&changed), changed.header("location")), ("302", Some("/scheduler?advanced")));
    let by_get = stage.get(&format!("/scheduler?setPool=c&jobid={JOB}")).await;
    assert_eq!(status(&by_get), "200", "a question, which the form in it answers");
    let form = r#"<form method="post" action="/scheduler"><input type="hidden" name="jobid" value="job_202611211200_0001"><input type="hidden" name="setPool" value="c">"#;
    assert!(by_get.body.contains(form), "{}", by_get.body);
    let expected = [JobChange::Pool("a b".to_owned()), JobChange::Priority("LOW".to_owned())];
    assert_eq!(changes(&stage), expected, "a link has changed nothing");
}

#[tokio::test]
async fn a_form_with_a_bad_value_is_refused() {
    let stage = stage(PolicyName::Fair, JobForms::ForAll).await;
    let refused = post(&stage, &format!("jobid={JOB}&setPriority=HIGHEST"), "").await;
    assert_eq!((status(&refused), refused.body.as_str()), ("400", "No enum constant HIGHEST\n"));
    let refused = post(&stage, "jobid=job_1&setPool=a", "").await;
    assert_eq!((status(&refused), refused.body.as_str()), ("400", "jobid: \"job_1\" is not the id of a job\n"));
    assert_eq!(status(&stage.request("HEAD", &format!("/scheduler?setPool=c&jobid={JOB}"), "").await), "405");
    assert_eq!(changes(&stage).len(), 1);
}

/// The matrix of who may: forms on or off, access lists on or off, own page or another one.
#[tokio::test]
async fn none_but_the_page_itself_changes_a_job() {
    let other_pages =
        ["Origin: http://evil.example\r\n", "Referer: http://evil.example/\r\n", "Sec-Fetch-Site: cross-site\r\n"];
    let all = [JobForms::Off, JobForms::ForNamed, JobForms::Signed, JobForms::ForAll];
    for (job_forms, expected) in all.into_iter().zip(["403", "401", "401", "302"]) {
        let stage = stage(PolicyName::Fair, job_forms).await;
        let form = format!("jobid={JOB}&setPool=a");
        let target = format!("/scheduler?{form}");
        assert_eq!(status(&post(&stage, &form, "").await), expected, "{job_forms:?}");
        let by_link = if expected == "302" { "200" } else { expected };
        assert_eq!(status(&stage.get(&target).await), by_link, "{job_forms:?}");
        let allowed = if expected == "302" { 1 } else { 0 };
        assert_eq!(changes(&stage).len(), allowed, "{job_forms:?}");
        let refused = if job_forms == JobForms::ForAll { "403" } else { expected };
        for headers in other_pages {
            assert_eq!(status(&post(&stage, &form, headers).await), refused, "{headers}");
            assert_eq!(status(&stage.request("GET", &target, headers).await), by_link, "{headers}");
        }
        assert_eq!(changes(&stage).len(), allowed, "{job_forms:?}");
        let has_forms = stage.get("/scheduler").await.body.contains("<datalist");
        assert_eq!(has_forms, job_forms == JobForms::ForAll);
    }
}

#[tokio::test]
async fn only_the_fair_scheduler_has_forms() {
    for policy in [PolicyName::Fifo, PolicyName::Capacity] {
        let stage = stage(policy, JobForms::ForAll).await;
        post(&stage, &format!("jobid={JOB}&setPool=a"), "").await;
        assert_eq!(changes(&stage), []);
    }
    let ruling = Stage::new().await;
    let balance = ruling.balance("alice");
    post(&ruling, "addBudget=5&queue=alice", "").await;
    assert_eq!(ruling.balance("alice"), balance, "the body is not signed");
}

const FAIR: &str = r#"{"policy": "fair", "since_ms": 0, "at_ms": 0, "slots": {"map": 4, "reduce": 2}, "jobs": [], "jobs_left_out": 0,
    "groups": [{"name": "alpha", "jobs": 1, "running": {"map": 3, "reduce": 0}, "held": {"map": 3, "reduce": 0},
        "waiting": {"map": 9, "reduce": 0}, "pool": {"minimum": {"map": 1, "reduce": 0},
        "maximum": {"map": null, "reduce": null}, "is_inverted": {"map": false, "reduce": false}, "weight": "1.0",
        "mode": "fair", "demand": {"map": 12, "reduce": 0}, "fair_share": {"map": "2.666666", "reduce": "0.0"},
        "below_minimum_ms": {"map": 0, "reduce": 500}, "below_half_share_ms": {"map": 61500, "reduce": 0}}}]}"#;

const CAPACITY: &str = r#"{"policy": "capacity", "since_ms": 0, "at_ms": 0, "slots": {"map": 4, "reduce": 2}, "jobs": [],
    "jobs_left_out": 0, "groups": [{"name": "default", "jobs": 1, "running": {"map": 3, "reduce": 0},
        "held": {"map": 3, "reduce": 0}, "waiting": {"map": 9, "reduce": 0}, "capacity": {"percent": "50.0",
        "user_limit_percent": 100, "user_limit_factor": "1.0", "supports_priority": false,
        "slots": {"map": 2, "reduce": 1}, "occupied": {"map": 3, "reduce": 0},
        "occupied_percent": {"map": "150.0", "reduce": "0.0"}, "running": {"map": 3, "reduce": 0},
        "active_users": {"map": 1, "reduce": 0}, "user_limit": {"map": 2, "reduce": 1}, "users": [],
        "waiting_jobs": 4, "initializing_jobs": 0, "running_jobs": 1, "active_tasks": 12, "limits": {"initialized": 1,
        "initialized_per_user": 1, "accepted": 1, "accepted_per_user": 1, "active_tasks": 1,
        "active_tasks_per_user": 1}}}]}"#;

async fn reporting(report: &str) -> Stage {
    let stage = Stage::with_forms(JobForms::Off).await;
    let report = serde_json::from_str(report).unwrap();
    *stage.cluster.overview.lock().unwrap() = Arc::new(ClusterSnapshot { report, ..ClusterSnapshot::default() });
    stage
}

#[tokio::test]
async fn pages_and_metrics_show_pools_from_the_same_snapshot() {
    let stage = reporting(FAIR).await;
    let page = stage.get("/queues").await.body;
    for part in ["href=\"/queues/alpha\"", "data-metric=\"fair_share\" data-value=\"2.666666\">2.7<"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let metrics = stage.get("/metrics").await.body;
    for line in [
        "jobtracker_pool_slots_used{pool=\"alpha\",kind=\"map\"} 3",
        "jobtracker_pool_tasks_waiting{pool=\"alpha\",kind=\"map\"} 9",
        "jobtracker_pool_min_share_slots{pool=\"alpha\",kind=\"map\"} 1",
        "jobtracker_pool_demand_slots{pool=\"alpha\",kind=\"map\"} 12",
        "jobtracker_pool_fair_share_slots{pool=\"alpha\",kind=\"map\"} 2.666666",
        "jobtracker_pool_weight{pool=\"alpha\"} 1.0",
        "jobtracker_pool_below_min_share_seconds{pool=\"alpha\",kind=\"reduce\"} 0.5",
        "jobtracker_pool_below_half_share_seconds{pool=\"alpha\",kind=\"map\"} 61.5",
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn metrics_show_capacities_and_jobs_of_queues() {
    let stage = reporting(CAPACITY).await;
    let page = stage.get("/policy").await.body;
    assert!(
        page.contains("href=\"/scheduler\"") && page.contains("data-metric=\"percent\" data-value=\"50.0\""),
        "{page}"
    );
    let metrics = stage.get("/metrics").await.body;
    for line in [
        "jobtracker_queue_capacity_slots{queue=\"default\",kind=\"map\"} 2",
        "jobtracker_queue_slots_occupied{queue=\"default\",kind=\"map\"} 3",
        "jobtracker_queue_jobs{queue=\"default\",state=\"waiting\"} 4",
        "jobtracker_queue_jobs{queue=\"default\",state=\"running\"} 1",
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    }
}

/// The targets of a page's links.
fn links(page: &str) -> Vec<String> {
    let ends = page.split("href=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    ends.map(|(link, _)| link.replace("&#38;", "&").replace("&amp;", "&")).collect()
}

#[tokio::test]
async fn every_link_of_every_page_leads_somewhere() {
    for report in [
        FAIR,
        CAPACITY,
        r#"{"policy": "constraint", "since_ms": 0, "at_ms": 0, "slots": {"map": 4, "reduce": 2}, "jobs": [], "jobs_left_out": 0, "groups": []}"#,
    ] {
        let stage = reporting(report).await;
        let report: SchedulerReport = serde_json::from_str(report).unwrap();
        let overview = crate::web_server::pages::overview();
        *stage.cluster.overview.lock().unwrap() = Arc::new(ClusterSnapshot { report, ..overview });
        let (mut to_see, mut seen) = (vec!["/".to_owned(), "/scheduler".to_owned()], std::collections::BTreeSet::new());
        to_see.push(format!("/scheduler?setPriority=HIGH&jobid={JOB}"));
        while let Some(target) = to_see.pop() {
            let (target, anchor) = target.split_once('#').map_or((&*target, None), |(target, id)| (target, Some(id)));
            if target.contains("://") || target.starts_with("data:") || !seen.insert(target.to_owned()) {
                continue;
            }
            let page = stage.get(target).await;
            assert!(!page.body.starts_with("There is nothing at"), "a link leads to {target}: {}", page.body);
            let is_there = anchor.is_none_or(|id| page.body.contains(&format!("id=\"{id}\"")));
            assert!(is_there, "{target} has no {anchor:?}");
            for link in links(&page.body) {
                match link.chars().next() {
                    Some('#') => assert!(page.body.contains(&format!("id=\"{}\"", &link[1..])), "{target}: {link}"),
                    Some('/') => to_see.push(link),
                    _ if link.contains(':') => {}
                    _ => to_see.push(format!("/{link}")),
                }
            }
        }
        assert!(seen.contains("/jobdetails.jsp?jobid=job_202611211200_0002"), "{seen:?}");
    }
}
