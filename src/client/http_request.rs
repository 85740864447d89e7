//! One request for the market, for jobs and for task logs: a complete answer, or why there is none; and what slow answers wait for.

use std::pin::pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, SET_COOKIE};
use hyper::http::request::Builder;
use hyper::{Method, Request, StatusCode};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::http::{ClientError, IncomingAnswer, SentBody, send_request};

/// Timeout for a complete answer; longer than the server's own timeout for its store.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Maximum size of the head of an answer, bytes.
const MAX_HEAD_BYTES: usize = 400 << 10;
/// Maximum size of a body, bytes; enough for all queues.
const MAX_BODY_BYTES: usize = 256 << 20;

/// Slowest line on which a body is expected to arrive.
const SLOWEST_BYTES_PER_S: u64 = 100_000;

/// Header of requests that change something.
const REQUESTED_BY: &str = "x-requested-by";

/// In the error of a server that answers nothing, as at another port than that of the web.
const CLOSED: &str = "connection closed before message completed";

fn hint_of(error: &ClientError) -> &'static str {
    if error.to_string().contains(CLOSED) { "; is it the RPC port? expected the web port" } else { "" }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    /// Name and value of the cookie that it sets.
    pub(crate) cookie: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// There is no connection.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The request cannot be sent.
    #[error("{0}")]
    Request(#[from] hyper::http::Error),
    /// The answer is missing, incomplete or too long.
    #[error("{0}{hint}", hint = hint_of(.0))]
    Answer(#[from] ClientError),
    /// The request timed out.
    #[error("no answer within {} s", TIMEOUT.as_secs())]
    TooSlow,
}

/// Requests a path with its query from `server`, `host:port`.
pub(crate) async fn get(server: &str, path: &str, authorization: Option<&str>) -> Result<HttpAnswer, HttpError> {
    let mut request = Request::get(path);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    send(server, request, String::new()).await
}

/// A complete answer in bytes, and where it points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BytesAnswer {
    pub(crate) status: StatusCode,
    /// The header `Location`.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Requests a path by any method. A body, or a change, is sent as a program sends JSON, so that no page of another site can.
pub(crate) async fn send_json(
    server: &str,
    method: &Method,
    path: &str,
    authorization: Option<&str>,
    body: Option<&str>,
) -> Result<BytesAnswer, HttpError> {
    let mut request = Request::builder().method(method).uri(path);
    if *method != Method::GET {
        request = request.header(CONTENT_TYPE, "application/json").header(REQUESTED_BY, "jobtracker");
    }
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let exchange = async {
        let answer = answer_to(server, request, body.unwrap_or_default().to_owned()).await?;
        let status = answer.status();
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(BytesAnswer { status, location, body: answer.into_bytes(MAX_BODY_BYTES).await? })
    };
    timeout(TIMEOUT, exchange).await.map_err(|_| HttpError::TooSlow)?
}

/// Requests a path as it is, without a signature: status and bytes.
pub(crate) async fn get_bytes(server: &str, path: &str) -> Result<(StatusCode, Vec<u8>), HttpError> {
    let exchange = async {
        let answer = answer_to(server, Request::get(path), String::new()).await?;
        let status = answer.status();
        Ok((status, answer.into_bytes(MAX_BODY_BYTES).await?))
    };
    timeout(TIMEOUT, exchange).await.map_err(|_| HttpError::TooSlow)?
}

/// Sends a form, URL-encoded.
pub(crate) async fn post_form(server: &str, path: &str, form: String) -> Result<HttpAnswer, HttpError> {
    send(server, Request::post(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded"), form).await
}

/// Sends a change, whose parameters are the path's query, as a program: no page of another site can send its header.
pub(crate) async fn post(server: &str, path: &str) -> Result<HttpAnswer, HttpError> {
    send(server, post_as_program(path), String::new()).await
}

/// Sends a body as a program, with the time that its length takes on a slow line.
pub(crate) async fn post_body<B: SentBody>(
    server: &str,
    path: &str,
    authorization: Option<&str>,
    body: B,
) -> Result<HttpAnswer, HttpError> {
    let mut request = post_as_program(path);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let seconds = body.size_hint().lower() / SLOWEST_BYTES_PER_S;
    let limit = TIMEOUT + Duration::from_secs(seconds);
    waiting_for(server, timeout(limit, exchange(server, request, body))).await.map_err(|_| HttpError::TooSlow)?
}

/// The head of a request that no page of another site can send.
fn post_as_program(path: &str) -> Builder {
    Request::post(path).header(CONTENT_TYPE, "application/octet-stream").header(REQUESTED_BY, "jobtracker")
}

async fn send(server: &str, request: Builder, body: String) -> Result<HttpAnswer, HttpError> {
    let answer = timeout(TIMEOUT, exchange(server, request, body));
    waiting_for(server, answer).await.map_err(|_| HttpError::TooSlow)?
}

async fn exchange<B: SentBody>(server: &str, request: Builder, body: B) -> Result<HttpAnswer, HttpError> {
    let answer = answer_to(server, request, body).await?;
    let status = answer.status();
    let cookie = answer.headers().get(SET_COOKIE).and_then(|value| value.to_str().ok());
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).map(str::to_owned);
    Ok(HttpAnswer { status, body: answer.into_text(MAX_BODY_BYTES).await?, cookie })
}

async fn answer_to<B: SentBody>(server: &str, request: Builder, body: B) -> Result<IncomingAnswer, HttpError> {
    let request = request.header(HOST, server).header(ACCEPT, "*/*").body(body)?;
    let stream = TcpStream::connect(server).await?;
    Ok(send_request(stream, request, MAX_HEAD_BYTES).await?)
}

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
