//! Bad input: parameters that are missing, doubled or malformed, methods, names with markup in them, and forms of other sites.

use super::super::super::state::JobForms;
use crate::model::RunState;
use crate::web::owner::JobChange;

use super::stage::{Recorded, job, row};
use crate::web::stock::StockJob;

const JOB: &str = "job_202611220350_0001";
const PAGES: [&str; 10] = [
    "/jobtracker.jsp",
    "/jobdetails.jsp",
    "/jobtasks.jsp",
    "/taskdetails.jsp",
    "/taskstats.jsp",
    "/jobfailures.jsp",
    "/jobblacklistedtrackers.jsp",
    "/machines.jsp",
    "/jobqueue_details.jsp",
    "/taskgraph",
];

fn named(name: &str) -> Recorded {
    let job = StockJob { user: name.to_owned(), job_file: name.to_owned(), ..job(1, name, RunState::Running) };
    let mut stage = Recorded { jobs: vec![job.clone()], ..Recorded::default() };
    stage.overview.jobs = vec![row(&job)];
    stage
}

#[tokio::test]
async fn every_page_answers_every_kind_of_parameter_without_a_server_error() {
    let long = "x".repeat(60_000);
    let values = ["", "x", "-1", "job_1", "../../etc/passwd", "%3Cb%3E", "99999999999999999999", "a%00b", &long];
    let stage = named("plain");
    for page in PAGES {
        assert!(!stage.get(page).await.status.is_server_error(), "{page}");
        for name in ["jobid", "tipid", "attemptid", "type", "pagenum", "state", "kind", "cause", "refresh", "queueName"]
        {
            for value in values {
                let answer = stage.get(&format!("{page}?jobid={JOB}&{name}={value}&{name}=again")).await;
                assert!(!answer.status.is_server_error(), "{page} {name} {:.20}: {}", value, answer.status);
                assert!(!answer.body.contains("<b>x"), "{page} {name}");
            }
        }
        assert!(!stage.get(&format!("{page}?a=%ff%fe&jobid=%ff")).await.status.is_server_error(), "{page}");
    }
}

#[tokio::test]
async fn the_first_of_two_values_counts() {
    let stage = named("plain");
    let first = stage.get(&format!("/jobdetails.jsp?jobid={JOB}&jobid=job_1_0002")).await;
    assert!(first.body.contains("<b>Status:</b> Running"), "{}", first.body);
    assert_eq!(stage.get(&format!("/jobdetails.jsp?jobid=x&jobid={JOB}")).await.status.as_u16(), 400);
}

#[tokio::test]
async fn other_formats_and_methods_are_refused() {
    let stage = named("plain");
    for page in ["/jobtracker.jsp", "/jobdetails.jsp", "/jobtasks.jsp", "/taskdetails.jsp", "/taskstats.jsp"] {
        assert_eq!(stage.get(&format!("{page}?format=xml")).await.status.as_u16(), 501, "{page}");
    }
    for page in PAGES {
        for method in ["PUT", "DELETE", "OPTIONS"] {
            let answer = stage.ask(method, page, "", &[]).await;
            assert_eq!(answer.status.as_u16(), 405, "{method} {page}");
        }
        let (head, get) = (stage.ask("HEAD", page, "", &[]).await, stage.get(page).await);
        assert_eq!((head.status, head.kind), (get.status, get.kind), "{page}");
    }
}

#[tokio::test]
async fn names_never_become_markup() {
    let hostile = ["</td><script>alert(1)</script>", "\"'><img src=x>", "\u{202e}gpj.exe", "a&b", &"ä".repeat(32_000)];
    for name in hostile {
        let stage = named(name);
        for target in ["/jobtracker.jsp".to_owned(), format!("/jobdetails.jsp?jobid={JOB}")] {
            let page = stage.get(&target).await;
            assert!(page.status.is_success());
            for markup in ["<script>alert", "<img src=x", "</td><script"] {
                assert!(!page.body.contains(markup), "{target} has {markup}");
            }
        }
        let json = stage.get("/jobtracker.jsp?format=json").await.body;
        let json: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
        assert_eq!(json["runningJobsSummaryInfo"][0]["jobName"], name, "JSON has names as they are");
    }
}

#[tokio::test]
async fn access_lists_keep_out() {
    let stage = named("plain");
    let acls = |target: String| {
        let stage = stage.clone();
        async move { stage.served("GET", &target, "", &[], JobForms::ForNamed, true).await }
    };
    for page in ["jobdetails", "jobtasks", "jobfailures", "jobblacklistedtrackers"] {
        let nameless = acls(format!("/{page}.jsp?jobid={JOB}")).await;
        assert_eq!((nameless.status.as_u16(), nameless.body.trim()), (401, "Null user"), "{page}");
    }
    // Lists are open to all.
    assert!(acls("/jobtracker.jsp".to_owned()).await.status.is_success());
}

#[tokio::test]
async fn only_a_post_from_the_page_itself_changes_a_job() {
    let form = format!("action=kill&jobid={JOB}");
    let target = format!("/jobdetails.jsp?jobid={JOB}&action=kill");
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let stage = named("plain");
    assert!(stage.get(&target).await.status.is_success());
    for (name, value) in
        [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example"), ("referer", "http://evil.example/x")]
    {
        assert_eq!(stage.ask("POST", &target, "", &[(name, value)]).await.status.as_u16(), 403, "{name}");
    }
    for (forms, status) in [(JobForms::Off, 403), (JobForms::Signed, 401), (JobForms::ForNamed, 401)] {
        assert_eq!(stage.served("POST", &target, "", &[], forms, false).await.status.as_u16(), status, "{forms:?}");
    }
    assert!(stage.changes.lock().unwrap().is_empty());
    // As Hive kills the job of a query, and as the form of the page does.
    assert_eq!(stage.ask("POST", &target, "", &[]).await.status.as_u16(), 200);
    assert_eq!(stage.ask("POST", "/jobdetails.jsp", &form, &[kind]).await.status.as_u16(), 200);
    assert_eq!(stage.post("/jobdetails.jsp", &format!("action=changeprio&jobid={JOB}&prio=HIGH")).await.status, 200);
    let id = JOB.parse().unwrap();
    let changes = std::mem::take(&mut *stage.changes.lock().unwrap());
    assert_eq!(changes, [(id, JobChange::Kill), (id, JobChange::Kill), (id, JobChange::Priority("HIGH".to_owned()))]);
}

#[tokio::test]
async fn lists_of_jobs_are_changed_by_their_boxes() {
    let stage = named("plain");
    let boxes = format!("jobCheckBox={JOB}&jobCheckBox=job_202611220350_0007");
    assert!(stage.get(&format!("/jobtracker.jsp?killJobs=x&{boxes}")).await.status.is_success());
    assert!(stage.changes.lock().unwrap().is_empty(), "a GET changes nothing");
    assert_eq!(stage.post("/jobtracker.jsp", &format!("killJobs=x&{boxes}")).await.status, 200);
    let order = "changeJobPriority=Change&setJobPriority=LOW";
    assert_eq!(stage.post("/jobtracker.jsp", &format!("{order}&{boxes}")).await.status, 200);
    assert_eq!(stage.post("/jobtracker.jsp", "killJobs=x&jobCheckBox=nonsense").await.status, 400);
    let changes: Vec<JobChange> = stage.changes.lock().unwrap().drain(..).map(|(_, change)| change).collect();
    let low = || JobChange::Priority("LOW".to_owned());
    assert_eq!(changes, [JobChange::Kill, JobChange::Kill, low(), low()]);
}

#[tokio::test]
async fn a_job_that_refuses_keeps_no_other_from_its_change() {
    let ids = [1, 2, 3].map(|number| format!("job_202611220350_{number:04}"));
    let closed = Recorded { closed: vec![ids[0].parse().unwrap(), ids[1].parse().unwrap()], ..named("plain") };
    let boxes: String = ids.iter().map(|id| format!("&jobCheckBox={id}")).collect();
    let answer = closed.post("/jobtracker.jsp", &format!("killJobs=x{boxes}")).await;
    assert!(answer.status.as_u16() == 403 && answer.body.contains(&ids[0]), "{}: {}", answer.status, answer.body);
    let changes = std::mem::take(&mut *closed.changes.lock().unwrap());
    assert_eq!(changes, [(ids[2].parse().unwrap(), JobChange::Kill)]);
}

#[tokio::test]
async fn a_form_names_a_thousand_jobs_and_a_larger_one_is_refused_not_ignored() {
    let stage = named("plain");
    let boxes = |count: u32| (0..count).map(|n| format!("&jobCheckBox=job_202611220350_{n:06}")).collect::<String>();
    assert_eq!(stage.post("/jobtracker.jsp", &format!("killJobs=x{}", boxes(1_000))).await.status, 200);
    assert_eq!(stage.changes.lock().unwrap().len(), 1_000);
    for count in [1_001, 3_000] {
        let answer = stage.post("/jobtracker.jsp", &format!("killJobs=x{}", boxes(count))).await;
        assert_eq!(answer.status.as_u16(), 400, "{count}: {}", answer.body);
    }
    for (target, form) in [
        ("/jobdetails.jsp", "action=kill&jobid=\u{1}%ff".to_owned()),
        ("/scheduler", "setPool=".to_owned() + &boxes(3_000)),
    ] {
        assert_eq!(stage.post(target, &form).await.status.as_u16(), 400, "{target}");
    }
    assert_eq!(stage.changes.lock().unwrap().len(), 1_000);
}

#[tokio::test]
async fn attempts_are_ended_by_post_and_lead_back_to_their_task() {
    let stage = named("plain");
    let attempt = "attempt_202611220350_0001_m_000000_0";
    let killed = stage.post(&format!("/taskdetails.jsp?attemptid={attempt}"), "action=kill-task").await;
    assert_eq!(killed.status.as_u16(), 302);
    let back = "/taskdetails.jsp?subaction=kill-task&tipid=task_202611220350_0001_m_000000";
    assert_eq!(killed.location.as_deref(), Some(back));
    assert_eq!(stage.post(&format!("/taskdetails.jsp?attemptid={attempt}"), "action=fail-task").await.status, 302);
    let changes: Vec<JobChange> = stage.changes.lock().unwrap().drain(..).map(|(_, change)| change).collect();
    let end = |is_failure| JobChange::EndAttempt { attempt: attempt.parse().unwrap(), is_failure };
    assert_eq!(changes, [end(false), end(true)]);
}
