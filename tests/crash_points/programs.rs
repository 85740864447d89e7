//! Users and programs who ask for containers over HTTP until they are answered, and what they were answered.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::container_workers::{ContainerWorkers, ROUNDS};
use crate::daemon::answered::Answered;
use crate::daemon::child::TIMEOUT;
use crate::stage::Stage;

use jobtracker::market::Key;
use jobtracker::market::signature::sign;

/// How long a call waits for news, ms: after a crash there may be none.
const WAIT_MS: u32 = 1_000;

/// Who signs: a user of the list, or an application by its secret.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: String,
}

/// A program of an application, with what it was answered.
pub struct Program {
    pub id: String,
    pub signer: Signer,
    attempt: u64,
    response_id: u64,
    /// Containers that answers to this attempt have granted.
    pub granted: BTreeSet<String>,
    /// Statuses that have come, with what is not acknowledged yet.
    pub statuses: Vec<(String, i64)>,
    unacknowledged: Vec<(String, i64)>,
    /// The last call and its answer.
    last: Option<(Value, String)>,
}

// === impl Signer ===

impl Signer {
    pub fn user(name: &str) -> Self {
        Self { name: name.to_owned(), key: format!("{name}key") }
    }

    fn target(&self, method: &str, path: &str, body: &str, stamp_ms: i64) -> (String, String) {
        let separator = if path.contains('?') { '&' } else { '?' };
        let Self { name, key } = self;
        let mut target = format!("/ws/v1/cluster{path}{separator}user={name}&timestamp={stamp_ms}");
        if !body.is_empty() {
            let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
            target += &format!("&sha256={digest}");
        }
        let signature = sign(&format!("{method} {target}"), &Key::new(key));
        (target, signature)
    }
}

/// Sends a request; an error means that it may not have arrived.
fn send(stage: &mut Stage, signer: &Signer, method: &str, path: &str, body: Option<&Value>) -> io::Result<TcpStream> {
    let body = body.map(ToString::to_string).unwrap_or_default();
    // One that a crash has left unanswered may have used its signature.
    let (target, signature) = signer.target(method, path, &body, stage.next_stamp());
    let http: SocketAddr = stage.http();
    let mut stream = TcpStream::connect(http)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nAuthorization: {signature}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

fn receive(mut stream: TcpStream) -> io::Result<(u16, String)> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let answered = Answered::parse(&answer);
    Ok((answered.status, answered.body))
}

/// Asks until there is an answer: its status and its bytes.
pub fn ask(stage: &mut Stage, signer: &Signer, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    loop {
        match send(stage, signer, method, path, body).and_then(receive) {
            Ok(answer) => return answer,
            Err(_) => stage.revive(),
        }
    }
}

/// The same of what is to succeed.
pub fn done(stage: &mut Stage, signer: &Signer, method: &str, path: &str, body: Option<&Value>) -> Value {
    let (status, text) = ask(stage, signer, method, path, body);
    assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
    serde_json::from_str(&text).unwrap()
}

/// Submits an application under a fresh id; returns the id and its secret. A crash forgets ids that were not used.
pub fn submit(stage: &mut Stage, signer: &Signer, mut body: Value) -> (String, String) {
    loop {
        let answer = done(stage, signer, "POST", "/apps/new-application", None);
        let id = answer["application-id"].as_str().unwrap().to_owned();
        body["application-id"] = json!(id);
        let (status, text) = ask(stage, signer, "POST", "/apps", Some(&body));
        if status == 404 {
            continue;
        }
        assert_eq!(status, 202, "{text}");
        let (again, repeated) = ask(stage, signer, "POST", "/apps", Some(&body));
        let secret = |text: &str| serde_json::from_str::<Value>(text).unwrap()["secret"].as_str().unwrap().to_owned();
        assert_eq!((again, secret(&repeated)), (202, secret(&text)), "a submission that is repeated");
        return (id, secret(&text));
    }
}

pub fn report(stage: &mut Stage, signer: &Signer, id: &str) -> Value {
    done(stage, signer, "GET", &format!("/apps/{id}"), None)["app"].clone()
}

/// Rounds of the workers until an application is over and nothing of it lives.
pub fn await_end(stage: &mut Stage, workers: &mut ContainerWorkers, signer: &Signer, id: &str) -> Value {
    for _ in 0..ROUNDS {
        let app = report(stage, signer, id);
        let is_over = ["FINISHED", "FAILED", "KILLED"].iter().any(|state| app["state"] == *state);
        if is_over && app["runningContainers"] == 0 {
            return app;
        }
        workers.round(stage);
    }
    panic!("{id} does not end");
}

// === impl Program ===

impl Program {
    pub fn new(id: &str, secret: &str) -> Self {
        Self {
            id: id.to_owned(),
            signer: Signer { name: id.to_owned(), key: secret.to_owned() },
            attempt: 0,
            response_id: 0,
            granted: BTreeSet::new(),
            statuses: Vec::new(),
            unacknowledged: Vec::new(),
            last: None,
        }
    }

    fn path(&self, what: &str) -> String {
        format!("/apps/{}/{what}", self.id)
    }

    /// Registers; returns the live containers that are listed. What the one before has not acknowledged comes again.
    pub fn register(&mut self, stage: &mut Stage) -> Vec<String> {
        let answer = done(stage, &self.signer, "POST", &self.path("register"), Some(&json!({})));
        let attempt = answer["attempt"].as_u64().unwrap();
        assert!(attempt > self.attempt, "{answer}");
        (self.attempt, self.response_id) = (attempt, 0);
        let again = std::mem::take(&mut self.unacknowledged);
        self.statuses.retain(|status| !again.contains(status));
        let listed = answer["containers"].as_array().unwrap().iter();
        let listed: Vec<String> = listed.map(|one| one["container-id"].as_str().unwrap().to_owned()).collect();
        self.granted.extend(listed.iter().cloned());
        listed
    }

    fn body(&self, mut parts: Value) -> Value {
        parts["attempt"] = json!(self.attempt);
        parts["response-id"] = json!(self.response_id);
        parts
    }

    /// A call of `allocate`, and the same again, as after a lost answer: the same bytes.
    pub fn call(&mut self, stage: &mut Stage, parts: Value) -> Value {
        let body = self.body(parts);
        let answer = ask(stage, &self.signer, "POST", &self.path("allocate"), Some(&body));
        self.take(stage, &body, answer)
    }

    /// A call that is held until there is news, while the workers beat.
    pub fn wait(&mut self, stage: &mut Stage, workers: &mut ContainerWorkers, mut parts: Value) -> Value {
        parts["wait-ms"] = json!(WAIT_MS);
        let body = self.body(parts);
        let answer = loop {
            let held = send(stage, &self.signer, "POST", &self.path("allocate"), Some(&body));
            // Where the daemon dies, it is the workers who find out.
            workers.round(stage);
            if let Ok(answer) = held.and_then(receive) {
                break answer;
            }
        };
        self.take(stage, &body, answer)
    }

    fn take(&mut self, stage: &mut Stage, body: &Value, (status, text): (u16, String)) -> Value {
        assert_eq!(status, 200, "{body}: {text}");
        let repeated = ask(stage, &self.signer, "POST", &self.path("allocate"), Some(body));
        assert_eq!(repeated, (status, text.clone()), "a call that is repeated is answered by the same bytes");
        let answer: Value = serde_json::from_str(&text).unwrap();
        self.response_id += 1;
        assert_eq!(answer["response-id"], json!(self.response_id), "{answer}");
        self.unacknowledged.clear();
        self.last = Some((body.clone(), text));
        for granted in answer["allocated-containers"].as_array().unwrap() {
            let id = granted["container-id"].as_str().unwrap();
            assert!(self.granted.insert(id.to_owned()), "{id} is granted a second time");
        }
        for status in answer["completed-container-statuses"].as_array().unwrap() {
            let id = status["container-id"].as_str().unwrap().to_owned();
            assert!(self.statuses.iter().all(|(known, _)| *known != id), "the end of {id} comes a second time");
            let status = (id, status["exit-status"].as_i64().unwrap());
            self.statuses.push(status.clone());
            self.unacknowledged.push(status);
        }
        answer
    }

    /// The last call again, as by a program that has not received its answer: the same bytes, and nothing is done.
    pub fn repeat_last(&self, stage: &mut Stage) {
        let (body, text) = self.last.as_ref().expect("a call");
        let repeated = ask(stage, &self.signer, "POST", &self.path("allocate"), Some(body));
        assert_eq!(repeated, (200, text.clone()));
    }

    /// Calls and rounds until something is so.
    pub fn call_until(
        &mut self,
        stage: &mut Stage,
        workers: &mut ContainerWorkers,
        what: &str,
        is_so: impl Fn(&Self) -> bool,
    ) {
        for _ in 0..ROUNDS {
            if is_so(self) {
                return;
            }
            workers.round(stage);
            self.call(stage, json!({}));
        }
        panic!("{what} does not come");
    }

    /// A call of an attempt that another has followed.
    pub fn call_superseded(&self, stage: &mut Stage, attempt: u64) {
        let body = json!({"attempt": attempt, "response-id": 0});
        let (status, text) = ask(stage, &self.signer, "POST", &self.path("allocate"), Some(&body));
        assert!(status == 409 && text.contains("/problems/superseded"), "{status} {text}");
    }

    /// Ends the application, and says so a second time.
    pub fn unregister(&mut self, stage: &mut Stage) {
        let body = json!({"attempt": self.attempt, "final-status": "SUCCEEDED", "diagnostics": "well"});
        let path = self.path("unregister");
        let answer = ask(stage, &self.signer, "POST", &path, Some(&body));
        assert_eq!(answer.0, 200, "{answer:?}");
        assert_eq!(ask(stage, &self.signer, "POST", &path, Some(&body)), answer);
    }

    pub fn attempt(&self) -> u64 {
        self.attempt
    }
}
