//! The tracker over HTTP: map output, logs, and a start page.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::middleware::map_response;
use axum::routing::get;
use hyper::body::{Frame, SizeHint};
use hyper::ext::ReasonPhrase;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use crate::clock::wall_ms;
use crate::model::{AttemptId, ContainerId, JobId};
use crate::streaming::shuffle::servlet;
use crate::streaming::shuffle::servlet::{FileRange, MapOutputRequest, ServletAnswer};

use super::attempt_logs::{AttemptLogs, GivenTicket, LOG_NAMES, LogsDenied};
use super::containers::{CONTAINER_LOGS, ContainerLogs};
use super::localized_jobs::LocalizedJobs;
use super::read_permits::{FilesHang, ReadOwner, ReadPermits};

/// Read from a file at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

/// Before a map output is opened again for which this worker lacked something; each further time twice as long.
const FIRST_OUTPUT_PAUSE: Duration = Duration::from_millis(100);
/// Longest such pause: a stock reduce waits three minutes for an answer.
const MAX_OUTPUT_PAUSE: Duration = Duration::from_secs(13);

/// Of a log on an HTML page, bytes.
const MAX_SHOWN_BYTES: u64 = 1 << 20;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

#[derive(Clone, Debug)]
pub(crate) struct WorkerWebState {
    pub jobs: Arc<LocalizedJobs>,
    pub logs: AttemptLogs,
    pub container_logs: ContainerLogs,
    /// Whether logs are shown for tickets of the JobTracker only (`mapred.acls.enabled`).
    pub needs_tickets: bool,
    /// Receives the outputs that cannot be read.
    pub lost: UnboundedSender<(AttemptId, String)>,
    pub port: u16,
    pub about: String,
    pub output_permits: Arc<ReadPermits>,
    /// Permits for reads of logs, so that hanging logs do not block map output.
    pub log_permits: Arc<ReadPermits>,
}

/// A part of a file as a response body, read piece by piece on other threads.
struct FileBody {
    source: Source,
    left_bytes: u64,
    owner: ReadOwner,
    permits: Arc<ReadPermits>,
    attempt: Option<(AttemptId, String)>,
    lost: UnboundedSender<(AttemptId, String)>,
}

type Reading = dyn Future<Output = Result<(File, io::Result<Vec<u8>>), FilesHang>> + Send;

enum Source {
    File(File),
    Reading(Pin<Box<Reading>>),
    Failed,
}

/// The routes. Every answer has a content type, so that no browser guesses.
pub(crate) fn router(state: WorkerWebState) -> Router {
    Router::new()
        .route(servlet::PATH, get(map_output))
        .route("/tasklog", get(task_log))
        .route("/ws/v1/node/containers/{container}/logs/{name}", get(container_log))
        .route("/", get(about))
        .with_state(Arc::new(state))
        .layer(map_response(add_headers))
}

async fn add_headers(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(TEXT);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Text of a task is shown, never run.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

async fn about(State(state): State<Arc<WorkerWebState>>) -> String {
    state.about.clone()
}

fn map_output_request(request: &Request, local_port: u16) -> MapOutputRequest {
    let path_and_query = request.uri().path_and_query().map_or("", |whole| whole.as_str()).to_owned();
    let url_hash = request.headers().get("UrlHash").and_then(|hash| hash.to_str().ok()).map(str::to_owned);
    MapOutputRequest { path_and_query, url_hash, local_port }
}

async fn map_output(State(state): State<Arc<WorkerWebState>>, request: Request) -> Response<Body> {
    let output_request = map_output_request(&request, state.port);
    let job = match servlet::verified_job(&output_request, &*state.jobs) {
        Ok(job) => job,
        Err(refusal) => return refusal_response(&state, &refusal),
    };
    let output_request = Arc::new(output_request);
    let mut pause = FIRST_OUTPUT_PAUSE;
    loop {
        let (shared, again) = (state.clone(), output_request.clone());
        // The index of the output and the output itself are files.
        let found = state.output_permits.read(job, move || {
            let answer = servlet::answer(&again, &*shared.jobs);
            open_output(answer)
        });
        let (answer, opened) = match found.await {
            Ok(found) => found,
            Err(hang) => return text_response(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
        };
        let length_bytes = answer.body.as_ref().map_or(0, |range| range.length_bytes);
        match opened {
            Some(file) => return output_response(&state, &answer, file, job, length_bytes),
            // A reduce would report the map that it cannot fetch, which would run again.
            None if answer.status == servlet::LATER && pause <= MAX_OUTPUT_PAUSE => sleep(pause).await,
            None => return refusal_response(&state, &answer),
        }
        pause *= 2;
    }
}

/// The file of an answer that has a body, or the answer to one that cannot be opened.
fn open_output(answer: ServletAnswer) -> (ServletAnswer, Option<File>) {
    let opened = answer.body.as_ref().map(open_range).transpose();
    match (opened, served_attempt(&answer)) {
        (Ok(file), _) => (answer, file),
        (Err(error), Some((attempt, reduce))) => (servlet::unreadable(attempt, &reduce, &error), None),
        (Err(_), None) => (ServletAnswer { status: 500, body: None, ..answer }, None),
    }
}

fn open_range(range: &FileRange) -> io::Result<File> {
    let mut file = range.open().map_err(io::Error::other)?.file;
    file.seek(SeekFrom::Start(range.start_bytes))?;
    Ok(file)
}

/// The attempt whose output an answer carries, and the reduce.
fn served_attempt(answer: &ServletAnswer) -> Option<(AttemptId, String)> {
    let header = |wanted: &str| answer.headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    Some((header("from-map-task")?.parse().ok()?, header("for-reduce-task")?.clone()))
}

fn output_response(
    state: &WorkerWebState,
    answer: &ServletAnswer,
    file: File,
    job: JobId,
    length_bytes: u64,
) -> Response<Body> {
    let body = FileBody {
        source: Source::File(file),
        left_bytes: length_bytes,
        owner: job.into(),
        permits: state.output_permits.clone(),
        attempt: served_attempt(answer),
        lost: state.lost.clone(),
    };
    let mut response = with_headers(Response::new(Body::new(body)), answer);
    response.headers_mut().insert(CONTENT_TYPE, BYTES);
    response
}

fn refusal_response(state: &WorkerWebState, answer: &ServletAnswer) -> Response<Body> {
    if let Some(attempt) = answer.lost {
        // The receiver is gone when the tracker ends.
        let _ = state.lost.send((attempt, answer.reason.clone()));
    }
    let mut response = Response::new(Body::from(answer.reason.clone()));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(reason) = ReasonPhrase::try_from(answer.reason.as_bytes()) {
        response.extensions_mut().insert(reason);
    }
    with_headers(response, answer)
}

fn with_headers(mut response: Response<Body>, answer: &ServletAnswer) -> Response<Body> {
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn text_response(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}

#[derive(Debug, serde::Deserialize)]
struct LogQuery {
    attemptid: Option<String>,
    filter: Option<String>,
    plaintext: Option<String>,
    #[serde(default)]
    start: i64,
    end: Option<i64>,
    expires: Option<i64>,
    ticket: Option<String>,
}

async fn task_log(State(state): State<Arc<WorkerWebState>>, Query(query): Query<LogQuery>) -> Response<Body> {
    let attempt: Option<AttemptId> = query.attemptid.as_deref().and_then(|id| id.parse().ok());
    let Some(attempt) = attempt else {
        return text_response(StatusCode::BAD_REQUEST, "attemptid is missing, or no attempt's id");
    };
    let is_plain = query.plaintext.as_deref() == Some("true");
    let names: Vec<&str> = match query.filter.as_deref() {
        Some(filter) => LOG_NAMES.into_iter().chain(["debugout", "profile"]).filter(|name| *name == filter).collect(),
        None if is_plain => Vec::new(),
        None => LOG_NAMES.to_vec(),
    };
    if names.is_empty() {
        return text_response(
            StatusCode::BAD_REQUEST,
            "filter is missing, or none of stdout, stderr, syslog, debugout, profile",
        );
    }
    let job = attempt.task.job;
    if state.needs_tickets {
        let (logs, given) =
            (state.logs.clone(), GivenTicket { expires_ms: query.expires, ticket: query.ticket.clone() });
        // The key is in a file.
        match state.log_permits.read(job, move || logs.check_ticket(attempt, &given, wall_ms())).await {
            Ok(Ok(())) => {}
            Ok(Err(denied)) => return text_response(StatusCode::FORBIDDEN, &denied.to_string()),
            Err(hang) => return text_response(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
        }
    }
    let shared = state.clone();
    let (start, end) = (query.start, query.end.unwrap_or(-1));
    let found = state.log_permits.read(job, move || {
        if let ([name], true) = (&names[..], is_plain) {
            return plain_log(&shared, attempt, name, (start, end));
        }
        log_page(&shared.logs, attempt, &names, (start, end)).map(Body::from)
    });
    let body = match found.await {
        Ok(Some(body)) => body,
        Ok(None) => return text_response(StatusCode::GONE, "no logs of this attempt here"),
        Err(hang) => return text_response(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, if is_plain { TEXT } else { HTML });
    response
}

/// A log as it is; a missing one is empty.
fn plain_log(state: &WorkerWebState, attempt: AttemptId, name: &str, (start, end): (i64, i64)) -> Option<Body> {
    let opened = state.logs.open_part(attempt, name, start, end)?.and_then(|(mut file, part)| {
        file.seek(SeekFrom::Start(part.start))?;
        Ok((file, part))
    });
    let Ok((file, part)) = opened else { return Some(Body::empty()) };
    Some(Body::new(FileBody {
        source: Source::File(file),
        left_bytes: part.end - part.start,
        owner: attempt.task.job.into(),
        permits: state.log_permits.clone(),
        attempt: None,
        lost: state.lost.clone(),
    }))
}

/// The query of a request for the log of a container.
#[derive(Debug, serde::Deserialize)]
struct ContainerLogQuery {
    #[serde(default)]
    start: i64,
    end: Option<i64>,
    expires: Option<i64>,
    ticket: Option<String>,
}

/// A log of a container as it is, or a part of it, for a ticket of the JobTracker.
async fn container_log(
    State(state): State<Arc<WorkerWebState>>,
    Path((container, name)): Path<(String, String)>,
    Query(query): Query<ContainerLogQuery>,
) -> Response<Body> {
    let Ok(container) = container.parse::<ContainerId>() else {
        return text_response(StatusCode::BAD_REQUEST, "expected a container's id in the path");
    };
    let Some(name) = CONTAINER_LOGS.into_iter().find(|log| *log == name) else {
        return text_response(StatusCode::NOT_FOUND, "a container's logs are stdout and stderr");
    };
    let given = GivenTicket { expires_ms: query.expires, ticket: query.ticket };
    let (logs, owner) = (state.container_logs.clone(), ReadOwner::Application(container.application));
    let read = state.log_permits.read(owner, move || {
        logs.check_ticket(container, &given, wall_ms())?;
        let opened = logs.open_part(container, name, query.start, query.end.unwrap_or(-1));
        Ok::<_, LogsDenied>(opened.map(|opened| {
            let (mut file, part) = opened?;
            file.seek(SeekFrom::Start(part.start))?;
            Ok::<_, io::Error>((file, part))
        }))
    });
    let (file, part) = match read.await {
        Ok(Ok(Some(Ok(opened)))) => opened,
        Ok(Ok(Some(Err(_)))) => return text_response(StatusCode::INTERNAL_SERVER_ERROR, "cannot be read"),
        Ok(Ok(None)) => return text_response(StatusCode::GONE, "no logs of this container here"),
        Ok(Err(denied)) => return text_response(StatusCode::FORBIDDEN, &denied.to_string()),
        Err(hang) => return text_response(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
    };
    Response::new(Body::new(FileBody {
        source: Source::File(file),
        left_bytes: part.end - part.start,
        owner,
        permits: state.log_permits.clone(),
        attempt: None,
        lost: state.lost.clone(),
    }))
}

/// Logs as an HTML page: of each no more than its last [`MAX_SHOWN_BYTES`].
fn log_page(logs: &AttemptLogs, attempt: AttemptId, names: &[&str], (start, end): (i64, i64)) -> Option<Vec<u8>> {
    let mut page = Vec::new();
    for name in names {
        let mut log = Vec::new();
        let mut left_out = 0;
        if let Ok((mut file, part)) = logs.open_part(attempt, name, start, end)? {
            left_out = (part.end - part.start).saturating_sub(MAX_SHOWN_BYTES);
            // What cannot be read is not shown.
            let _ = file
                .seek(SeekFrom::Start(part.start + left_out))
                .and_then(|_| file.take(part.end - part.start - left_out).read_to_end(&mut log));
        }
        page.extend_from_slice(format!("<b><u>{name} logs</u></b><br>\n<pre>\n").as_bytes());
        if left_out > 0 {
            page.extend_from_slice(
                format!("({left_out} bytes before; plaintext=true&amp;filter={name} gives all)\n").as_bytes(),
            );
        }
        page.extend_from_slice(escaped(&String::from_utf8_lossy(&log)).as_bytes());
        page.extend_from_slice(b"</pre>\n<hr>\n");
    }
    Some(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl FileBody {
    fn report_lost_output(&mut self, error: &io::Error) {
        if let Some((attempt, reduce)) = self.attempt.take() {
            // The receiver is gone when the tracker ends.
            let answer = servlet::unreadable(attempt, &reduce, error);
            let _ = answer.lost.map(|lost| self.lost.send((lost, answer.reason)));
        }
    }
}

impl hyper::body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            match std::mem::replace(&mut self.source, Source::Failed) {
                _ if self.left_bytes == 0 => return Poll::Ready(None),
                Source::Failed => return Poll::Ready(None),
                Source::File(mut file) => {
                    let bytes = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(PIECE_BYTES);
                    let (permits, owner) = (self.permits.clone(), self.owner);
                    self.source = Source::Reading(Box::pin(async move {
                        let read = move || {
                            let mut piece = vec![0; bytes];
                            let read = file.read_exact(&mut piece);
                            (file, read.map(|()| piece))
                        };
                        permits.read(owner, read).await
                    }));
                }
                Source::Reading(mut reading) => {
                    let Poll::Ready(read) = reading.as_mut().poll(context) else {
                        self.source = Source::Reading(reading);
                        return Poll::Pending;
                    };
                    return Poll::Ready(Some(match read {
                        Ok((file, Ok(piece))) => {
                            self.source = Source::File(file);
                            self.left_bytes -= piece.len() as u64;
                            Ok(Frame::data(piece.into()))
                        }
                        Ok((_, Err(error))) => {
                            self.report_lost_output(&error);
                            Err(error)
                        }
                        // The map need not run again for it: reduces report what they cannot fetch.
                        Err(hang) => Err(io::Error::other(hang)),
                    }));
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
