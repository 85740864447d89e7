//! Requests about applications that are forged, repeated, huge, slow or malformed, over real connections; and a disk that is full.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::applications::http::{ask, done, new_id, place};
use crate::daemon::answered::Answered;
use crate::daemon::child::{DaemonFolders, TIMEOUT};
use crate::daemon::signer::{Signer, exchange, request};

const MIB: usize = 1 << 20;
/// So many bodies are never completed.
const SLOW: usize = 100;

/// A place with keys.
fn signed_place() -> DaemonFolders {
    let mut place = DaemonFolders::new("");
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place
}

/// The kind of problem that an answer is, with its status.
fn problem(answered: &Answered) -> (u16, String) {
    let problem: Value = serde_json::from_str(&answered.body).unwrap_or_else(|_| panic!("{answered:?}"));
    (answered.status, problem["type"].as_str().unwrap().trim_start_matches("/problems/").to_owned())
}

/// The head of a request with a body, and what names its user.
fn head(http: SocketAddr, path: &str, length: &str) -> String {
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    format!(
        "POST /ws/v1/cluster{path}?user.name={user} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nX-Requested-By: test\r\n\
         Content-Type: application/json\r\n{length}\r\n\r\n"
    )
}

fn connect(http: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

fn answer_of(mut stream: TcpStream) -> Answered {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answered::parse(&answer)
}

#[test]
fn a_request_that_is_not_signed_as_it_is_sent_or_was_sent_before_does_nothing() {
    let place = signed_place();
    let serving = place.start();
    let http = serving.http;
    let mut alice = Signer::new("alice", "alicekey");
    let id = alice.new_id(http);
    let body = json!({"application-id": id, "application-name": "a"}).to_string();
    let other = json!({"application-id": id, "application-name": "b"}).to_string();
    let refused = (401, "signature-refused".to_owned());
    let mut sent = |method: &str, change: &dyn Fn(&str, &str) -> (String, String), body_sent: &str| {
        let (target, signature) = alice.sign("POST", "/apps", &body);
        let (target, signature) = change(&target, &signature);
        exchange(http, &request(http, method, &target, &signature, body_sent))
    };
    let same = |target: &str, signature: &str| (target.to_owned(), signature.to_owned());
    // Another body than the digest's; the digest replaced with it; none at all.
    assert_eq!(problem(&sent("POST", &same, &other)), refused);
    let digest_of = |target: &str| target.rsplit_once("sha256=").unwrap().1.to_owned();
    let zeros =
        |target: &str, signature: &str| (target.replace(&digest_of(target), &"0".repeat(64)), signature.to_owned());
    assert_eq!(problem(&sent("POST", &zeros, &body)), refused);
    let none = |target: &str, signature: &str| {
        (target.replace(&format!("&sha256={}", digest_of(target)), ""), signature.to_owned())
    };
    assert_eq!(problem(&sent("POST", &none, &body)), refused);
    // Another path, another method, another user, another query, another signature.
    let path = format!("/apps/{id}/register");
    let elsewhere =
        |target: &str, signature: &str| (target.replace("/apps?", &format!("{path}?")), signature.to_owned());
    assert_eq!(problem(&sent("POST", &elsewhere, &body)), refused);
    assert_eq!(problem(&sent("GET", &same, &body)), refused);
    let as_bob = |target: &str, signature: &str| (target.replace("user=alice", "user=bob"), signature.to_owned());
    assert_eq!(problem(&sent("POST", &as_bob, &body)), refused);
    let further = |target: &str, signature: &str| (format!("{target}&limit=1"), signature.to_owned());
    assert_eq!(problem(&sent("POST", &further, &body)), refused);
    let cut = |target: &str, signature: &str| (target.to_owned(), signature[1..].to_owned());
    assert_eq!(problem(&sent("POST", &cut, &body)), refused);
    let listed = alice.done(http, "GET", "/apps", None);
    assert_eq!(listed["apps"]["app"], json!([]), "nothing was submitted");
    // Good once.
    let (target, signature) = alice.sign("POST", "/apps", &body);
    let good = request(http, "POST", &target, &signature, &body);
    assert_eq!(exchange(http, &good).status, 202);
    let replayed = exchange(http, &good);
    assert_eq!(problem(&replayed), (401, "timestamp-refused".to_owned()));
    assert!(replayed.body.contains("\"server-time-ms\":"), "{replayed:?}");
    // The secret of an application is good for its own addresses only.
    let submitted = alice.done(http, "POST", "/apps", Some(&serde_json::from_str(&body).unwrap()));
    let mut application = Signer::new(&id, submitted["secret"].as_str().unwrap());
    let theirs = alice.new_id(http);
    let of_other = json!({"application-id": theirs, "application-name": "other"});
    alice.done(http, "POST", "/apps", Some(&of_other));
    let answered = application.ask(http, "POST", &format!("/apps/{theirs}/register"), Some(&json!({})));
    assert_eq!(problem(&answered), (403, "forbidden".to_owned()));
    let mut bob = Signer::new("bob", "bobkey");
    let answered = bob.ask(http, "PUT", &format!("/apps/{id}/state"), Some(&json!({"state": "KILLED"})));
    assert_eq!(problem(&answered), (403, "forbidden".to_owned()));
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn huge_and_malformed_bodies_are_refused_with_what_is_wrong_and_cost_nothing() {
    let place = place();
    let serving = place.start();
    let http = serving.http;
    let id = new_id(http);
    done(http, "POST", "/apps", Some(&json!({"application-id": id, "application-name": "a"})));
    done(http, "POST", &format!("/apps/{id}/register"), Some(&json!({})));
    let allocate = format!("/apps/{id}/allocate");
    let before = serving.resident_bytes();
    let too_large = (413, "body-too-large".to_owned());
    for _ in 0..10 {
        // Refused by its head alone; refused where it grows too large, in pieces whose sum nothing has announced.
        let mut stream = connect(http);
        let length = format!("Content-Length: {}", 8 * MIB + 1);
        stream.write_all(head(http, &allocate, &length).as_bytes()).unwrap();
        assert_eq!(problem(&answer_of(stream)), too_large);
        let mut stream = connect(http);
        stream.write_all(head(http, &allocate, "Transfer-Encoding: chunked").as_bytes()).unwrap();
        let piece = format!("100000\r\n{}\r\n", " ".repeat(MIB));
        while stream.write_all(piece.as_bytes()).is_ok() && stream.peek_is_empty() {}
        assert_eq!(problem(&answer_of(stream)), too_large);
    }
    // As large as may be, and nothing but brackets.
    for text in ["[".repeat(8 * MIB), "{\"ask\":".repeat(MIB), format!("{{\"a\":\"{}\"}}", "x".repeat(8 * MIB - 8))] {
        let sent = head(http, &allocate, &format!("Content-Length: {}", text.len())) + &text;
        assert_eq!(problem(&exchange(http, &sent)), (400, "invalid-request".to_owned()));
    }
    // Each fault is pointed at, and nothing of the call is applied.
    let row = |name: &str| json!({"priority": 1, "resource-name": name, "capability": {"memory": 512, "vCores": 1}, "num-containers": 1});
    let mut bad = row("*");
    bad["capability"]["memory"] = json!("much");
    let mut worse = row("h1");
    worse["priority"] = json!(-1);
    let call = json!({"attempt": 1, "response-id": 0, "ask": [row("*"), bad, worse], "release": ["no id"], "more": 1});
    let (status, refusal) = ask(http, "POST", &allocate, Some(&call));
    let pointers: Vec<&str> =
        refusal["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(status, 400, "{refusal}");
    for expected in ["#/ask/1/capability/memory", "#/ask/2/priority", "#/release/0", "#/more"] {
        assert!(pointers.contains(&expected), "{refusal}");
    }
    let app = done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
    assert_eq!((&app["resourceRequests"], &app["responseId"]), (&json!([]), &json!(0)), "{app}");
    // More rows than a call may have.
    let rows: Vec<Value> = (0..20_001).map(|number| row(&format!("h{number}"))).collect();
    let (status, refusal) = ask(http, "POST", &allocate, Some(&json!({"attempt": 1, "response-id": 0, "ask": rows})));
    assert!(status == 400 || status == 429, "{refusal}");
    let grown = serving.resident_bytes().saturating_sub(before);
    assert!(grown < 96 * MIB as u64, "{grown} bytes more");
    assert_eq!(serving.stop().0, 0);
}

/// Whether nothing has come yet.
trait Peek {
    fn peek_is_empty(&self) -> bool;
}

impl Peek for TcpStream {
    fn peek_is_empty(&self) -> bool {
        self.set_nonblocking(true).unwrap();
        let is_empty = self.peek(&mut [0]).is_err();
        self.set_nonblocking(false).unwrap();
        is_empty
    }
}

#[test]
fn bodies_that_do_not_come_hinder_no_other_request_and_are_ended() {
    let place = place();
    let serving = place.start();
    let http = serving.http;
    let descriptors = serving.descriptors();
    let half = head(http, "/apps", "Content-Length: 1000") + "{\"application-id\":";
    let slow: Vec<TcpStream> = (0..SLOW)
        .map(|_| {
            let mut stream = connect(http);
            stream.write_all(half.as_bytes()).unwrap();
            stream
        })
        .collect();
    // Others are served as ever.
    let id = new_id(http);
    done(http, "POST", "/apps", Some(&json!({"application-id": id, "application-name": "meanwhile"})));
    assert!(slow.iter().all(TcpStream::peek_is_empty), "none is answered before the rest of its body");
    // Some break off; the rest is ended.
    for (number, stream) in slow.into_iter().enumerate() {
        if number % 2 == 0 {
            drop(stream);
        } else {
            assert_eq!(problem(&answer_of(stream)), (408, "body-timed-out".to_owned()));
        }
    }
    let apps = done(http, "GET", "/apps", None);
    assert_eq!(apps["apps"]["app"].as_array().map(Vec::len), Some(1), "{apps}");
    while serving.descriptors() > descriptors + 2 {
        std::thread::yield_now();
    }
    assert_eq!(serving.stop().0, 0);
}
