//! Read-only sessions as browsers have them: a signed link, a cookie, and what no cookie opens.

use std::sync::Arc;

use jobtracker::market::signature::sign;
use jobtracker::market::{Acl, Key, RetiringKey};

use crate::web_server::stage::{Answered, NOW_MS, Stage};

const FOUND: &str = "HTTP/1.1 303 See Other";

/// A link of a user to a page, with the signature in it.
pub fn link(stage: &Stage, user: &str, page: &str) -> String {
    let (query, header) = stage.sign(user, &format!("session={page}"));
    format!("/session?{query}&signature={}", header.trim().strip_prefix("Authorization: ").unwrap())
}

/// The same at a moment, epoch ms, by any key.
fn link_at(timestamp_ms: i64, key: &str) -> String {
    let query = format!("session=/market&user=alice&timestamp={timestamp_ms}");
    format!("/session?{query}&signature={}", sign(&query, &Key::new(key)))
}

pub fn cookie_of(answer: &Answered) -> String {
    let set = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {answer:?}"));
    set.split(';').next().unwrap().to_owned()
}

/// What a request with this cookie may see: the user whom pages greet.
async fn greeted(stage: &Stage, cookie: &str) -> bool {
    let page = stage.request("GET", "/queues", &format!("Cookie: {cookie}\r\n")).await;
    assert_eq!(page.status_line, "HTTP/1.1 200 OK", "{page:?}");
    page.body.contains("href=\"/users/alice\">Me</a>")
}

fn set_keys(stage: &Stage, acl: Acl) {
    *stage.cluster.acl.lock().unwrap() = Arc::new(acl);
}

fn acl(text: &str) -> Acl {
    Acl::parse(text, "acl").unwrap()
}

#[tokio::test]
async fn a_link_signs_in_once_and_leads_to_its_page() {
    let stage = Stage::new().await;
    let link = link(&stage, "alice", "/market%3Frate%3D0.5");
    let first = stage.get(&link).await;
    assert_eq!((&*first.status_line, first.header("location")), (FOUND, Some("/market?rate=0.5")), "{first:?}");
    let set = first.header("set-cookie").unwrap();
    assert!(set.starts_with("jobtracker_session=v1.alice.60."), "{set}");
    assert!(set.ends_with("; httponly; samesite=strict; path=/; max-age=60"), "{set}");
    assert_eq!(first.header("cache-control"), Some("no-store"));
    assert!(greeted(&stage, &cookie_of(&first)).await);
    let second = stage.get(&link).await;
    assert_eq!(second.header("set-cookie"), None);
    assert!(second.body.contains("was used before"), "{second:?}");
    assert!(!greeted(&stage, "jobtracker_session=v1.alice.60.00").await);
}

#[tokio::test]
async fn a_link_is_good_within_its_window_for_its_signer_and_for_nothing_else() {
    let stage = Stage::new().await;
    for (refused, why) in [
        (link_at(NOW_MS - 400_000, "alicekey-abc"), "more than"),
        (link_at(NOW_MS + 400_000, "alicekey-abc"), "more than"),
        (link_at(NOW_MS, "bobkey"), "ACCESS DENIED"),
        (link_at(NOW_MS, "alicekey-abc").replace("/market", "/queues"), "ACCESS DENIED"),
        (link_at(NOW_MS, "alicekey-abc").replace("user=alice", "user=root"), "ACCESS DENIED"),
    ] {
        let answer = stage.get(&refused).await;
        assert!(answer.status_line.contains("500") && answer.body.contains(why), "{refused}: {answer:?}");
        assert_eq!(answer.header("set-cookie"), None);
    }
    // Nothing that was signed for a session is an operation, and no operation's signature opens one.
    let (query, header) = stage.sign("alice", "session=/market");
    for path in ["/scheduler", "/scheduler/statement", "/scheduler/explain", "/scheduler/upload"] {
        let answer = stage.request("POST", &format!("{path}?{query}"), &header).await;
        assert!(answer.status_line.contains("400"), "{path}: {answer:?}");
    }
    let (query, header) = stage.sign("alice", "info");
    let signature = header.trim().strip_prefix("Authorization: ").unwrap();
    assert!(stage.get(&format!("/session?{query}&signature={signature}")).await.status_line.contains("400"));
    // A page elsewhere is refused before the signature is used.
    for page in ["//evil.example", "/%5Cevil.example", "http://evil.example", "/a%0D%0ASet-Cookie:x"] {
        let answer = stage.get(&link(&stage, "alice", page)).await;
        assert!(answer.status_line.contains("400") && answer.header("location").is_none(), "{page}: {answer:?}");
    }
    for method in ["HEAD", "POST", "PUT"] {
        let answer = stage.request(method, &link(&stage, "alice", "/"), "").await;
        assert!(answer.status_line.contains("405") && answer.header("allow") == Some("get"), "{method}: {answer:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_changed_rotated_or_removed_ends_the_session() {
    let stage = Stage::new().await;
    let cookie = cookie_of(&stage.get(&link(&stage, "alice", "/")).await);
    let rotated = acl("alice user new\nroot admin rootkey\n").with_retiring([RetiringKey {
        user: "alice".to_owned(),
        until_ms: NOW_MS + 1_000_000,
        key: Key::new("alicekey-abc"),
    }]);
    for keys in [rotated.clone(), acl("alice user new\n"), acl("root admin rootkey\n")] {
        assert!(greeted(&stage, &cookie).await);
        set_keys(&stage, keys);
        assert!(!greeted(&stage, &cookie).await);
        set_keys(&stage, acl("alice user alicekey-abc\n"));
    }
    // The old key signs in its overlap, but a session would outlive it.
    set_keys(&stage, rotated);
    let by_old = stage.get(&link(&stage, "alice", "/")).await;
    assert!(by_old.status_line.contains("403") && by_old.body.contains("replaces"), "{by_old:?}");
    assert_eq!(stage.get(&link_at(NOW_MS - 7, "new")).await.status_line, FOUND);
}

#[tokio::test]
async fn a_session_ends_at_its_time_and_where_its_user_ends_it() {
    let stage = Stage::new().await;
    let cookie = cookie_of(&stage.get(&link(&stage, "alice", "/")).await);
    for (headers, allowed) in [
        ("Sec-Fetch-Site: cross-site\r\n", false),
        ("Origin: http://evil.example\r\n", false),
        ("Sec-Fetch-Site: same-origin\r\nOrigin: http://h\r\n", true),
    ] {
        let answer = stage.request("POST", "/session/end", &format!("Cookie: {cookie}\r\n{headers}")).await;
        match allowed {
            false => assert!(answer.status_line.contains("403") && answer.header("set-cookie").is_none(), "{answer:?}"),
            true => {
                assert_eq!((&*answer.status_line, answer.header("location")), (FOUND, Some("/")));
                assert!(answer.header("set-cookie").unwrap().starts_with("jobtracker_session=; "), "{answer:?}");
            }
        }
    }
    assert!(stage.get("/session/end").await.status_line.contains("405"));
    stage.cluster.health.lock().unwrap().at_ms = 59_999;
    assert!(greeted(&stage, &cookie).await);
    stage.cluster.health.lock().unwrap().at_ms = 60_000;
    assert!(!greeted(&stage, &cookie).await);
}

/// Every address that changes something, by any method, with what it wants.
const CHANGES: &[(&str, &str)] = &[
    ("GET", "/scheduler?setSpending=9&queue=alice&user=alice&timestamp=T"),
    ("POST", "/scheduler?setSpending=9&queue=alice&user=alice&timestamp=T"),
    ("POST", "/scheduler?addBudget=9&queue=alice&user=root&timestamp=T"),
    ("POST", "/scheduler?transfer=1&from=alice&to=bob&user=root&timestamp=T"),
    ("POST", "/scheduler?allowance=1&queue=alice&every=60&user=root&timestamp=T"),
    ("POST", "/scheduler?addQueue=x&user=root&timestamp=T"),
    ("POST", "/scheduler?removeQueue=alice&user=root&timestamp=T"),
    ("POST", "/scheduler?bid=job_1_0001&deadline=9&maxRate=1&user=alice&timestamp=T"),
    ("POST", "/scheduler?unbid=job_1_0001&user=alice&timestamp=T"),
    ("POST", "/scheduler?killJob=job_1_0001&user=alice&timestamp=T"),
    ("POST", "/scheduler?setJobPriority=job_1_0001&priority=HIGH&user=alice&timestamp=T"),
    ("POST", "/scheduler?pauseQueue=alice&user=root&timestamp=T"),
    ("POST", "/scheduler?resumeQueue=alice&user=root&timestamp=T"),
    ("POST", "/scheduler?drain=w&user=root&timestamp=T"),
    ("POST", "/scheduler?resume=w&user=root&timestamp=T"),
    ("POST", "/scheduler?setPool=a&jobid=job_1_0001"),
    ("POST", "/scheduler/deadline?job=job_1_0001&due=20m&user.name=alice"),
    ("POST", "/scheduler/pause?job=job_1_0001&user.name=alice"),
    ("POST", "/scheduler/workers?drain=w&user.name=root"),
    ("POST", "/scheduler/upload?job=job_1_0001&name=a&sha256=00&user=alice&timestamp=T"),
    ("POST", "/scheduler/logticket?attempt=attempt_1_0001_m_000000_0&user.name=alice"),
    ("POST", "/jobtracker.jsp?killJobs=Kill&jobCheckBox=job_1_0001"),
    ("POST", "/jobqueue_details.jsp?queueName=alice&killJobs=Kill&jobCheckBox=job_1_0001"),
    ("POST", "/jobdetails.jsp?jobid=job_1_0001&action=kill&kill=Kill"),
    ("POST", "/taskdetails.jsp?attemptid=attempt_1_0001_m_000000_0&action=kill-task"),
    ("POST", "/ws/v1/cluster/apps/new-application"),
    ("POST", "/ws/v1/cluster/apps"),
    ("PUT", "/ws/v1/cluster/apps/application_1_0001/state"),
    ("POST", "/api/v1/jobs"),
    ("PUT", "/api/v1/queues/alice"),
    ("DELETE", "/api/v1/jobs/job_1_0001"),
];

#[tokio::test]
async fn nothing_is_changed_by_a_session_alone() {
    let stage = Stage::new().await;
    let mut sessions = Vec::new();
    for user in ["alice", "root"] {
        sessions.push(cookie_of(&stage.get(&link(&stage, user, "/")).await));
    }
    let before = (stage.balance("alice"), stage.balance("bob"), stage.balance("x"));
    let bid = || stage.cluster.market.lock().unwrap().account("alice").unwrap().bid();
    let bid_before = bid();
    for cookie in sessions {
        let bearer = format!("Authorization: Bearer {}\r\n", cookie.split_once('=').unwrap().1);
        for proof in [format!("Cookie: {cookie}\r\n"), bearer] {
            for (method, target) in CHANGES {
                let target = target.replace("=T", &format!("={}", NOW_MS + 3));
                let program = "X-Requested-By: x\r\nContent-Type: application/json\r\nContent-Length: 0\r\n";
                let answer = stage.request(method, &target, &format!("{proof}{program}")).await;
                let status: u16 = answer.status_line.split(' ').nth(1).unwrap().parse().unwrap();
                assert!(status >= 400, "{method} {target}: {answer:?}");
            }
        }
    }
    assert_eq!((stage.balance("alice"), stage.balance("bob"), stage.balance("x")), before);
    assert_eq!(bid(), bid_before);
    assert!(stage.cluster.changes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_market_there_is_nothing_to_sign_in_to() {
    let stage = Stage::with(jobtracker::web::WebLimits::default(), false).await;
    assert!(stage.get(&link(&stage, "alice", "/")).await.status_line.contains("404"));
}
