//! Fetches one map output over HTTP/1.1 from a stock or built-in tracker. Each fetch blocks its thread on a runtime, because the client of
//! this program ([`crate::http`]) is asynchronous and sort, merge and disk are not.

use std::io;
use std::io::{ErrorKind, Read};
use std::net::ToSocketAddrs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use hyper::header::{ACCEPT, CONNECTION, HOST};
use hyper::{Request, StatusCode};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::http::{IncomingAnswer, send_request};
use crate::model::{AttemptId, HttpUrl};
use crate::supervisor::shortage::is_shortage;

use super::super::plan::FetchTimeouts;
use super::super::progress::Progress;
use super::super::segment_writer::SegmentLengths;
use super::fetch_schedule::FetchFault;
use super::host_queues::FetchOrder;
use super::servlet::PATH;
use super::signature::{ShuffleSecret, is_same_hash};

/// Maximum size of the head of an answer, bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Interval between two checks for a stop while waiting for a tracker.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Error)]
pub(crate) enum FetchError {
    #[error("no connection: {0}")]
    Connect(io::Error),
    #[error("{0}")]
    Read(io::Error),
    #[error("{what}: {found}")]
    Answer {
        what: &'static str,
        found: String,
        /// Whether the tracker refused, which is reported at once.
        is_refusal: bool,
    },
}

/// An output whose bytes are still to come.
pub(crate) struct Fetched<'a> {
    /// Its lengths, as the tracker sent them.
    pub(crate) lengths: SegmentLengths,
    /// Bytes of its stored length, CRC included.
    pub(crate) body: Box<dyn Read + 'a>,
}

pub(crate) trait FetchMapOutput: Sync {
    /// Requests one map's output for the reduce `reduce`.
    fn fetch(&self, order: &FetchOrder, reduce: u32) -> Result<Fetched<'_>, FetchError>;
}

#[derive(Debug)]
pub(crate) struct HttpFetcher<'a> {
    secret: ShuffleSecret,
    timeouts: FetchTimeouts,
    progress: &'a Progress,
    runtimes: Runtimes,
}

/// What the head of an answer must say.
struct ExpectedOutput {
    map: AttemptId,
    reduce: u32,
    reply_hash: String,
}

/// The body of an answer, for the thread that fetches.
struct BlockingBody<'a> {
    answer: IncomingAnswer,
    piece: Bytes,
    runtime: BorrowedRuntime<'a>,
    timeout: Duration,
    progress: &'a Progress,
}

impl FetchError {
    /// Whether this worker lacks what it needs to fetch: no fault of the map or its tracker.
    pub(crate) fn is_shortage(&self) -> bool {
        matches!(self, FetchError::Connect(error) | FetchError::Read(error) if is_shortage(error))
    }

    pub(crate) fn fault(&self) -> FetchFault {
        match self {
            FetchError::Connect(_) => FetchFault::Connect,
            FetchError::Read(_) | FetchError::Answer { is_refusal: true, .. } => FetchFault::Read,
            FetchError::Answer { is_refusal: false, .. } => FetchFault::Answer,
        }
    }
}

impl FetchMapOutput for HttpFetcher<'_> {
    fn fetch(&self, order: &FetchOrder, reduce: u32) -> Result<Fetched<'_>, FetchError> {
        let bad_url = || {
            let found = order.tracker.clone();
            FetchError::Answer { what: "expected http://host:port", found, is_refusal: false }
        };
        let url = HttpUrl::parse(&order.tracker).ok().filter(HttpUrl::has_port).ok_or_else(bad_url)?;
        let (authority, port) = (url.host_header(), url.port());
        let map = order.attempt;
        let path = format!("{PATH}?job={}&map={map}&reduce={reduce}", map.task.job);
        let url_hash = self.secret.url_hash(port, &path);
        let request = Request::get(&path)
            .header(HOST, authority)
            .header("UrlHash", &url_hash)
            .header(ACCEPT, "*/*")
            .header(CONNECTION, "close")
            .body(String::new())
            .map_err(|_| bad_url())?;
        let expected = ExpectedOutput { map, reduce, reply_hash: self.secret.reply_hash(&url_hash) };
        let runtime = self.runtimes.borrow().map_err(FetchError::Connect)?;
        let stream = self.connect(&runtime, authority).map_err(FetchError::Connect)?;
        self.exchange(runtime, stream, request, &expected)
    }
}

impl<'a> HttpFetcher<'a> {
    /// Fetches outputs of the job that `secret` belongs to, until the attempt of `progress` is stopped.
    pub(crate) fn new(secret: ShuffleSecret, timeouts: FetchTimeouts, progress: &'a Progress) -> Self {
        Self { secret, timeouts, progress, runtimes: Runtimes::default() }
    }

    /// Connects to the first address of the tracker.
    fn connect(&self, runtime: &BorrowedRuntime<'_>, authority: &str) -> io::Result<TcpStream> {
        let address = authority.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "the host has no address"))?;
        let stream = runtime.block_on(within(self.timeouts.connect, self.progress, TcpStream::connect(address)))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends a request and verifies the head of the answer.
    fn exchange<'b>(
        &'b self,
        runtime: BorrowedRuntime<'b>,
        stream: TcpStream,
        request: Request<String>,
        expected: &ExpectedOutput,
    ) -> Result<Fetched<'b>, FetchError> {
        let answered = async { send_request(stream, request, MAX_HEAD_BYTES).await.map_err(io::Error::other) };
        let answer = runtime.block_on(within(self.timeouts.read, self.progress, answered)).map_err(FetchError::Read)?;
        let lengths = expected.verify(&answer)?;
        let (timeout, progress) = (self.timeouts.read, self.progress);
        let body = BlockingBody { answer, piece: Bytes::new(), runtime, timeout, progress };
        Ok(Fetched { lengths, body: Box::new(body.take(lengths.stored_bytes)) })
    }
}

impl ExpectedOutput {
    fn verify(&self, answer: &IncomingAnswer) -> Result<SegmentLengths, FetchError> {
        let fault = |what, found: &str, is_refusal| FetchError::Answer { what, found: found.to_owned(), is_refusal };
        let header = |name: &str| {
            answer
                .headers()
                .get(name)
                .map_or(String::new(), |value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        if answer.status() != StatusCode::OK {
            return Err(fault("refused", &answer.status_line(), true));
        }
        let reply_hash = header("ReplyHash");
        if !is_same_hash(&reply_hash, &self.reply_hash) {
            return Err(fault("signed with another secret", &reply_hash, true));
        }
        for (name, expected, what) in [
            ("from-map-task", self.map.to_string(), "the output of another map"),
            ("for-reduce-task", self.reduce.to_string(), "the output for another reduce"),
        ] {
            let found = header(name);
            if found != expected {
                return Err(fault(what, &found, false));
            }
        }
        let length = |name| {
            let found = header(name);
            found.parse::<u64>().map_err(|_| fault("no length", &found, false))
        };
        Ok(SegmentLengths { raw_bytes: length("Raw-Map-Output-Length")?, stored_bytes: length("Map-Output-Length")? })
    }
}

impl Read for BlockingBody<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() {
            let Self { answer, timeout, progress, .. } = self;
            let next = async { answer.next_piece().await.map_err(io::Error::other) };
            self.piece = self.runtime.block_on(within(*timeout, progress, next))?.unwrap_or_default();
        }
        let taken = self.piece.split_to(self.piece.len().min(room.len()));
        room[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// Waits for a tracker, no longer than `timeout` and until the attempt is stopped; its answer is activity.
async fn within<T>(timeout: Duration, progress: &Progress, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let stopped = async {
        while !progress.is_stopped() {
            sleep(STOP_CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        biased;
        result = step => {
            progress.record_activity();
            result
        }
        () = stopped => Err(ErrorKind::TimedOut.into()),
        () = sleep(timeout) => Err(ErrorKind::TimedOut.into()),
    }
}

/// Idle runtimes, never more than fetches that ran at one time.
#[derive(Debug, Default)]
pub(super) struct Runtimes(Mutex<Vec<Runtime>>);

/// A runtime for one fetch, idle again when it is dropped.
pub(super) struct BorrowedRuntime<'a> {
    owner: &'a Runtimes,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

impl Runtimes {
    /// Errors: a new one is needed, and the system refuses its descriptors.
    pub(super) fn borrow(&self) -> io::Result<BorrowedRuntime<'_>> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let runtime = match idle {
            Some(runtime) => runtime,
            None => Builder::new_current_thread().enable_all().build()?,
        };
        Ok(BorrowedRuntime { owner: self, runtime: Some(runtime) })
    }
}

impl BorrowedRuntime<'_> {
    pub(super) fn block_on<T>(&self, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for BorrowedRuntime<'_> {
    fn drop(&mut self) {
        self.owner.0.lock().unwrap_or_else(PoisonError::into_inner).extend(self.runtime.take());
    }
}

#[cfg(test)]
#[path = "../tests/fetch.rs"]
mod tests;

#[cfg(test)]
mod runtimes_tests {
    use super::*;

    #[test]
    fn fetches_one_after_another_share_a_runtime() {
        let runtimes = Runtimes::default();
        for _ in 0..3 {
            assert_eq!(runtimes.borrow().unwrap().block_on(async { Ok(1) }).unwrap(), 1);
        }
        assert_eq!(runtimes.0.lock().unwrap().len(), 1);
        let (_first, _second) = (runtimes.borrow().unwrap(), runtimes.borrow().unwrap());
        assert_eq!(runtimes.0.lock().unwrap().len(), 0);
    }
}
