//! Clients that send nonsense, too much, too slowly, or never stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::web_server::stage::{Answered, Stage, read_to_end};

use jobtracker::engine::{ClusterSnapshot, QueueSnapshot};
use jobtracker::web::WebLimits;

#[tokio::test]
async fn malformed_requests_get_400_and_the_end() {
    let stage = Stage::new().await;
    let malformed: [&[u8]; 10] = [
        b"\r\nnonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hrpc\x04\x50\x00\x00\x00\x10",
    ];
    for request in malformed {
        let answer = stage.exchange(request).await;
        let shown = String::from_utf8_lossy(request);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{shown:?} got {answer:?}");
    }
    assert_eq!(stage.get("/healthz").await.status_line, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_request_that_breaks_off_is_no_request() {
    let stage = Stage::new().await;
    for part in ["", "G", "GET /healthz", "GET /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nHost: h\r\n"] {
        let mut stream = stage.connect().await;
        stream.write_all(part.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = read_to_end(stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{part:?} got {answer:?}");
    }
}

#[tokio::test]
async fn headers_have_a_limit() {
    let stage = Stage::new().await;
    let long_value = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let long_target = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(65));
    for request in [long_value, long_target, many] {
        let answer = stage.exchange(&request).await;
        let refused = answer.starts_with("HTTP/1.1 431 ") || answer.starts_with("HTTP/1.1 414 ");
        assert!(refused || answer.is_empty(), "{:?} got {answer:?}", &request[..30]);
    }
    let tiny = Stage::with(WebLimits { header_bytes: 0, ..WebLimits::default() }, true).await;
    assert_eq!(tiny.get("/healthz").await.status_line, "HTTP/1.1 200 OK");
    let fitting = format!("GET /healthz HTTP/1.1\r\nConnection: close\r\nX: {}\r\n\r\n", "x".repeat(15_000));
    assert!(stage.exchange(fitting).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(start_paused = true)]
async fn slow_headers_and_idle_connections_are_ended() {
    let stage = Stage::new().await;
    let mut slow = stage.connect().await;
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost:").await.unwrap();
    let answer = timeout(Duration::from_secs(11), read_to_end(slow)).await.expect("no header timeout");
    assert!(!answer.contains("200 OK"), "{answer}");

    let mut idle = stage.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    let answer = timeout(Duration::from_secs(11), read_to_end(idle)).await.expect("no idle timeout");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let stage = Stage::new().await;
    let mut stream = stage.connect().await;
    let request = "GET /scheduler?price HTTP/1.1\r\nHost: h\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{}{last}", request.repeat(3)).as_bytes()).await.unwrap();
    let answers = read_to_end(stream).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 4, "{answers}");
}

/// What a proxy and this server could read in two ways is read in none.
#[tokio::test]
async fn requests_with_two_lengths_or_broken_heads_are_refused_whole() {
    let stage = Stage::new().await;
    let (query, signature) = stage.sign("root", "addBudget=1&queue=alice");
    let hidden = format!("POST /scheduler?{query} HTTP/1.1\r\nHost: h\r\n{signature}\r\n");
    for fault in [
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: 4, 5",
        "Content-Length: +4",
        "Content-Length: -1",
        "Content-Length: 0x4",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Host : h",
        "X: a\0b",
        "X\u{1}: a",
        ": a",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: h\r\n{fault}\r\n\r\n{hidden}");
        let answers = stage.exchange(request).await;
        assert!(answers.starts_with("HTTP/1.1 400 ") || answers.is_empty(), "{fault:?}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1 ").count(), usize::from(!answers.is_empty()), "{fault:?}: {answers}");
    }
    assert_eq!(stage.balance("alice").as_deref(), Some("100.0"));
}

/// A page has a browser resolve its own name to our address.
#[tokio::test]
async fn a_request_that_is_meant_for_another_name_reads_nothing() {
    let stage = Stage::new().await;
    let ask = async |target: &str, host: &str| {
        let request = format!("GET {target} HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        Answered::parse(&stage.exchange(request).await)
    };
    for target in ["/", "/metrics", "/scheduler?price", "/scheduler/history", "/readyz", "/static/jobtracker.css", "/x"]
    {
        let answer = ask(target, "Host: rebound.example:50030\r\n").await;
        assert!(answer.status_line.starts_with("HTTP/1.1 421 "), "{target}: {}", answer.status_line);
        assert!(answer.body.contains("jobtracker.web.hosts"), "{}", answer.body);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("content-security-policy").is_some());
        for host in ["Host: 127.0.0.1:1\r\n", "Host: LOCALHOST\r\n", "Host: h:50030\r\n", "Host: [::1]\r\n", ""] {
            assert!(!ask(target, host).await.status_line.contains(" 421 "), "{target} {host}");
        }
    }
    let (query, signature) = stage.sign("root", "addBudget=1&queue=alice");
    let rebound = ask(&format!("/scheduler?{query}"), &format!("Host: rebound.example\r\n{signature}")).await;
    assert!(rebound.status_line.starts_with("HTTP/1.1 421 "), "{}", rebound.status_line);
    assert_eq!(stage.balance("alice").as_deref(), Some("100.0"));
    assert_eq!(ask("/healthz", "Host: rebound.example\r\n").await.body, "ok\n");
}

/// Half of a request for a page that is always there.
const HALF: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n";

#[tokio::test(start_paused = true)]
async fn over_the_limit_connections_wait_while_all_are_asked_for_something() {
    // Half of them for one address.
    let stage = Stage::with(WebLimits { connections: 4, ..WebLimits::default() }, true).await;
    stage.cluster.held.store(true, Ordering::SeqCst);
    let mut busy = stage.connect().await;
    busy.write_all(b"GET /scheduler?price HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    stage.cluster.asked.notified().await;
    let mut next = stage.connect().await;
    next.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut byte = [0];
    let early = timeout(Duration::from_secs(5), next.read(&mut byte)).await;
    assert!(early.is_err(), "answered or closed beyond the limit: {early:?}");
    stage.cluster.release.notify_one();
    assert!(read_to_end(busy).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(read_to_end(next).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn idle_and_half_asked_connections_give_way() {
    let stage = Stage::with(WebLimits { connections: 100, ..WebLimits::default() }, true).await;
    let mut idle = Vec::new();
    for number in 0..220 {
        let mut stream = stage.connect().await;
        if number % 2 == 0 {
            stream.write_all(HALF).await.unwrap();
        }
        idle.push(stream);
    }
    // Their time is 10 s.
    let answer = timeout(Duration::from_secs(5), stage.get("/healthz")).await.expect("waits for half requests");
    assert_eq!(answer.status_line, "HTTP/1.1 200 OK");
    let first = idle.remove(0);
    let closed = timeout(Duration::from_secs(5), read_to_end(first)).await.expect("the oldest keeps its place");
    assert_eq!(closed, "");
}

#[tokio::test]
async fn a_client_that_reads_a_little_now_and_then_is_dropped() {
    // By the clock of the kernel, which no test can turn.
    let limits = WebLimits { connections: 1, write: Duration::from_millis(400), ..WebLimits::default() };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    // Both small, so that the server hears of every little that is taken.
    socket2::SockRef::from(&listener).set_send_buffer_size(4_096).unwrap();
    let stage = Stage::on(listener, limits, true);
    *stage.cluster.overview.lock().unwrap() = Arc::new(long_overview());
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut slow = socket.connect(stage.address).await.unwrap();
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    tokio::spawn(async move {
        let mut piece = [0; 600];
        while slow.read(&mut piece).await.is_ok_and(|count| count > 0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let answer = timeout(Duration::from_secs(5), stage.get("/healthz")).await.expect("the slow one keeps its place");
    assert_eq!(answer.status_line, "HTTP/1.1 200 OK");
}

/// Its metrics are more than the buffers of both kernels hold.
fn long_overview() -> ClusterSnapshot {
    let queue = |number: usize| QueueSnapshot { name: format!("{number:0>255}"), ..QueueSnapshot::default() };
    ClusterSnapshot { queues: (0..20_000).map(queue).collect(), ..ClusterSnapshot::default() }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_is_dropped() {
    let stage = Stage::with(WebLimits { connections: 1, ..WebLimits::default() }, true).await;
    *stage.cluster.overview.lock().unwrap() = Arc::new(long_overview());
    let mut deaf = stage.connect().await;
    deaf.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    // There is one place only, and it becomes free.
    let answer =
        timeout(Duration::from_secs(25), stage.get("/healthz")).await.expect("the deaf client keeps its place");
    assert_eq!(answer.status_line, "HTTP/1.1 200 OK");
    drop(deaf);
}

#[tokio::test]
async fn a_request_in_hand_is_answered_at_shutdown() {
    let mut stage = Stage::new().await;
    stage.cluster.held.store(true, Ordering::SeqCst);
    let mut stream = stage.connect().await;
    stream.write_all(b"GET /scheduler?price HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    stage.cluster.asked.notified().await;
    stage.shutdown.take().unwrap().send(()).unwrap();
    stage.cluster.release.notify_one();
    assert!(read_to_end(stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
    (&mut stage.serving).await.unwrap();
    assert!(tokio::net::TcpStream::connect(stage.address).await.is_err(), "still listening");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_end_does_not_hold_up_the_shutdown() {
    let mut stage = Stage::new().await;
    stage.cluster.held.store(true, Ordering::SeqCst);
    let mut stream = stage.connect().await;
    stream.write_all(b"GET /scheduler?price HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    stage.cluster.asked.notified().await;
    stage.shutdown.take().unwrap().send(()).unwrap();
    timeout(Duration::from_secs(6), &mut stage.serving).await.expect("the drain has no end").unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_get_an_answer_or_an_end(
        prefix in prop_oneof![Just(""), Just("GET "), Just("GET /scheduler?"), Just("POST / HTTP/1.1\r\n")],
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stage = Stage::new().await;
            let mut stream = stage.connect().await;
            let _ = stream.write_all(&[prefix.as_bytes(), &bytes].concat()).await;
            let _ = stream.shutdown().await;
            let answer = read_to_end(stream).await;
            assert!(answer.is_empty() || answer.starts_with("HTTP/1."), "{answer:?}");
            assert_eq!(stage.get("/healthz").await.status_line, "HTTP/1.1 200 OK");
        });
    }
}
