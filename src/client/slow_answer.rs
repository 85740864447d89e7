//! Answers that take long: the client asks the JobTracker what it waits for, and shows the reason.

use std::pin::pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::header::HOST;
use hyper::{Request, StatusCode};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::http::send_request;

/// Time after which an answer is slow.
const SLOW: Duration = Duration::from_secs(2);
/// Time for the answer to what is wrong.
const READY_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest head and body of that answer, bytes.
const MAX_READY_BYTES: usize = 64 << 10;

/// Shows a line to who waits.
static SHOW: OnceLock<fn(&str)> = OnceLock::new();
/// The line that was shown last.
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// From now on `show` gets a line when an answer is slow and the JobTracker is not ready, each line once.
pub(crate) fn show_slow_answers(show: fn(&str)) {
    // The first way of showing stays.
    let _ = SHOW.set(show);
}

/// Waits for an answer of `server`, `host:port`; once it is slow, shows why.
pub(super) async fn waiting_for<T>(server: &str, answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    tokio::select! {
        answer = &mut answer => return answer,
        () = sleep(SLOW) => {}
    }
    tokio::select! {
        answer = &mut answer => answer,
        () = show_reason(server) => answer.await,
    }
}

async fn show_reason(server: &str) {
    let Some(show) = SHOW.get() else { return };
    // Another server, such as the Java JobTracker, does not say it.
    let Ok(Some(line)) = timeout(READY_TIMEOUT, unready_line(server)).await else { return };
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if shown.as_ref() != Some(&line) {
        show(&format!("{server} does not answer yet: {line}"));
        *shown = Some(line);
    }
}

/// The line of a server that is not ready.
async fn unready_line(server: &str) -> Option<String> {
    let request = Request::get("/readyz").header(HOST, server).body(String::new()).ok()?;
    let stream = TcpStream::connect(server).await.ok()?;
    let answer = send_request(stream, request, MAX_READY_BYTES).await.ok()?;
    if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let text = answer.into_text(MAX_READY_BYTES).await.ok()?;
    text.lines().next().map(str::to_owned)
}
