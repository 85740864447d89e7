//! Bodies as they arrive: their type, size and time.

use super::super::body_bytes::MAX_BODY_BYTES;
use super::*;

const BODY: &str = r#"{"attempt":1,"response-id":0}"#;

#[tokio::test]
async fn a_body_is_json_by_its_header() {
    let served = Served::empty();
    let ask = async |kind: Option<&str>| {
        let mut request = signed_request("alice", "alicekey-abc", "POST", &format!("{APP}/allocate"), Some(BODY));
        match kind {
            None => drop(request.headers_mut().remove(CONTENT_TYPE)),
            Some(kind) => drop(request.headers_mut().insert(CONTENT_TYPE, kind.parse().unwrap())),
        }
        served.send(request).await.problem()
    };
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=UTF-8"] {
        assert_eq!(ask(Some(kind)).await.0, 404, "{kind}");
    }
    for kind in [None, Some("text/plain"), Some("application/json; charset=latin1"), Some("application/jsonp")] {
        assert_eq!(ask(kind).await, (415, "unsupported-media-type".to_owned()), "{kind:?}");
    }
}

#[tokio::test]
async fn a_body_has_8_mib() {
    let served = Served::empty();
    let send = async |bytes: usize| {
        let body = " ".repeat(bytes - BODY.len()) + BODY;
        served.ask("POST", &format!("{APP}/allocate"), Some(&body)).await.problem()
    };
    assert_eq!(send(MAX_BODY_BYTES).await.0, 404);
    assert_eq!(send(MAX_BODY_BYTES + 1).await, (413, "body-too-large".to_owned()));
}

#[tokio::test]
async fn where_none_is_expected_none_is_taken() {
    let served = Served::empty();
    for (method, target) in [("GET", APP), ("POST", "/ws/v1/cluster/apps/new-application")] {
        let answered = served.ask(method, target, Some("{}")).await;
        assert_eq!(answered.problem(), (400, "invalid-request".to_owned()));
        assert_eq!(answered.json()["detail"], "expected no body here");
    }
    assert!(served.questions().is_empty());
}

/// A body whose bytes never come.
struct Silent;

impl hyper::body::Body for Silent {
    type Data = axum::body::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let served = Served::empty();
    let mut request = signed_request("alice", "alicekey-abc", "POST", &format!("{APP}/allocate"), Some(BODY));
    *request.body_mut() = Body::new(Silent);
    assert_eq!(served.send(request).await.problem(), (408, "body-timed-out".to_owned()));
}

#[tokio::test]
async fn a_digest_is_passed_on_with_what_was_read() {
    let served = Served::empty();
    served.ask("POST", &format!("{APP}/allocate"), Some(BODY)).await;
    let questions = served.questions();
    let [ApplicationQuestion::Allocate { application, call, digest }] = questions.as_slice() else { panic!() };
    assert_eq!((*application, call.attempt, call.response_id), (APPLICATION, 1, 0));
    assert_eq!(digest[..4], [0x4c, 0x38, 0x30, 0xbf]);
}
