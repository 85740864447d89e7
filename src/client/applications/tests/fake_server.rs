//! A server whose answers a test makes, one connection for each request.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// The head without its first line, in lower case but for values.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status such as `200 OK`, further headers, a body.
    Answer { status: &'static str, headers: String, body: Vec<u8> },
    /// The connection is closed without an answer.
    Lost,
    /// Nothing, until the client goes.
    Held,
}

/// A server.
pub(crate) struct FakeServer {
    /// Its address.
    pub(crate) address: String,
    sent: Arc<Mutex<Vec<Sent>>>,
    serving: JoinHandle<()>,
}

impl Reply {
    /// A good answer.
    pub(crate) fn json(body: impl ToString) -> Self {
        Self::Answer { status: "200 OK", headers: String::new(), body: body.to_string().into_bytes() }
    }

    /// A refusal.
    pub(crate) fn problem(status: &'static str, name: &str, more: serde_json::Value) -> Self {
        let mut body = serde_json::json!({ "type": format!("/problems/{name}"), "title": name });
        let members = more.as_object().into_iter().flatten();
        members.for_each(|(member, value)| body[member] = value.clone());
        Self::Answer { status, headers: String::new(), body: body.to_string().into_bytes() }
    }

    /// Bytes.
    pub(crate) fn bytes(body: &[u8]) -> Self {
        Self::Answer { status: "200 OK", headers: String::new(), body: body.to_vec() }
    }

    /// An answer that points elsewhere.
    pub(crate) fn redirect(location: &str) -> Self {
        let headers = format!("Location: {location}\r\n");
        Self::Answer { status: "307 Temporary Redirect", headers, body: Vec::new() }
    }
}

impl FakeServer {
    /// Serves what `answer` makes of each request, until it is dropped.
    pub(crate) async fn start(answer: impl FnMut(&Sent) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&sent), Arc::new(Mutex::new(answer)));
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                tokio::spawn(async move {
                    let (stream, request) = read(stream).await;
                    seen.lock().unwrap().push(request.clone());
                    let reply = answer.lock().unwrap()(&request);
                    respond(stream, reply).await;
                });
            }
        });
        Self { address, sent, serving }
    }

    /// Serves these answers, one after the other.
    pub(crate) async fn of(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::start(move |sent| replies.next().unwrap_or_else(|| panic!("no answer is left for {sent:?}"))).await
    }

    /// All requests until now.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn read(mut stream: TcpStream) -> (TcpStream, Sent) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let (first, head) = head.split_once("\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    (stream, Sent { method, target, head: head.to_owned(), body: String::from_utf8(body).unwrap() })
}

async fn respond(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Answer { status, headers, body } => {
            let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
            // The client may be gone.
            let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
        }
        Reply::Lost => {}
        Reply::Held => drop(stream.read(&mut [0]).await),
    }
}
