//! Who is asking, by each setting of `hadoop.http.filter.initializers`, and what that user may.

use super::super::super::state::JobForms;
use crate::api::PolicyName;
use crate::model::RunState;
use crate::web::owner::MarketPresence;
use crate::web::{PageLogin, SimpleLogin, StockSettings};

use super::stage::{Answered, Recorded, job};

const JOB: &str = "job_202611220350_0001";
const NOW_MS: i64 = 1_700_000_000_000;

fn simple(allows_nameless: bool) -> PageLogin {
    PageLogin::Simple(SimpleLogin::new(*b"shared secret\n", 36_000_000, allows_nameless))
}

/// The job's user and an administrator are in every list, where lists are on.
fn cluster(login: &PageLogin, are_acls_on: bool) -> Recorded {
    let mut cluster = Recorded {
        jobs: vec![job(1, "sorts", RunState::Running)],
        now_ms: NOW_MS,
        settings: StockSettings { login: login.clone(), ..StockSettings::default() },
        members: are_acls_on.then_some(&["alice", "root"]),
        ..Recorded::default()
    };
    cluster.overview.report.policy = PolicyName::Fair;
    cluster
}

async fn ask(cluster: &Recorded, method: &str, target: &str, headers: &[(&str, &str)]) -> Answered {
    let are_acls_on = cluster.members.is_some();
    let forms = if are_acls_on { JobForms::ForNamed } else { JobForms::ForAll };
    cluster.served(method, target, "", headers, forms, are_acls_on).await
}

/// The matrix: settings, access lists, users, what they do.
#[tokio::test]
async fn who_asks_decides_what_is_shown_and_done() {
    let settings = [PageLogin::Nameless, PageLogin::OneUser("Dr.Who".into()), simple(true), simple(false)];
    let acts = [
        ("GET", format!("/jobdetails.jsp?jobid={JOB}"), 200),
        ("POST", format!("/jobdetails.jsp?jobid={JOB}&action=kill"), 200),
        ("POST", format!("/jobdetails.jsp?jobid={JOB}&action=changeprio&prio=HIGH"), 200),
        ("POST", format!("/scheduler?jobid={JOB}&setPool=a"), 302),
    ];
    for (row, login) in settings.iter().enumerate() {
        for are_acls_on in [false, true] {
            for named in ["alice", "bob", "root", ""] {
                // By the rule of each setting.
                let user = ["", "Dr.Who", named, named][row];
                for (place, (method, target, done)) in acts.iter().enumerate() {
                    let cluster = cluster(login, are_acls_on);
                    let target = if named.is_empty() { target.clone() } else { format!("{target}&user.name={named}") };
                    // The parameters of this page are its own: the name comes by the cookie.
                    let (target, cookie) = match (place, row) {
                        (3, _) => (acts[3].1.clone(), cookie_of(&cluster, named).await),
                        _ => (target, None),
                    };
                    let headers: Vec<(&str, &str)> = cookie.iter().map(|cookie| ("cookie", &**cookie)).collect();
                    let status = ask(&cluster, method, &target, &headers).await.status.as_u16();
                    let is_view = *method == "GET";
                    let expected = match (are_acls_on, user) {
                        // Where all must have a name, but for /scheduler, which has proofs of its own.
                        (_, "") if row == 3 && place != 3 => 401,
                        (false, _) => *done,
                        (true, "") => 401,
                        (true, "alice" | "root") => *done,
                        (true, _) => {
                            if is_view {
                                401
                            } else {
                                403
                            }
                        }
                    };
                    assert_eq!(status, expected, "{login:?}, lists {are_acls_on}, {named:?}: {method} {target}");
                    let changes = cluster.changes.lock().unwrap().len();
                    let is_changed = !is_view && expected == *done;
                    assert_eq!(changes, usize::from(is_changed), "{login:?}, lists {are_acls_on}, {named:?}: {target}");
                }
            }
        }
    }
}

/// Every address that shows a job, and what `members` of the lists, strangers and requests without a name get of it.
#[tokio::test]
async fn every_page_of_a_job_asks_the_lists() {
    let (task, attempt) = ("task_202611220350_0001_m_000000", "attempt_202611220350_0001_m_000000_0");
    let mut pages = Vec::new();
    for page in ["jobdetails.jsp", "jobtasks.jsp", "jobfailures.jsp", "jobblacklistedtrackers.jsp", "jobconf.jsp"] {
        pages.push(format!("/{page}?jobid={JOB}"));
    }
    pages.extend([format!("/gethistory.jsp?jobid={JOB}"), format!("/taskgraph?type=map&jobid={JOB}")]);
    for page in ["jobdetails.jsp", "jobtasks.jsp"] {
        pages.push(format!("/{page}?format=json&jobid={JOB}"));
    }
    for page in ["taskdetails.jsp", "taskstats.jsp"] {
        for named in [format!("tipid={task}"), format!("attemptid={attempt}"), format!("format=json&tipid={task}")] {
            pages.push(format!("/{page}?{named}"));
        }
    }
    let of_history =
        ["jobdetailshistory.jsp", "analysejobhistory.jsp", "jobconf_history.jsp", "loadhistory.jsp", "historyfile"];
    for page in of_history.into_iter().chain(["jobtaskshistory.jsp", "taskdetailshistory.jsp", "taskstatshistory.jsp"])
    {
        let more = format!("taskType=MAP&status=all&tipid={task}&attemptid={attempt}");
        pages.push(format!("/{page}?logFile={JOB}_1_root_sorts&{more}"));
    }
    let cluster = cluster(&simple(true), true);
    for page in pages {
        let of = async |user: &str| ask(&cluster, "GET", &format!("{page}{user}"), &[]).await;
        assert_eq!((of("").await.status.as_u16(), of("").await.body.trim()), (401, "Null user"), "{page}");
        let stranger = of("&user.name=bob").await;
        let is_refusal = stranger.status.as_u16() == 401 && stranger.body.contains("User bob failed to view");
        assert!(is_refusal, "{page}: {} {}", stranger.status, stranger.body);
        for member in ["alice", "root"] {
            let member = of(&format!("&user.name={member}")).await;
            assert_ne!(member.status.as_u16(), 401, "{page}: {}", member.body);
        }
    }
    // Nor does a change of an attempt that there is not say anything else.
    for attempt in [attempt.to_owned(), format!("{attempt}9")] {
        let target = format!("/taskdetails.jsp?action=kill-task&attemptid={attempt}&user.name=bob");
        assert_eq!(ask(&cluster, "POST", &target, &[]).await.status.as_u16(), 401, "{target}");
    }
    assert!(cluster.changes.lock().unwrap().is_empty());
    // Lists, and what says nothing of one job, are open to all.
    for open in ["/jobtracker.jsp", "/machines.jsp", "/jobqueue_details.jsp?queueName=default", "/jobhistoryhome.jsp"] {
        assert_eq!(ask(&cluster, "GET", open, &[]).await.status.as_u16(), 200, "{open}");
    }
}

/// The cookie that a name gets, if it gets one.
async fn cookie_of(cluster: &Recorded, named: &str) -> Option<String> {
    let target =
        if named.is_empty() { "/jobtracker.jsp".to_owned() } else { format!("/jobtracker.jsp?user.name={named}") };
    let set = ask(cluster, "GET", &target, &[]).await.cookie?;
    let cookie = set.split(';').next().unwrap().to_owned();
    (cookie != "hadoop.auth=").then_some(cookie)
}

#[tokio::test]
async fn one_sign_on_counts_for_every_daemon_with_the_secret() {
    let (one, other) = (cluster(&simple(true), true), cluster(&simple(true), true));
    let cookie = cookie_of(&one, "alice").await.unwrap();
    assert!(cookie.starts_with("hadoop.auth=\"u=alice&p=alice&t=simple&e=1700036000000&s="), "{cookie}");
    let view = format!("/jobdetails.jsp?jobid={JOB}");
    let by_cookie = ask(&other, "GET", &view, &[("cookie", &cookie)]).await;
    assert_eq!((by_cookie.status.as_u16(), by_cookie.cookie), (200, None), "the browser has it already");
    let stranger = PageLogin::Simple(SimpleLogin::new(*b"another", 36_000_000, true));
    assert_eq!(ask(&cluster(&stranger, true), "GET", &view, &[("cookie", &cookie)]).await.status.as_u16(), 401);
    let late = Recorded { now_ms: NOW_MS + 36_000_001, ..other.clone() };
    assert_eq!(ask(&late, "GET", &view, &[("cookie", &cookie)]).await.status.as_u16(), 401, "it has ended");
    let denied = ask(&other, "GET", &format!("{view}&user.name=bob"), &[]).await;
    assert!(denied.status.as_u16() == 401 && denied.body.contains("bob"), "{}", denied.body);
}

#[tokio::test]
async fn a_page_of_another_site_uses_no_cookie_for_a_change() {
    let cluster = cluster(&simple(true), true);
    let cookie = cookie_of(&cluster, "alice").await.unwrap();
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        for target in [format!("/jobdetails.jsp?jobid={JOB}&action=kill"), format!("/scheduler?jobid={JOB}&setPool=a")]
        {
            let answer = ask(&cluster, "POST", &target, &[("cookie", &cookie), (name, value)]).await;
            assert_eq!(answer.status.as_u16(), 403, "{name} {target}");
        }
    }
    let by_link = format!("/jobdetails.jsp?jobid={JOB}&action=kill");
    ask(&cluster, "GET", &by_link, &[("cookie", &cookie), ("sec-fetch-site", "cross-site")]).await;
    assert!(cluster.changes.lock().unwrap().is_empty());
    let ruled = Recorded { market: Some(MarketPresence::Ruling), ..cluster };
    assert_eq!(
        ask(&ruled, "POST", &by_link, &[("cookie", &cookie)]).await.status.as_u16(),
        401,
        "names count for nothing"
    );
}

#[tokio::test]
async fn where_all_must_have_a_name_only_what_needs_none_is_open() {
    let cluster = cluster(&simple(false), false);
    for closed in ["/", "/jobs", "/jobtracker.jsp", "/metrics", "/conf", "/jmx", "/api/v1/jobs", "/static/hadoop.css"] {
        let answer = ask(&cluster, "GET", closed, &[]).await;
        assert!(answer.status.as_u16() == 401 && answer.body.contains("Anonymous"), "{closed}: {}", answer.body);
        let named = ask(&cluster, "GET", &format!("{closed}?user.name=alice"), &[]).await;
        assert_ne!(named.status.as_u16(), 401, "{closed}");
    }
    for open in ["/healthz", "/readyz", "/status", "/scheduler?price", "/session?session=/"] {
        assert_ne!(ask(&cluster, "GET", open, &[]).await.status.as_u16(), 401, "{open}");
    }
    let mangled = ask(&cluster, "GET", "/jobtracker.jsp?user.name=a%26t=kerberos", &[]).await;
    assert_eq!(mangled.status.as_u16(), 400);
}

#[tokio::test]
async fn numbers_are_shown_to_who_names_an_administrator() {
    let mut cluster = cluster(&simple(true), false);
    cluster.settings.are_numbers_for_administrators = true;
    cluster.settings.is_authorization_on = true;
    for target in ["/conf", "/jmx", "/metrics", "/stacks", "/logLevel"] {
        let of = async |user: &str| ask(&cluster, "GET", &format!("{target}?user.name={user}"), &[]).await;
        assert_eq!(of("root").await.status.as_u16(), 200, "{target}");
        let bob = of("bob").await;
        assert!(bob.status.as_u16() == 401 && bob.body.contains("User bob is unauthorized"), "{target}: {}", bob.body);
        assert_eq!(ask(&cluster, "GET", target, &[]).await.status.as_u16(), 401, "{target}");
    }
}

#[tokio::test]
async fn consoles_that_change_by_get_need_a_key() {
    let target = format!("/scheduler?jobid={JOB}&setPool=a");
    let closed = cluster(&PageLogin::Nameless, false);
    assert_eq!(ask(&closed, "GET", &target, &[]).await.status.as_u16(), 200, "a question");
    assert!(closed.changes.lock().unwrap().is_empty());
    let mut open = cluster(&PageLogin::Nameless, false);
    open.settings.takes_get_changes = true;
    assert_eq!(ask(&open, "GET", &target, &[]).await.status.as_u16(), 302);
    assert_eq!(open.changes.lock().unwrap().len(), 1);
    assert_eq!(ask(&open, "HEAD", &target, &[]).await.status.as_u16(), 405);
}
