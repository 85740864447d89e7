//! What a tracker serves over HTTP: map output, logs, and a page that says what it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::middleware::map_response;
use axum::routing::get;
use hyper::body::{Frame, SizeHint};
use hyper::ext::ReasonPhrase;
use tokio::sync::mpsc::UnboundedSender;

use crate::model::{AttemptId, JobId};
use crate::streaming::shuffle::servlet;
use crate::streaming::shuffle::servlet::{FileRange, ServletAnswer, ServletRequest};

use super::attempt_logs::{AttemptLogs, NAMES};
use super::localized_jobs::JobsHere;
use super::read_slots::{FilesHang, ReadTurns};

/// Read from a file at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

/// Of a log that is shown to people, bytes.
const MOST_SHOWN_BYTES: u64 = 1 << 20;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// What the pages are made of.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Outputs and secrets.
    pub jobs: Arc<JobsHere>,
    /// Logs.
    pub logs: AttemptLogs,
    /// Who hears of outputs that cannot be read.
    pub lost: UnboundedSender<(AttemptId, String)>,
    /// The port of ours.
    pub port: u16,
    /// For people.
    pub about: String,
    /// Reads of map output.
    pub output_turns: Arc<ReadTurns>,
    /// Reads of logs: where they hang, map output does not.
    pub log_turns: Arc<ReadTurns>,
}

/// A part of a file on its way, read piece by piece on other threads.
struct FileBody {
    source: Source,
    left_bytes: u64,
    job: JobId,
    turns: Arc<ReadTurns>,
    attempt: Option<(AttemptId, String)>,
    lost: UnboundedSender<(AttemptId, String)>,
}

type Reading = dyn Future<Output = Result<(File, io::Result<Vec<u8>>), FilesHang>> + Send;

/// Where the next piece comes from.
enum Source {
    File(File),
    Reading(Pin<Box<Reading>>),
    /// It failed.
    Gone,
}

/// The routes. Every answer says what it is, so that no browser guesses.
pub fn router(pages: Pages) -> Router {
    Router::new()
        .route(servlet::PATH, get(map_output))
        .route("/tasklog", get(task_log))
        .route("/", get(about))
        .with_state(Arc::new(pages))
        .layer(map_response(typed))
}

async fn typed(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(TEXT);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // What a task wrote is shown, never run.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

async fn about(State(pages): State<Arc<Pages>>) -> String {
    pages.about.clone()
}

/// A request for map output, for two looks at it.
struct Asked {
    path_and_query: String,
    url_hash: Option<String>,
    local_port: u16,
}

impl Asked {
    fn of(request: &Request, local_port: u16) -> Self {
        let path_and_query = request.uri().path_and_query().map_or("", |whole| whole.as_str()).to_owned();
        let url_hash = request.headers().get("UrlHash").and_then(|hash| hash.to_str().ok()).map(str::to_owned);
        Self { path_and_query, url_hash, local_port }
    }

    fn request(&self) -> ServletRequest<'_> {
        let (path_and_query, url_hash) = (self.path_and_query.as_str(), self.url_hash.as_deref());
        ServletRequest { path_and_query, url_hash, local_port: self.local_port }
    }
}

async fn map_output(State(pages): State<Arc<Pages>>, request: Request) -> Response<Body> {
    let asked = Asked::of(&request, pages.port);
    let job = match servlet::verified_job(&asked.request(), &*pages.jobs) {
        Ok(job) => job,
        Err(refusal) => return refused(&pages, &refusal),
    };
    let looking = pages.clone();
    // The index of the output and the output itself are files.
    let found = pages.output_turns.read(job, move || {
        let answer = servlet::answer(&asked.request(), &*looking.jobs);
        let opened = answer.body.as_ref().map(open);
        (answer, opened)
    });
    let (answer, opened) = match found.await {
        Ok(found) => found,
        Err(hang) => return plain(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
    };
    let length_bytes = answer.body.as_ref().map_or(0, |range| range.length_bytes);
    match opened {
        None => refused(&pages, &answer),
        Some(Ok(file)) => sent(&pages, &answer, file, job, length_bytes),
        Some(Err(error)) => match served_attempt(&answer) {
            Some((attempt, reduce)) => refused(&pages, &servlet::unreadable(attempt, &reduce, &error)),
            None => plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot be read"),
        },
    }
}

fn open(range: &FileRange) -> Result<File, String> {
    let mut file = range.open().map_err(|error| error.to_string())?.file;
    file.seek(SeekFrom::Start(range.start_bytes)).map_err(|error| error.to_string())?;
    Ok(file)
}

/// Whose output an answer carries, and for which reduce.
fn served_attempt(answer: &ServletAnswer) -> Option<(AttemptId, String)> {
    let header = |wanted: &str| answer.headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    Some((header("from-map-task")?.parse().ok()?, header("for-reduce-task")?.clone()))
}

fn sent(pages: &Pages, answer: &ServletAnswer, file: File, job: JobId, length_bytes: u64) -> Response<Body> {
    let body = FileBody {
        source: Source::File(file),
        left_bytes: length_bytes,
        job,
        turns: pages.output_turns.clone(),
        attempt: served_attempt(answer),
        lost: pages.lost.clone(),
    };
    let mut response = with_headers(Response::new(Body::new(body)), answer);
    response.headers_mut().insert(CONTENT_TYPE, BYTES);
    response
}

fn refused(pages: &Pages, answer: &ServletAnswer) -> Response<Body> {
    if let Some(attempt) = answer.lost {
        // Nobody hears it when the tracker ends.
        let _ = pages.lost.send((attempt, answer.reason.clone()));
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

fn plain(status: StatusCode, words: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(words.to_owned()));
    *response.status_mut() = status;
    response
}

/// What a log is asked for with.
#[derive(Debug, serde::Deserialize)]
struct LogQuery {
    attemptid: Option<String>,
    filter: Option<String>,
    plaintext: Option<String>,
    #[serde(default)]
    start: i64,
    end: Option<i64>,
}

async fn task_log(State(pages): State<Arc<Pages>>, Query(query): Query<LogQuery>) -> Response<Body> {
    let attempt: Option<AttemptId> = query.attemptid.as_deref().and_then(|id| id.parse().ok());
    let Some(attempt) = attempt else {
        return plain(StatusCode::BAD_REQUEST, "attemptid is missing, or no attempt's id");
    };
    let is_plain = query.plaintext.as_deref() == Some("true");
    let names: Vec<&str> = match query.filter.as_deref() {
        Some(filter) => NAMES.into_iter().chain(["debugout", "profile"]).filter(|name| *name == filter).collect(),
        None if is_plain => Vec::new(),
        None => NAMES.to_vec(),
    };
    if names.is_empty() {
        return plain(
            StatusCode::BAD_REQUEST,
            "filter is missing, or none of stdout, stderr, syslog, debugout, profile",
        );
    }
    let looking = pages.clone();
    let (start, end) = (query.start, query.end.unwrap_or(-1));
    let job = attempt.task.job;
    let found = pages.log_turns.read(job, move || {
        if let ([name], true) = (&names[..], is_plain) {
            return plain_log(&looking, attempt, name, (start, end));
        }
        log_page(&looking.logs, attempt, &names, (start, end)).map(Body::from)
    });
    let body = match found.await {
        Ok(Some(body)) => body,
        Ok(None) => return plain(StatusCode::GONE, "no logs of this attempt here"),
        Err(hang) => return plain(StatusCode::SERVICE_UNAVAILABLE, &hang.to_string()),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, if is_plain { TEXT } else { HTML });
    response
}

/// A log as it is; one that was not written is empty.
fn plain_log(pages: &Pages, attempt: AttemptId, name: &str, (start, end): (i64, i64)) -> Option<Body> {
    let opened = pages.logs.open_part(attempt, name, start, end)?.and_then(|(mut file, part)| {
        file.seek(SeekFrom::Start(part.start))?;
        Ok((file, part))
    });
    let Ok((file, part)) = opened else { return Some(Body::empty()) };
    Some(Body::new(FileBody {
        source: Source::File(file),
        left_bytes: part.end - part.start,
        job: attempt.task.job,
        turns: pages.log_turns.clone(),
        attempt: None,
        lost: pages.lost.clone(),
    }))
}

/// Logs for people: of each no more than its last [`MOST_SHOWN_BYTES`].
fn log_page(logs: &AttemptLogs, attempt: AttemptId, names: &[&str], (start, end): (i64, i64)) -> Option<Vec<u8>> {
    let mut page = Vec::new();
    for name in names {
        let mut log = Vec::new();
        let mut left_out = 0;
        if let Ok((mut file, part)) = logs.open_part(attempt, name, start, end)? {
            left_out = (part.end - part.start).saturating_sub(MOST_SHOWN_BYTES);
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

// === impl FileBody ===

impl FileBody {
    fn tell_lost(&mut self, error: &io::Error) {
        if let Some((attempt, reduce)) = self.attempt.take() {
            // Nobody hears it when the tracker ends.
            let _ = self.lost.send((attempt, servlet::unreadable(attempt, &reduce, &error.to_string()).reason));
        }
    }
}

impl hyper::body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            match std::mem::replace(&mut self.source, Source::Gone) {
                _ if self.left_bytes == 0 => return Poll::Ready(None),
                Source::Gone => return Poll::Ready(None),
                Source::File(mut file) => {
                    let bytes = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(PIECE_BYTES);
                    let (turns, job) = (self.turns.clone(), self.job);
                    self.source = Source::Reading(Box::pin(async move {
                        let read = move || {
                            let mut piece = vec![0; bytes];
                            let read = file.read_exact(&mut piece);
                            (file, read.map(|()| piece))
                        };
                        turns.read(job, read).await
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
                            self.tell_lost(&error);
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
