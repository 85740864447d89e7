//! What a tracker serves over HTTP: map output, logs, and a page that says what it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use hyper::body::{Frame, SizeHint};
use hyper::ext::ReasonPhrase;
use tokio::sync::mpsc::UnboundedSender;

use super::super::shuffle::servlet::{self, FileRange, ServletAnswer, ServletRequest};
use super::jobs_here::JobsHere;
use super::logs::{AttemptLogs, NAMES, part};
use crate::wire::AttemptId;

/// Read from a file at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

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
}

/// A part of a file on its way. It is read where it is sent: the reader waits for this disk anyway.
struct FileBody {
    file: File,
    left_bytes: u64,
    attempt: Option<(AttemptId, String)>,
    lost: UnboundedSender<(AttemptId, String)>,
}

/// The routes.
pub fn router(pages: Pages) -> Router {
    Router::new()
        .route(servlet::PATH, get(map_output))
        .route("/tasklog", get(task_log))
        .route("/", get(about))
        .with_state(Arc::new(pages))
}

async fn about(State(pages): State<Arc<Pages>>) -> String {
    pages.about.clone()
}

async fn map_output(State(pages): State<Arc<Pages>>, request: Request) -> Response<Body> {
    let path_and_query = request.uri().path_and_query().map_or("", |whole| whole.as_str());
    let asked = ServletRequest {
        path_and_query,
        url_hash: request.headers().get("UrlHash").and_then(|hash| hash.to_str().ok()),
        local_port: pages.port,
    };
    let answer = servlet::answer(&asked, &*pages.jobs);
    match &answer.body {
        None => refused(&pages, &answer),
        Some(range) => match open(range) {
            Ok(file) => sent(&pages, &answer, file, range.length_bytes),
            Err(error) => match served_attempt(&answer) {
                Some((attempt, reduce)) => refused(&pages, &servlet::unreadable(attempt, &reduce, &error.to_string())),
                None => plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot be read"),
            },
        },
    }
}

fn open(range: &FileRange) -> io::Result<File> {
    let mut file = File::open(&range.path)?;
    file.seek(SeekFrom::Start(range.start_bytes))?;
    Ok(file)
}

/// Whose output an answer carries, and for which reduce.
fn served_attempt(answer: &ServletAnswer) -> Option<(AttemptId, String)> {
    let header = |wanted: &str| answer.headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    Some((header("from-map-task")?.parse().ok()?, header("for-reduce-task")?.clone()))
}

fn sent(pages: &Pages, answer: &ServletAnswer, file: File, length_bytes: u64) -> Response<Body> {
    let attempt = served_attempt(answer);
    let body = FileBody { file, left_bytes: length_bytes, attempt, lost: pages.lost.clone() };
    with_headers(Response::new(Body::new(body)), answer)
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
        if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(*name), HeaderValue::try_from(value)) {
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
    let mut page = Vec::new();
    for name in names {
        let Some(log) = pages.logs.read(attempt, name) else {
            return plain(StatusCode::GONE, "no logs of this attempt here");
        };
        let log = part(&log, query.start, query.end.unwrap_or(-1));
        if is_plain {
            page.extend_from_slice(log);
        } else {
            page.extend_from_slice(format!("<b><u>{name} logs</u></b><br>\n<pre>\n").as_bytes());
            page.extend_from_slice(escaped(&String::from_utf8_lossy(log)).as_bytes());
            page.extend_from_slice(b"</pre>\n<hr>\n");
        }
    }
    let mut response = Response::new(Body::from(page));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // What a task wrote is shown, never run.
    response.headers_mut().insert("X-Content-Type-Options", HeaderValue::from_static("nosniff"));
    response.headers_mut().insert("Content-Security-Policy", HeaderValue::from_static("default-src 'none'"));
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

// === impl FileBody ===

impl hyper::body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let mut piece = vec![0; most];
        match self.file.read_exact(&mut piece) {
            Ok(()) => {
                self.left_bytes -= most as u64;
                Poll::Ready(Some(Ok(Frame::data(piece.into()))))
            }
            Err(error) => {
                if let Some((attempt, reduce)) = self.attempt.take() {
                    let _ = self.lost.send((attempt, servlet::unreadable(attempt, &reduce, &error.to_string()).reason));
                }
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
