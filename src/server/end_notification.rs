//! Tells owners of jobs that these are over, by the URL they named (1.2.1 `JobEndNotifier`). What waits here is lost by a
//! restart, as in 1.2.1; unlike there nobody's slow server delays the others.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use hyper::header::{ACCEPT, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::mapreduce::EndNotification;
use crate::wire::JobId;

/// Calls under way at one time.
const AT_ONE_TIME: usize = 16;
/// Notifications that wait for their turn or their next call; more are dropped.
const MOST_WAITING: usize = 10_000;
/// Longest time for one call, whatever a job asks for, ms.
const MOST_TIMEOUT_MS: u64 = 60_000;
/// What 1.2.1 escapes too, since users write it: everything that no URL may hold.
const NOT_IN_URLS: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

/// Calls the URLs.
#[derive(Debug)]
pub(super) struct Notifier {
    turns: Semaphore,
    waiting: Cell<usize>,
}

/// Why a call did not tell anybody.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("it is no URL: {0}")]
    NotAUrl(#[from] hyper::http::Error),
    #[error("only http: is spoken, with a host")]
    NotHttp,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it did not answer within {0} ms")]
    TooSlow(u64),
}

// === impl CallError ===

impl CallError {
    /// Whether another call may go better.
    fn may_pass(&self) -> bool {
        !matches!(self, Self::NotAUrl(_) | Self::NotHttp)
    }
}

// === impl Notifier ===

impl Default for Notifier {
    fn default() -> Self {
        Self { turns: Semaphore::new(AT_ONE_TIME), waiting: Cell::new(0) }
    }
}

impl Notifier {
    /// Calls soon, and again if need be. Must run where local tasks can be spawned.
    pub(super) fn notify(self: Rc<Self>, job: JobId, notification: EndNotification) {
        if self.waiting.get() >= MOST_WAITING {
            tracing::warn!("the end of {job} is told to nobody: {MOST_WAITING} notifications wait already");
            return;
        }
        self.waiting.set(self.waiting.get() + 1);
        tokio::task::spawn_local(async move {
            self.tell(job, &notification).await;
            self.waiting.set(self.waiting.get() - 1);
        });
    }

    /// Whether somebody has heard.
    async fn tell(&self, job: JobId, notification: &EndNotification) -> bool {
        for left in (0..=notification.retries).rev() {
            let called = {
                let _turn = self.turns.acquire().await;
                call(&notification.url, notification.timeout_ms.min(MOST_TIMEOUT_MS)).await
            };
            let error = match called {
                Ok(()) => return true,
                Err(error) => error,
            };
            let left = if error.may_pass() { left } else { 0 };
            // A URL may carry a secret: its owner knows it, the log need not.
            tracing::warn!("the owner of {job} could not be told of its end: {error}; {left} more tries");
            if left == 0 {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(notification.retry_interval_ms)).await;
        }
        false
    }
}

/// One GET; any status of success will do.
async fn call(url: &str, timeout_ms: u64) -> Result<(), CallError> {
    let status = tokio::time::timeout(Duration::from_millis(timeout_ms), get(url)).await;
    match status.map_err(|_| CallError::TooSlow(timeout_ms))?? {
        status if status.is_success() => Ok(()),
        status => Err(CallError::Status(status)),
    }
}

async fn get(url: &str) -> Result<StatusCode, CallError> {
    let escaped = utf8_percent_encode(url, NOT_IN_URLS).to_string();
    let url: Uri = escaped.parse().map_err(hyper::http::Error::from)?;
    let (Some("http"), Some(host)) = (url.scheme_str(), url.host()) else { return Err(CallError::NotHttp) };
    let port = url.port_u16().unwrap_or(80);
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let host_header = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let request = Request::get(path).header(HOST, host_header).header(ACCEPT, "*/*").body(String::new())?;
    // An address of IPv6 stands in brackets in a URL only.
    let stream = TcpStream::connect((host.trim_start_matches('[').trim_end_matches(']'), port)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The head of the answer is all that matters: the connection goes with its future.
    let mut answered = pin!(sender.send_request(request));
    let response = tokio::select! {
        response = &mut answered => response?,
        ended = connection => {
            ended?;
            // It may have ended after the answer.
            answered.await?
        }
    };
    Ok(response.status())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Serves one answer after the other; returns what was asked for.
    async fn serve(listener: &TcpListener, answers: &[&str]) -> Vec<String> {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            asked.push(String::from_utf8(head).unwrap());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    }

    async fn listener() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    fn notification(url: String, retries: u32) -> EndNotification {
        EndNotification { url, retries, retry_interval_ms: 1, timeout_ms: 20_000 }
    }

    const JOB: &str = "job_202611210913_0001";
    const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const BAD: &str = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";

    #[tokio::test]
    async fn an_owner_is_called_until_he_has_heard() {
        let (listener, address) = listener().await;
        let url = notification(format!("http://{address}/end?job={JOB}&by=a b"), 2);
        let notifier = Notifier::default();
        // Nothing but a hang-up is an answer too.
        let (asked, heard) =
            tokio::join!(serve(&listener, &[BAD, "", GOOD]), notifier.tell(JOB.parse().unwrap(), &url));
        assert!(heard);
        assert_eq!(asked.len(), 3);
        let first = asked[0].to_lowercase();
        assert!(asked[0].starts_with(&format!("GET /end?job={JOB}&by=a%20b HTTP/1.1\r\n")), "{}", asked[0]);
        assert!(first.contains(&format!("host: {address}\r\n")) && first.contains("accept: */*\r\n"), "{first}");
    }

    #[tokio::test]
    async fn tries_are_counted() {
        let (listener, address) = listener().await;
        let notifier = Notifier::default();
        let url = notification(format!("http://{address}"), 1);
        let (asked, heard) = tokio::join!(serve(&listener, &[BAD, BAD]), notifier.tell(JOB.parse().unwrap(), &url));
        assert!(!heard);
        assert!(asked.iter().all(|asked| asked.starts_with("GET / HTTP/1.1\r\n")));
    }

    #[tokio::test]
    async fn what_can_never_be_called_is_tried_once() {
        let notifier = Notifier::default();
        for url in ["https://localhost/", "nonsense", "", "/end", "file:///etc/passwd", "http://[::1/"] {
            // With a pause that nobody could wait for.
            let never = EndNotification { retry_interval_ms: u64::MAX >> 20, ..notification(url.to_owned(), 3) };
            assert!(!notifier.tell(JOB.parse().unwrap(), &never).await);
            assert!(!get(url).await.unwrap_err().may_pass(), "{url}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_given_up() {
        let (_listener, address) = listener().await;
        let error = call(&format!("http://{address}/"), 5_000).await.unwrap_err();
        assert_eq!(error.to_string(), "it did not answer within 5000 ms");
    }
}
