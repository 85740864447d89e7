//! Requests that wait for something to say.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::accept_until;

use super::*;

fn served(connections: usize) -> Served {
    let acl = Acl::parse(ACL, "acl").unwrap();
    let reply = |_: &ApplicationQuestion| Ok(ApplicationAnswer::Allocated(Arc::from(*b"{}")));
    let limits = WebLimits { connections, ..WebLimits::default() };
    Served::new(owned(ApplicationAccess::Signed(Arc::new(acl)), reply), limits)
}

const CALL: &str = r#"{"attempt":1,"response-id":0,"wait-ms":30000}"#;

fn longest_waits(served: &Served) -> Vec<u64> {
    let asked = served.owned.asked.lock().unwrap();
    asked.iter().map(|(_, _, wait_ms)| wait_ms / 1_000).collect()
}

#[tokio::test(start_paused = true)]
async fn half_of_the_connections_may_wait_and_others_are_answered_at_once() {
    let served = served(4);
    let allocate = format!("{APP}/allocate");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (served, allocate) = (served.clone(), allocate.clone());
            tokio::spawn(async move { served.ask("POST", &allocate, Some(CALL)).await.status })
        })
        .collect();
    for _ in 0..2 {
        served.owned.waits.notified().await;
    }
    assert_eq!(served.ask("POST", &allocate, Some(CALL)).await.status, 200);
    assert_eq!(longest_waits(&served), [30, 30, 0]);
    for request in waiting {
        served.owned.news.notify_one();
        served.owned.news.notify_waiters();
        assert_eq!(request.await.unwrap(), 200);
    }
    // Their places are free again.
    let last = served.clone();
    let last = tokio::spawn(async move { last.ask("POST", &allocate, Some(CALL)).await.status });
    served.owned.waits.notified().await;
    served.owned.news.notify_one();
    assert_eq!(last.await.unwrap(), 200);
    assert_eq!(longest_waits(&served), [30, 30, 0, 30]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_does_not_answer_is_waited_for_beyond_the_wait() {
    let served = served(2);
    let answered = served.ask("POST", &format!("{APP}/allocate"), Some(CALL)).await;
    assert_eq!(answered.problem(), (503, "unavailable".to_owned()));
    assert_eq!(answered.header("retry-after"), "1");
}

#[tokio::test]
async fn a_report_waits_for_another_version() {
    let served = Served::empty();
    served.owned.news.notify_one();
    served.ask("GET", &format!("{APP}?version=7&wait-ms=1000"), None).await;
    served.ask("GET", &format!("{APP}?version=7"), None).await;
    served.ask("GET", APP, None).await;
    let asked = served.owned.asked.lock().unwrap();
    let shown: Vec<_> = asked
        .iter()
        .map(|(_, question, wait_ms)| match question {
            ApplicationQuestion::Show { known_version, .. } => (*known_version, *wait_ms),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(shown, [(Some(7), 1_000), (Some(7), 0), (None, 0)]);
}

#[tokio::test]
async fn a_wait_needs_a_version_and_has_an_end() {
    let served = Served::empty();
    for (query, parameter) in
        [("wait-ms=5", "version"), ("wait-ms=30001&version=1", "wait-ms"), ("version=-1", "version")]
    {
        let answered = served.ask("GET", &format!("{APP}?{query}"), None).await;
        assert_eq!(answered.problem(), (400, "invalid-request".to_owned()));
        assert_eq!(answered.json()["errors"][0]["parameter"], parameter);
    }
}

/// One client's requests over connections of their own.
async fn send_signed(address: std::net::SocketAddr, method: &str, target: &str, body: Option<&str>) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (target, signature) = sign("alice", "alicekey-abc", method, target, body);
    let body = body.unwrap_or_default();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: {signature}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    stream
}

async fn read_all(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Waits, and bodies that never come, must not keep others out.
#[tokio::test]
async fn where_a_peers_places_are_used_up_its_oldest_wait_is_answered_at_once() {
    let served = served(4);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // One place for each peer.
    let limits = WebLimits { connections: 4, ..WebLimits::default() };
    tokio::spawn(accept_until(listener, served.router.clone(), limits, std::future::pending()));
    let allocate = format!("{APP}/allocate");
    let waiting = send_signed(address, "POST", &allocate, Some(CALL)).await;
    served.owned.waits.notified().await;
    let next = send_signed(address, "POST", &allocate, Some(CALL)).await;
    assert!(read_all(waiting).await.starts_with("HTTP/1.1 200"), "with what there is, 30 s early");
    served.owned.waits.notified().await;
    let mut half = TcpStream::connect(address).await.unwrap();
    assert!(read_all(next).await.starts_with("HTTP/1.1 200"));
    let (target, signature) = sign("alice", "alicekey-abc", "POST", &allocate, Some(CALL));
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: h\r\nAuthorization: {signature}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{{",
        CALL.len()
    );
    half.write_all(head.as_bytes()).await.unwrap();
    // Its head has come when this one is let in: else it would be closed as one that has asked for nothing.
    let last = send_signed(address, "GET", APP, None).await;
    assert!(read_all(last).await.starts_with("HTTP/1.1 200"));
    let half = read_all(half).await;
    assert!(half.is_empty() || half.starts_with("HTTP/1.1 429"), "{half}");
}

#[tokio::test]
async fn bodies_on_their_way_count_by_user() {
    let served = Served::empty();
    let allocate = format!("{APP}/allocate");
    let mut held = Vec::new();
    let body = "x".repeat(7 << 20);
    // Three of one user would be beyond its 16 MiB; none of them ends.
    for _ in 0..2 {
        let request = signed_request("alice", "alicekey-abc", "POST", &allocate, Some(&body));
        let request = request.map(|_| Body::new(Endless(Some(body.clone().into()))));
        let served = served.clone();
        held.push(tokio::spawn(async move { served.send(request).await.problem() }));
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let third = served.ask("POST", &allocate, Some(&body)).await;
    assert_eq!(third.problem(), (429, "too-many".to_owned()), "{}", third.body);
    assert!(third.body.contains("of one user"), "{}", third.body);
    held.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A body whose rest never comes.
struct Endless(Option<Bytes>);

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(Frame::data(piece)))))
    }
}
