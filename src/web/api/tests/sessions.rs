//! What a session opens: a user's own money, to an administrator all, and the parts of jobs that access lists keep for some.

use std::sync::atomic::Ordering;

use super::super::address::ApiAddress;
use super::private::path_of;
use super::stage::{PRIVATE, START_MS, Stage, accepted, attempt_ended};
use super::stream::{next, until};
use super::{MarketPresence, job_id};
use crate::model::AttemptState;

/// Every answer but the stream, in every form.
fn paths() -> impl Iterator<Item = String> {
    let answering = ApiAddress::ALL.into_iter().filter(|address| *address != ApiAddress::Events);
    answering.flat_map(|address| {
        let forms: &[&str] = if address.is_list() { &["", "?format=csv"] } else { &["", "?pretty"] };
        forms.iter().map(move |form| format!("{}{form}", path_of(address)))
    })
}

async fn seen_by(stage: &Stage, user: &str) -> Vec<(String, String)> {
    let session = stage.session(user);
    let mut seen = Vec::new();
    for path in paths() {
        seen.push((path.clone(), stage.get_as(&session, &path).await.text().to_owned()));
    }
    seen
}

#[tokio::test]
async fn a_user_sees_the_own_money_another_user_none_of_it_and_an_administrator_all() {
    let stage = Stage::new();
    for user in ["alice", "root"] {
        let seen = seen_by(&stage, user).await;
        // Of bob's application a cost is in other answers only.
        for private in PRIVATE {
            let sees = seen.iter().any(|(_, text)| text.contains(private));
            // What carol's queue paid when alice's work gave way to it.
            let is_carols = private == "9.7319";
            assert_eq!(sees, user == "root" || !is_carols, "{user}: {private}");
        }
    }
    let bobs = ["7319.625", "41.7319"];
    for (path, text) in seen_by(&stage, "bob").await {
        for private in PRIVATE {
            let is_own = bobs.contains(&private)
                && (path.contains("queues") || path.contains("applications") || path.contains("jobs"));
            assert!(is_own || !text.contains(private), "{path} shows bob {private}: {text}");
        }
    }
    let of = async |user: &str, path: &str| stage.get_as(&stage.session(user), path).await;
    let rows = of("bob", "/api/v1/queues").await.json()["items"].clone();
    assert!(rows[0].get("budget").is_none() && rows[0].get("rate").is_none(), "{rows}");
    assert_eq!(rows[1]["budget"], "7319.625");
    assert!(of("bob", "/api/v1/jobs/job_202611211200_0002").await.json().get("cost").is_none());
    assert_eq!(of("alice", "/api/v1/jobs/job_202611211200_0002").await.json()["cost"], "41.7319");
    assert_eq!(of("bob", "/api/v1/queues/alice/statement").await.problem(), (403, "forbidden".to_owned()));
    assert_eq!(of("alice", "/api/v1/queues/alice/statement").await.status, 200);
    assert!(of("alice", "/api/v1/market").await.json().get("issued").is_none(), "the sum of all is no user's own");
    assert!(of("root", "/api/v1/market").await.json().get("issued").is_some());
}

#[tokio::test]
async fn a_cookie_is_as_good_as_a_bearer_and_what_is_signed_in_is_kept_by_one_reader_alone() {
    let stage = Stage::new();
    let (session, path) = (stage.session("alice"), "/api/v1/queues");
    let cookie = format!("a=b; jobtracker_session={session}");
    let (by_cookie, by_bearer) =
        (stage.ask("GET", path, &[("cookie", &cookie)]).await, stage.get_as(&session, path).await);
    assert_eq!(by_cookie.text(), by_bearer.text());
    let stranger = stage.get(path).await;
    assert_ne!(stranger.header("etag"), by_cookie.header("etag"));
    let tag = stranger.header("etag").to_owned();
    let again = stage.ask("GET", path, &[("cookie", &cookie), ("if-none-match", &tag)]).await;
    assert_eq!(again.status, 200, "a stranger's answer is not the user's");
    assert_eq!(by_cookie.header("cache-control"), "private, no-cache");
    assert_eq!(stranger.header("cache-control"), "no-cache");
    assert_eq!(by_cookie.header("vary"), "Accept, Accept-Encoding, Cookie, Authorization");
}

#[tokio::test]
async fn a_bearer_that_has_ended_is_refused_and_a_cookie_makes_a_stranger() {
    let stage = Stage::new();
    let (session, path) = (stage.session("alice"), "/api/v1/queues/alice");
    let refused = async |bearer: &str| {
        let answer = stage.get_as(bearer, path).await;
        assert_eq!(answer.problem(), (401, "session-refused".to_owned()), "{bearer}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        let stream = stage.ask("GET", "/api/v1/events", &[("authorization", &format!("Bearer {bearer}"))]).await;
        assert_eq!(stream.problem().0, 401, "{bearer}");
        let cookie = format!("jobtracker_session={bearer}");
        let answer = stage.ask("GET", path, &[("cookie", &cookie)]).await;
        assert_eq!((answer.status, answer.json().get("budget")), (200, None), "{bearer}");
    };
    assert!(stage.get_as(&session, path).await.json().get("budget").is_some());
    refused("").await;
    let empty = stage.ask("GET", path, &[("authorization", "Bearer")]).await;
    assert_eq!(empty.problem().0, 401, "a command that failed has printed no session");
    refused("v1.alice.99999999999.00").await;
    refused(&session.replace("v1.alice", "v1.root")).await;
    stage.cluster.list_keys("alice user another\nroot admin rootkey\n");
    refused(&session).await;
    stage.cluster.list_keys("root admin rootkey\n");
    refused(&session).await;
    stage.cluster.list_keys("alice user alicekey\n");
    assert_eq!(stage.get_as(&session, path).await.status, 200);
    stage.cluster.now_ms.store(START_MS + 60_000, Ordering::SeqCst);
    refused(&session).await;
    // Another scheme is no bearer: a proxy's own.
    assert_eq!(stage.ask("GET", path, &[("authorization", "Basic YTpi")]).await.status, 200);
}

#[tokio::test]
async fn access_lists_open_parts_to_the_owner_to_those_that_they_name_and_to_administrators() {
    let stage = Stage::with(MarketPresence::Idle, false, true);
    stage.cluster.list_keys("alice user a\nbob user b\ncarol user c\nroot admin r\n");
    for (user, expected) in [("alice", 200), ("bob", 200), ("carol", 403), ("root", 200)] {
        let session = stage.session(user);
        for rest in ["attempts", "tasks", "grid", "timeline", "explain"] {
            let path = format!("/api/v1/jobs/{}/{rest}", job_id(2));
            assert_eq!(stage.get_as(&session, &path).await.status, expected, "{user}: {rest}");
        }
        let items = "/api/v1/applications/application_1700000000000_0001/items";
        // It is bob's, and has no list.
        let expected = if user == "alice" { 403 } else { expected };
        assert_eq!(stage.get_as(&session, items).await.status, expected, "{user}");
        // It names an attempt of alice's job.
        let (is_open, listed) =
            (matches!(user, "alice" | "root"), stage.get_as(&session, "/api/v1/decisions").await.json());
        assert_eq!(listed["items"].as_array().unwrap().len(), usize::from(is_open), "{user}");
        let one = stage.get_as(&session, "/api/v1/decisions/14").await.status;
        assert_eq!(one, if is_open { 200 } else { 404 }, "{user}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_reader_of_the_stream_gets_rows_as_that_reader_may_see_them_until_the_session_ends() {
    let stage = Stage::new();
    let session = stage.session("alice");
    let bearer = format!("Bearer {session}");
    let (_, mut alice) = stage.stream_of("/api/v1/events", &[("authorization", &bearer)]).await;
    let (_, mut again) = stage.stream_of("/api/v1/events", &[("authorization", &bearer)]).await;
    let (_, mut stranger) = stage.stream("/api/v1/events", None).await;
    until(&mut alice, "cluster").await;
    stage.cluster.apply(vec![attempt_ended(2, 0, AttemptState::Succeeded, "")]);
    let (own, same, public) =
        (until(&mut alice, "job").await, until(&mut again, "job").await, until(&mut stranger, "job").await);
    assert!(own.contains("\"cost\":\"41.7319\"") && own == same, "{own}");
    assert!(!public.contains("41.7319") && !public.contains("3.3719"), "{public}");
    // What a stranger has seen says nothing of what was made for alice.
    let seen = public.lines().nth(1).unwrap().strip_prefix("id: ").unwrap().to_owned();
    let (_, mut bob) = stage
        .stream_of(
            "/api/v1/events",
            &[("authorization", &format!("Bearer {}", stage.session("bob"))), ("last-event-id", &seen)],
        )
        .await;
    until(&mut bob, "reset").await;
    stage.cluster.list_keys("alice user another\nbob user bobkey\n");
    for body in [&mut alice, &mut again] {
        until(body, "bye").await;
        assert_eq!(next(body).await, None, "the session has ended");
    }
    stage.cluster.apply(vec![accepted(7, "one more")]);
    until(&mut stranger, "job").await;
    until(&mut bob, "job").await;
}
