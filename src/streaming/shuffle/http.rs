//! Fetches one map output over HTTP/1.1 from a stock or built-in tracker.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::super::progress::Progress;
use super::super::segment_writer::SegmentLengths;
use super::fetch_schedule::FetchFault;
use super::host_queues::FetchOrder;
use super::servlet::PATH;
use super::signature::{ShuffleSecret, is_same_hash};

/// The longest answer before its body, bytes.
const LONGEST_HEAD_BYTES: u64 = 64 << 10;
/// The longest line with the length of a chunk, bytes.
const LONGEST_CHUNK_LINE_BYTES: u64 = 1 << 10;
/// Interval between two checks for a stop while waiting for bytes.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// A connection is tried that long at a time.
const CONNECT_TRY: Duration = Duration::from_secs(5);

/// Why an output did not come.
#[derive(Debug, Error)]
pub enum FetchError {
    /// There was no connection.
    #[error("no connection: {0}")]
    Connect(io::Error),
    /// The connection broke, or the output is damaged.
    #[error("{0}")]
    Read(io::Error),
    /// The answer is no output, or another than the requested one.
    #[error("{what}: {found}")]
    Answer {
        /// What is wrong.
        what: &'static str,
        /// The received text.
        found: String,
        /// Whether the tracker refused, which is reported at once.
        is_refusal: bool,
    },
}

/// An output on its way.
pub struct Fetched<'a> {
    /// Its lengths, as the tracker sent them.
    pub lengths: SegmentLengths,
    /// Bytes of its stored length, CRC included.
    pub body: Box<dyn Read + 'a>,
}

/// Where outputs come from.
pub trait FetchMapOutput: Sync {
    /// Asks for one map's output for the reduce `reduce`.
    ///
    /// # Errors
    /// [`FetchError`].
    fn fetch(&self, order: &FetchOrder, reduce: u32) -> Result<Fetched<'_>, FetchError>;
}

/// Fetches over HTTP.
#[derive(Debug)]
pub struct HttpFetcher<'a> {
    /// The job's.
    pub secret: ShuffleSecret,
    /// For a connection.
    pub connect_timeout: Duration,
    /// For its next bytes.
    pub read_timeout: Duration,
    /// A stopped attempt stops waiting.
    pub progress: &'a Progress,
}

/// A connection that is abandoned when the attempt is stopped.
#[derive(Debug)]
struct Connection<'a> {
    stream: TcpStream,
    timeout: Duration,
    progress: &'a Progress,
}

/// How the end of a body is known.
#[derive(Debug)]
enum Framing {
    /// By the end of the connection, or by a length that the caller knows too.
    Plain,
    /// By a chunk of length 0; bytes left of this one.
    Chunked(u64),
}

struct Body<R> {
    source: R,
    framing: Framing,
    is_first_chunk: bool,
}

// === impl FetchError ===

impl FetchError {
    /// How the schedule counts it.
    #[must_use]
    pub fn fault(&self) -> FetchFault {
        match self {
            FetchError::Connect(_) => FetchFault::Connect,
            FetchError::Read(_) | FetchError::Answer { is_refusal: true, .. } => FetchFault::Read,
            FetchError::Answer { is_refusal: false, .. } => FetchFault::Answer,
        }
    }
}

// === impl Connection ===

impl<'a> Connection<'a> {
    #[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
    fn open(authority: &str, fetcher: &HttpFetcher<'a>) -> io::Result<Self> {
        let address = authority.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "the host has no address"))?;
        let start = Instant::now();
        loop {
            let left =
                fetcher.connect_timeout.saturating_sub(start.elapsed()).clamp(Duration::from_millis(1), CONNECT_TRY);
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(STOP_CHECK_INTERVAL))?;
                    stream.set_write_timeout(Some(fetcher.read_timeout))?;
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, timeout: fetcher.read_timeout, progress: fetcher.progress });
                }
                Err(error) => {
                    let is_slow = error.kind() == ErrorKind::TimedOut;
                    if !is_slow || start.elapsed() >= fetcher.connect_timeout || fetcher.progress.is_stopped() {
                        return Err(error);
                    }
                }
            }
        }
    }
}

impl Read for Connection<'_> {
    #[expect(clippy::disallowed_methods, reason = "a time limit is about the clock of the machine")]
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        loop {
            match self.stream.read(room) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.progress.is_stopped() || start.elapsed() >= self.timeout {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                result => {
                    self.progress.record_activity();
                    return result;
                }
            }
        }
    }
}

// === impl HttpFetcher ===

impl FetchMapOutput for HttpFetcher<'_> {
    fn fetch(&self, order: &FetchOrder, reduce: u32) -> Result<Fetched<'_>, FetchError> {
        let bad_url = || {
            let found = order.tracker.clone();
            FetchError::Answer { what: "expected http://host:port", found, is_refusal: false }
        };
        let authority = order.tracker.strip_prefix("http://").ok_or_else(bad_url)?.trim_end_matches('/');
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).ok_or_else(bad_url)?;
        let map = order.attempt;
        let path = format!("{PATH}?job={}&map={map}&reduce={reduce}", map.task.job);
        let url_hash = self.secret.url_hash(port, &path);
        let mut connection = Connection::open(authority, self).map_err(FetchError::Connect)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUrlHash: {url_hash}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        connection.stream.write_all(request.as_bytes()).map_err(FetchError::Read)?;
        read_answer(BufReader::with_capacity(64 << 10, connection), order, reduce, &self.secret.reply_hash(&url_hash))
    }
}

/// Reads an answer up to its body and verifies its headers.
///
/// # Errors
/// [`FetchError`].
pub fn read_answer<'a, R: BufRead + 'a>(
    mut source: R,
    order: &FetchOrder,
    reduce: u32,
    reply_hash: &str,
) -> Result<Fetched<'a>, FetchError> {
    let wrong =
        |what: &'static str, found: &str| FetchError::Answer { what, found: found.to_owned(), is_refusal: false };
    let head = read_head(&mut source).map_err(FetchError::Read)?;
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    if status_line.split(' ').nth(1) != Some("200") {
        return Err(FetchError::Answer { what: "refused", found: status_line.to_owned(), is_refusal: true });
    }
    let headers: Vec<(&str, &str)> =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.trim(), value.trim())).collect();
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map_or("", |(_, value)| *value)
    };
    if !is_same_hash(header("ReplyHash"), reply_hash) {
        let found = header("ReplyHash").to_owned();
        return Err(FetchError::Answer { what: "signed with another secret", found, is_refusal: true });
    }
    if header("from-map-task") != order.attempt.to_string() {
        return Err(wrong("the output of another map", header("from-map-task")));
    }
    if header("for-reduce-task") != reduce.to_string() {
        return Err(wrong("the output for another reduce", header("for-reduce-task")));
    }
    let length = |name: &'static str| header(name).parse::<u64>().map_err(|_| wrong("no length", header(name)));
    let lengths =
        SegmentLengths { raw_bytes: length("Raw-Map-Output-Length")?, stored_bytes: length("Map-Output-Length")? };
    let is_chunked = header("Transfer-Encoding").eq_ignore_ascii_case("chunked");
    let framing = if is_chunked { Framing::Chunked(0) } else { Framing::Plain };
    let body = Body { source, framing, is_first_chunk: true };
    Ok(Fetched { lengths, body: Box::new(body.take(lengths.stored_bytes)) })
}

/// Up to the empty line.
fn read_head(source: &mut impl BufRead) -> io::Result<String> {
    let mut limited = source.take(LONGEST_HEAD_BYTES);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if limited.read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Framing::Chunked(left) = &mut self.framing else { return self.source.read(room) };
        if *left == 0 {
            if !std::mem::take(&mut self.is_first_chunk) {
                read_line(&mut self.source)?;
            }
            let line = read_line(&mut self.source)?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            *left = u64::from_str_radix(digits, 16).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            if *left == 0 {
                return Ok(0);
            }
        }
        let most = room.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        let read = self.source.read(&mut room[..most])?;
        *left -= read as u64;
        Ok(read)
    }
}

fn read_line(source: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    source.take(LONGEST_CHUNK_LINE_BYTES).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
#[path = "../tests/http.rs"]
mod tests;
