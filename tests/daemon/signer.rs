//! Signed requests about applications.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;
use jobtracker::market::signature::sign;

use super::answered::Answered;
use super::child::TIMEOUT;

/// Who signs.
pub struct Signer {
    pub name: String,
    key: Key,
    last_ms: i64,
}

// === impl Signer ===

impl Signer {
    pub fn new(name: &str, key: &str) -> Self {
        Self { name: name.to_owned(), key: Key::new(key), last_ms: 0 }
    }

    /// An answer, with its head.
    pub fn ask(&mut self, http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Answered {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let (target, signature) = self.sign(method, path, &body);
        exchange(http, &request(http, method, &target, &signature, &body))
    }

    /// The target of a request below `/ws/v1/cluster`, signed now, and its signature.
    pub fn sign(&mut self, method: &str, path: &str, body: &str) -> (String, String) {
        self.last_ms = wall_ms().max(self.last_ms + 1);
        let separator = if path.contains('?') { '&' } else { '?' };
        let (name, timestamp_ms) = (&self.name, self.last_ms);
        let mut target = format!("/ws/v1/cluster{path}{separator}user={name}&timestamp={timestamp_ms}");
        if !body.is_empty() {
            target += "&sha256=";
            target.extend(Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")));
        }
        let signature = sign(&format!("{method} {target}"), &self.key);
        (target, signature)
    }

    /// The JSON of a request that succeeds.
    pub fn done(&mut self, http: SocketAddr, method: &str, path: &str, body: Option<&Value>) -> Value {
        let answered = self.ask(http, method, path, body);
        assert!((200..300).contains(&answered.status), "{method} {path}: {answered:?}");
        serde_json::from_str(&answered.body).unwrap()
    }

    pub fn new_id(&mut self, http: SocketAddr) -> String {
        self.done(http, "POST", "/apps/new-application", None)["application-id"].as_str().unwrap().to_owned()
    }

    pub fn kill(&mut self, http: SocketAddr, id: &str) {
        self.done(http, "PUT", &format!("/apps/{id}/state"), Some(&json!({"state": "KILLED"})));
    }

    /// The report of an application once it is over.
    pub fn ended(&mut self, http: SocketAddr, id: &str) -> Value {
        let mut app = self.done(http, "GET", &format!("/apps/{id}"), None)["app"].clone();
        while ["ACCEPTED", "RUNNING"].contains(&app["state"].as_str().unwrap()) {
            let version = &app["version"];
            let path = format!("/apps/{id}?version={version}&wait-ms=10000");
            app = self.done(http, "GET", &path, None)["app"].clone();
        }
        app
    }
}

/// A whole request.
pub fn request(http: SocketAddr, method: &str, target: &str, signature: &str, body: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nAuthorization: {signature}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends bytes on a connection of their own; what comes back.
pub fn exchange(http: SocketAddr, request: &str) -> Answered {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // A server that has answered already need not read it all.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answered::parse(&answer)
}
