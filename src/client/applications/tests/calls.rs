//! How calls are signed, repeated and answered.

use serde_json::json;

use crate::api::applications::ApplicationReport;
use crate::client::applications::{
    ApplicationClient, ApplicationClientError, ApplicationQuery, ConnectionNews, ContainerLog, ContainerQuery, LogName,
    RunSubmission,
};
use crate::client::market::Signer;
use crate::market::Key;
use crate::model::{Capability, LaunchContext};

use super::{APPLICATION, FakeServer, Reply, Sent, example_application, example_container};

fn client(server: &FakeServer, key: Option<&str>) -> ApplicationClient {
    let signer = key.map(|key| Signer { user: "alice".to_owned(), key: Key::new(key) });
    ApplicationClient::new(server.address.clone(), "alice".to_owned(), signer, || 9_000_000).impatient()
}

fn submission() -> RunSubmission {
    let context = LaunchContext::of_command(vec!["true".to_owned()]);
    RunSubmission { name: "true".to_owned(), queue: None, capability: Capability::new(512, 1), context, work: None }
}

fn submitted() -> Reply {
    Reply::json(json!({ "application-id": APPLICATION, "state": "ACCEPTED", "secret": "00" }))
}

fn stamp(sent: &Sent) -> &str {
    let rest = &sent.target[sent.target.find("timestamp=").unwrap() + "timestamp=".len()..];
    rest.split('&').next().unwrap()
}

fn timestamp_refused(detail: &str, server_ms: i64) -> Reply {
    let more = json!({ "detail": detail, "server-time-ms": server_ms });
    Reply::problem("401 Unauthorized", "timestamp-refused", more)
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_sent_again() {
    let busy = Reply::problem("503 Service Unavailable", "unavailable", json!({}));
    let server = FakeServer::of(vec![Reply::Lost, busy, submitted()]).await;
    let client = client(&server, None);
    client.submit(APPLICATION, &submission()).await.unwrap();
    let sent = server.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|again| *again == sent[0]), "the same bytes");
    assert_eq!((sent[0].method.as_str(), sent[0].target.as_str()), ("POST", "/ws/v1/cluster/apps?user.name=alice"));
    for header in ["content-type: application/json\r\n", "x-requested-by: jobtracker\r\n"] {
        assert!(sent[0].head.contains(header), "{}", sent[0].head);
    }
    assert!(sent[0].body.contains("\"unattended\":true"), "{}", sent[0].body);
}

#[tokio::test]
async fn a_server_that_was_never_there_is_not_waited_for() {
    let server = FakeServer::of(Vec::new()).await;
    let client = client(&server, None);
    drop(server);
    tokio::task::yield_now().await;
    let error = client.new_id().await.unwrap_err();
    assert!(matches!(error, ApplicationClientError::Unreachable { is_refused: true, .. }), "{error:?}");
}

#[tokio::test]
async fn the_server_corrects_the_clock() {
    let outside = timestamp_refused("timestamp 9000000 is more than 3 ms from the server's time 70", 70);
    let taken = timestamp_refused(
        "the signature of timestamp 75 was used before: sign with a later timestamp; the server's time is 71",
        71,
    );
    let id = || Reply::json(json!({ "application-id": APPLICATION }));
    let server = FakeServer::of(vec![outside, taken, id(), id()]).await;
    let client = client(&server, Some("alicekey-abc"));
    client.new_id().await.unwrap();
    client.new_id().await.unwrap();
    let sent = server.sent();
    assert_eq!(sent.iter().map(stamp).collect::<Vec<_>>(), ["9000000", "70", "76", "77"]);
    assert!(sent.iter().all(|sent| sent.head.contains("authorization: ")), "{sent:?}");
}

#[tokio::test]
async fn a_server_without_keys_believes_names() {
    let refused = || Reply::problem("401 Unauthorized", "signature-refused", json!({ "detail": "no" }));
    let id = || Reply::json(json!({ "application-id": APPLICATION }));
    let server = FakeServer::of(vec![refused(), id(), id()]).await;
    let believed = client(&server, Some("key"));
    believed.new_id().await.unwrap();
    believed.new_id().await.unwrap();
    let sent = server.sent();
    let is_signed: Vec<bool> = sent.iter().map(|sent| sent.head.contains("authorization")).collect();
    assert_eq!(is_signed, [true, false, false]);
    assert!(sent[2].target.ends_with("?user.name=alice"), "{}", sent[2].target);
    let keyed = FakeServer::of(vec![refused(), refused()]).await;
    let error = client(&keyed, Some("wrong")).new_id().await.unwrap_err();
    assert!(matches!(&error, ApplicationClientError::Denied(problem) if problem.detail == "no"), "{error:?}");
}

#[tokio::test]
async fn refusals_are_final() {
    let server = FakeServer::of(vec![Reply::problem("409 Conflict", "application-exists", json!({}))]).await;
    let error = client(&server, None).submit(APPLICATION, &submission()).await.unwrap_err();
    assert_eq!((error.problem_name(), server.sent().len()), ("application-exists", 1));
    let other =
        FakeServer::of(vec![Reply::Answer { status: "404 Not Found", headers: String::new(), body: Vec::new() }]).await;
    let error = client(&other, None).new_id().await.unwrap_err();
    assert!(matches!(error, ApplicationClientError::NoApplications { .. }), "{error:?}");
}

#[tokio::test]
async fn a_wait_survives_the_loss_of_the_server() {
    let mut changed = example_application();
    changed.version = 4;
    let [unchanged, changed] = [example_application(), changed].map(|app| Reply::json(json!({ "app": app })));
    let server = FakeServer::of(vec![Reply::Lost, Reply::Lost, unchanged, changed]).await;
    let mut news = Vec::new();
    let report = client(&server, None).next_report(APPLICATION, Some(3), |said| news.push(said)).await.unwrap();
    assert_eq!(report.version, 4);
    assert!(matches!(&news[..], [ConnectionNews::Lost(_), ConnectionNews::Back]), "{news:?}");
    let target = &server.sent()[2].target;
    assert!(target.contains(&format!("/apps/{APPLICATION}?version=3&wait-ms=25000&user.name=")), "{target}");
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let page = |numbers: &[u64], next: Option<u64>| {
        let containers: Vec<_> = numbers.iter().map(|number| example_container(*number)).collect();
        let next = next.map(|number| APPLICATION.container(0, number));
        Reply::json(json!({ "containers": { "container": containers }, "next": next }))
    };
    let server = FakeServer::of(vec![page(&[1, 2], Some(2)), page(&[3, 4], Some(4))]).await;
    let query = ContainerQuery { failed_only: true, limit: Some(4), ..ContainerQuery::default() };
    let found = client(&server, None).containers(APPLICATION, query).await.unwrap();
    assert_eq!(found.iter().map(|found| found.container_id.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let sent = server.sent();
    assert!(sent[0].target.contains("/containers?limit=4&failed=true&user"), "{}", sent[0].target);
    let after = format!("?limit=2&failed=true&after={}&", APPLICATION.container(0, 2));
    assert!(sent[1].target.contains(&after), "{}", sent[1].target);
}

#[tokio::test]
async fn an_administrator_finds_the_applications_of_one_user() {
    let of = |user: &str| json!(ApplicationReport { user: user.to_owned(), ..example_application() });
    let page = |next: Option<&str>| Reply::json(json!({ "apps": { "app": [of("bob")] }, "next": next }));
    let id = APPLICATION.to_string();
    let server = FakeServer::of(vec![page(Some(&id)), page(None)]).await;
    let query = ApplicationQuery { owner: Some("bob".to_owned()), limit: 2, ..ApplicationQuery::default() };
    assert_eq!(client(&server, None).list(&query).await.unwrap().len(), 2);
    let sent = server.sent();
    assert!(sent[0].target.contains("/apps?limit=2&user=bob&user.name="), "{}", sent[0].target);
    assert!(sent[1].target.contains(&format!("/apps?limit=1&user=bob&after={id}&user.name=")), "{}", sent[1].target);
}

#[tokio::test]
async fn a_log_is_read_where_the_server_points_to() {
    let worker = FakeServer::start(|sent| match sent.target.as_str() {
        "/log?ticket=2&start=0&end=-1" => Reply::bytes(b"hello"),
        "/log?ticket=2&start=5&end=-1" => Reply::problem("404 Not Found", "", json!({})),
        _ => Reply::problem("403 Forbidden", "", json!({})),
    })
    .await;
    let location = |ticket: &str| Reply::redirect(&format!("http://{}/log?ticket={ticket}&start=", worker.address));
    let server = FakeServer::of(vec![location("1"), location("2")]).await;
    let client = client(&server, None);
    let mut log = ContainerLog::new(&client, APPLICATION.container(0, 1), LogName::Stderr);
    let error = log.read_from(0).await.unwrap_err().to_string();
    assert!(error.contains("403 Forbidden"), "{error}");
    assert_eq!(log.read_from(0).await.unwrap(), b"hello", "a ticket that has lapsed is replaced");
    assert_eq!(log.read_from(5).await.unwrap(), b"");
    let asked = format!("/ws/v1/cluster/containers/{}/logs/stderr?user.name=alice", APPLICATION.container(0, 1));
    assert!(server.sent().iter().all(|sent| sent.target == asked), "{:?}", server.sent());
}
