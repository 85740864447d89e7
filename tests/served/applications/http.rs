//! Requests about applications, of a user of this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::daemon::answered::Answered;
use crate::daemon::child::{DaemonFolders, TIMEOUT};

/// A request that is under way.
pub struct Asked(TcpStream);

/// A place without keys: requests come from this machine alone.
pub fn place() -> DaemonFolders {
    // What outlives its parent is ours to wait for.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let mut place = DaemonFolders::new("");
    std::fs::remove_file(place.acl()).unwrap();
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place
}

/// Sends a request below `/ws/v1/cluster`.
pub fn send(http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Asked {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let separator = if path.contains('?') { '&' } else { '?' };
    let body = body.map(ToString::to_string).unwrap_or_default();
    let request = format!(
        "{method} /ws/v1/cluster{path}{separator}user.name={user} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\
         X-Requested-By: test\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    Asked(stream)
}

/// Sends a signed request for a target.
pub fn send_signed(http: SocketAddr, method: &str, target: &str, authorization: &str, body: &str) -> Asked {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nAuthorization: {authorization}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    Asked(stream)
}

/// SHA-256 of a body, hex digits.
pub fn sha256(body: &str) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The answer of a request: status, and all of it as it came.
pub fn send_raw(http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    let mut answer = Vec::new();
    send(http, method, path, body).0.read_to_end(&mut answer).unwrap();
    (Answered::parse(&answer).status, String::from_utf8(answer).unwrap())
}

/// The answer of a request: status and JSON.
pub fn ask(http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    send(http, method, path, body).answer()
}

/// The same of a request that is to succeed.
pub fn done(http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Value {
    let (status, answer) = ask(http, method, path, body);
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

/// A fresh id of an application.
pub fn new_id(http: SocketAddr) -> String {
    let answer = done(http, "POST", "/apps/new-application", None);
    answer["application-id"].as_str().unwrap().to_owned()
}

// === impl Asked ===

impl Asked {
    pub fn answer(self) -> (u16, Value) {
        let answered = self.answered();
        let json = serde_json::from_str(&answered.body).unwrap_or_else(|error| panic!("{error}: {answered:?}"));
        (answered.status, json)
    }

    /// The answer with its headers.
    pub fn answered(mut self) -> Answered {
        let mut answer = Vec::new();
        self.0.read_to_end(&mut answer).unwrap();
        Answered::parse(&answer)
    }
}
