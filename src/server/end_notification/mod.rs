//! Notifies owners of jobs of the end, at the URL that the job names (1.2.1 `JobEndNotifier`). Unlike there, one slow server
//! does not delay the others, and what is pending at a stop is called again by the next run.

mod targets;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::header::{ACCEPT, HOST};
use hyper::{Request, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::config::excerpt;
use crate::http::{ClientError, send_request};
use crate::model::{EndNotification, HttpUrl, HttpUrlError, JobId, counted};

use super::fair_pool::FairShares;

pub(crate) use targets::Targets;

/// Concurrent calls, those for one user, and those to one host: a host that users share has room beside the slow calls of one.
const CONCURRENT_CALLS: (usize, usize, usize) = (16, 4, 8);
/// Concurrent name lookups. Each occupies a thread until the system's resolver times out.
const LOOKUPS: usize = 8;
/// Pending notifications, and those of one user; further ones are dropped.
const MAX_PENDING: (usize, usize) = (10_000, 1_000);
const MAX_TIMEOUT_MS: u64 = 60_000;
/// Maximum calls per job.
const MAX_CALLS: u32 = 10;
/// Minimum and maximum interval of two calls, ms.
const INTERVALS_MS: (u64, u64) = (1_000, 3_600_000);
/// Maximum size of the head of an answer, bytes; the body is not read.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Characters to escape, as 1.2.1 does, since users write the URL.
const NOT_IN_URLS: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');

#[derive(Debug)]
pub(crate) struct Notifier {
    targets: Targets,
    permits: FairShares,
    hosts: FairShares,
    failed: FailedNotifications,
    lookups: Arc<Semaphore>,
    waiting: RefCell<BTreeMap<Arc<str>, usize>>,
    least_interval_ms: u64,
}

#[derive(Clone, Debug)]
struct EndedJob {
    job: JobId,
    user: Arc<str>,
}

/// A URL that may be called.
struct Target {
    host: String,
    port: u16,
    host_header: String,
    path: String,
}

#[derive(Debug, thiserror::Error)]
enum NotificationError {
    #[error("invalid URL: {0}")]
    NotAUrl(#[from] HttpUrlError),
    #[error("invalid URL: {0}")]
    NotSent(#[from] hyper::http::Error),
    #[error("its host is not listed in jobtracker.end-notification.targets")]
    NotATarget,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Answer(#[from] ClientError),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("no answer within {0} ms")]
    TooSlow(u64),
}

impl NotificationError {
    /// Whether a retry may succeed.
    fn is_retryable(&self) -> bool {
        !matches!(self, Self::NotAUrl(_) | Self::NotSent(_) | Self::NotATarget)
    }
}

impl Notifier {
    /// A notifier that calls only `targets`.
    pub(crate) fn new(targets: Targets) -> Self {
        Self {
            targets,
            permits: FairShares::new(CONCURRENT_CALLS.0, CONCURRENT_CALLS.1),
            hosts: FairShares::new(CONCURRENT_CALLS.0, CONCURRENT_CALLS.2),
            failed: FailedNotifications::default(),
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
            waiting: RefCell::default(),
            least_interval_ms: INTERVALS_MS.0,
        }
    }

    /// What has failed so far, readable on any thread.
    pub(crate) fn failed(&self) -> FailedNotifications {
        self.failed.clone()
    }

    /// Notifies soon, with retries, for a job of `user`; done once that has succeeded or is given up.
    pub(crate) fn notify(
        self: Rc<Self>,
        job: JobId,
        user: Arc<str>,
        notification: EndNotification,
    ) -> impl Future<Output = ()> {
        let is_taken = self.enter(job, &user);
        let ended = EndedJob { job, user };
        async move {
            if !is_taken {
                self.failed.note(job, "never: too many others were pending".to_owned());
                return;
            }
            if let Err((error, calls)) = self.deliver(ended.clone(), &notification).await {
                let url = without_secrets(&notification.url);
                self.failed.note(job, format!("never: given up after {}: {error}", counted(calls, "call")));
                tracing::warn!("end notification of {job} to {url} failed after {calls} calls: {error}");
            }
            let mut waiting = self.waiting.borrow_mut();
            if let Some(of_user) = waiting.get_mut(&ended.user) {
                *of_user -= 1;
            }
            waiting.retain(|_, of_user| *of_user > 0);
        }
    }

    /// Counts a pending notification, unless there are too many.
    fn enter(&self, job: JobId, user: &Arc<str>) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let all: usize = waiting.values().sum();
        let of_user = waiting.entry(user.clone()).or_default();
        let has_room = all < MAX_PENDING.0 && *of_user < MAX_PENDING.1;
        if has_room {
            *of_user += 1;
        } else {
            tracing::warn!(
                "dropped the end notification of {job}: {all} notifications are pending, {of_user} of them for its user; \
                 the limits are {} and {}",
                MAX_PENDING.0,
                MAX_PENDING.1
            );
        }
        has_room
    }

    /// Returns the error of the last call, and the number of calls.
    async fn deliver(&self, ended: EndedJob, notification: &EndNotification) -> Result<(), (NotificationError, u32)> {
        let target = self.target(&notification.url).map_err(|error| (error, 0))?;
        let max_calls = notification.retries.saturating_add(1).min(MAX_CALLS);
        let interval_ms = notification.retry_interval_ms.clamp(self.least_interval_ms, INTERVALS_MS.1);
        for calls in 1.. {
            let timeout_ms = notification.timeout_ms.min(MAX_TIMEOUT_MS);
            let Err(error) = self.call(&ended.user, &target, timeout_ms).await else { break };
            if !error.is_retryable() || calls >= max_calls {
                return Err((error, calls));
            }
            let said = format!("not yet: {} failed, the last one: {error}", counted(calls, "call"));
            self.failed.note(ended.job, said);
            tokio::time::sleep(Duration::from_millis(interval_ms)).await;
        }
        self.failed.forget(ended.job);
        Ok(())
    }

    fn target(&self, url: &str) -> Result<Target, NotificationError> {
        let escaped = utf8_percent_encode(url, NOT_IN_URLS).to_string();
        let url = HttpUrl::parse(&escaped)?;
        let (host, port) = (url.host().to_owned(), url.port());
        if !self.targets.contain(&host, port) {
            return Err(NotificationError::NotATarget);
        }
        Ok(Target { host, port, host_header: url.host_header().to_owned(), path: url.path_and_query() })
    }

    /// One GET, within the limits per user and host. Any status of success counts; a redirect does not.
    async fn call(&self, user: &Arc<str>, target: &Target, timeout_ms: u64) -> Result<(), NotificationError> {
        let _of_user = self.permits.acquire(user).await;
        let key = format!("{}:{}", target.host.to_ascii_lowercase(), target.port).into();
        let _of_host = self.hosts.acquire(&key).await;
        let status = tokio::time::timeout(Duration::from_millis(timeout_ms), self.get(target)).await;
        match status.map_err(|_| NotificationError::TooSlow(timeout_ms))?? {
            status if status.is_success() => Ok(()),
            status => Err(NotificationError::Status(status)),
        }
    }

    async fn get(&self, target: &Target) -> Result<StatusCode, NotificationError> {
        let request = Request::get(&*target.path).header(HOST, &*target.host_header).header(ACCEPT, "*/*");
        let request = request.body(String::new())?;
        let stream = TcpStream::connect(&*self.addresses(target).await?).await?;
        // The body is not read: the connection closes with the answer.
        Ok(send_request(stream, request, MAX_HEAD_BYTES).await?.status())
    }

    async fn addresses(&self, target: &Target) -> std::io::Result<Vec<SocketAddr>> {
        if let Ok(address) = target.host.parse() {
            return Ok(vec![SocketAddr::new(address, target.port)]);
        }
        let lookup = self.lookups.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        let (host, port) = (target.host.clone(), target.port);
        let look_up = move || {
            // Held until the resolver answers, even if no caller waits any more.
            let _lookup = lookup;
            (host, port).to_socket_addrs().map(Iterator::collect)
        };
        tokio::task::spawn_blocking(look_up).await.map_err(std::io::Error::other)?
    }
}

/// A URL for the log: its user and its query may be secrets.
fn without_secrets(url: &str) -> String {
    let public = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = public.split_once("://").unwrap_or(("", public));
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    excerpt(&format!("{scheme}{separator}{host}{path}"))
}

/// Jobs that are remembered: no more are listed with their times.
const MOST_JOBS: usize = 1_000;

/// Why, by job, in words for its user; of the newest jobs, since this start.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedNotifications(Arc<Mutex<BTreeMap<JobId, String>>>);

impl FailedNotifications {
    /// None: its owner was reached, or no URL is called.
    pub(crate) fn of(&self, job: JobId) -> Option<String> {
        self.lock().get(&job).cloned()
    }

    fn note(&self, job: JobId, why: String) {
        let mut failed = self.lock();
        failed.insert(job, why);
        if failed.len() > MOST_JOBS {
            failed.pop_first();
        }
    }

    fn forget(&self, job: JobId) {
        self.lock().remove(&job);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Gives one answer per connection; returns the requests.
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

    /// A notifier for all hosts with a short interval.
    fn notifier() -> Notifier {
        Notifier { least_interval_ms: 1, ..Notifier::new(Targets::new(&["*".to_owned()])) }
    }

    fn ended(user: &str) -> EndedJob {
        EndedJob { job: JOB.parse().unwrap(), user: user.into() }
    }

    const JOB: &str = "job_202611210913_0001";
    const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const BAD: &str = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";

    #[tokio::test]
    async fn an_owner_is_notified_until_a_call_succeeds() {
        let (listener, address) = listener().await;
        let url = notification(format!("http://{address}/end?job={JOB}&by=a b"), 2);
        let notifier = notifier();
        // A closed connection is an answer too.
        let (asked, result) = tokio::join!(serve(&listener, &[BAD, "", GOOD]), notifier.deliver(ended("alice"), &url));
        assert!(result.is_ok());
        assert_eq!(asked.len(), 3);
        let first = asked[0].to_lowercase();
        assert!(asked[0].starts_with(&format!("GET /end?job={JOB}&by=a%20b HTTP/1.1\r\n")), "{}", asked[0]);
        assert!(first.contains(&format!("host: {address}\r\n")) && first.contains("accept: */*\r\n"), "{first}");
    }

    #[test]
    fn a_logged_url_has_neither_user_nor_query() {
        for (url, shown) in [
            ("http://oozie:11000/oozie/callback?id=secret#x", "http://oozie:11000/oozie/callback"),
            ("http://u:secret@h/end@x", "http://h/end@x"),
            ("http://h?token=secret", "http://h"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_secrets(url).trim_matches('"'), shown, "{url}");
        }
    }

    #[tokio::test]
    async fn tries_are_counted() {
        let (listener, address) = listener().await;
        let notifier = notifier();
        let url = notification(format!("http://{address}"), 1);
        let (asked, result) = tokio::join!(serve(&listener, &[BAD, BAD]), notifier.deliver(ended("alice"), &url));
        assert!(matches!(result, Err((NotificationError::Status(_), 2))));
        assert!(asked.iter().all(|asked| asked.starts_with("GET / HTTP/1.1\r\n")));
    }

    #[tokio::test]
    async fn what_can_never_be_called_is_tried_once() {
        let notifier = notifier();
        let others = ["https://localhost/", "nonsense", "", "/end", "file:///etc/passwd", "http://[::1/"];
        // No other port is called instead.
        let ports = ["http://127.0.0.1:99999/ok", "http://127.0.0.1:0/", "http://127.0.0.1:/", "http://127.0.0.1:x/"];
        for url in others.into_iter().chain(ports) {
            // With an interval too long for a test to wait.
            let never = EndNotification { retry_interval_ms: u64::MAX >> 20, ..notification(url.to_owned(), 3) };
            assert!(
                matches!(notifier.deliver(ended("alice"), &never).await, Err((error, 0)) if !error.is_retryable()),
                "{url}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_given_up() {
        let (_listener, address) = listener().await;
        let notifier = notifier();
        let target = notifier.target(&format!("http://{address}/")).unwrap_or_else(|error| panic!("{error}"));
        let error = notifier.call(&"alice".into(), &target, 5_000).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 5000 ms");
    }

    #[tokio::test]
    async fn calls_are_few_and_apart_whatever_a_job_asks_for() {
        let (listener, address) = listener().await;
        let greedy =
            EndNotification { retry_interval_ms: 0, ..notification(format!("http://{address}"), i32::MAX as u32) };
        let notifier = notifier();
        let (asked, result) = tokio::join!(serve(&listener, &[BAD; 10]), notifier.deliver(ended("alice"), &greedy));
        assert!(matches!(result, Err((NotificationError::Status(_), 10))), "{result:?}");
        assert_eq!(asked.len(), 10);
        assert_eq!(Notifier::new(Targets::new(&[])).least_interval_ms, 1_000);
    }

    #[tokio::test]
    async fn hosts_that_are_not_listed_are_not_called() {
        let (listener, address) = listener().await;
        let notifier = Notifier::new(Targets::new(&["oozie.example.com".to_owned(), "127.0.0.1:1".to_owned()]));
        let (error, calls) =
            notifier.deliver(ended("alice"), &notification(format!("http://{address}/"), 3)).await.unwrap_err();
        assert_eq!(calls, 0);
        assert!(error.to_string().contains("jobtracker.end-notification.targets"), "{error}");
        let connected = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(connected.is_err());
    }

    #[tokio::test]
    async fn answers_that_lead_elsewhere_or_never_end_are_no_success() {
        let (elsewhere, other) = listener().await;
        let (listener, address) = listener().await;
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(1 << 20));
        let leads = format!("HTTP/1.1 302 Found\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n");
        for answer in [endless, leads] {
            let url = notification(format!("http://{address}/"), 0);
            let notifier = notifier();
            // The client may close while this writes.
            let (_, result) = tokio::join!(
                async {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let _ = stream.write_all(answer.as_bytes()).await;
                },
                notifier.deliver(ended("alice"), &url)
            );
            assert!(result.is_err(), "{result:?}");
        }
        let connected = tokio::time::timeout(Duration::from_millis(50), elsewhere.accept()).await;
        assert!(connected.is_err());
    }

    #[tokio::test]
    async fn slow_targets_of_one_user_keep_no_other_waiting() {
        tokio::task::LocalSet::new()
            .run_until(async {
                let notifier = Rc::new(notifier());
                let mut silent = Vec::new();
                for _ in 0..CONCURRENT_CALLS.0 {
                    let (listener, address) = listener().await;
                    let never = EndNotification { timeout_ms: 60_000, ..notification(format!("http://{address}/"), 0) };
                    tokio::task::spawn_local(notifier.clone().notify(JOB.parse().unwrap(), "mallory".into(), never));
                    silent.push(listener);
                }
                // The first ones are under way.
                let _held = silent[0].accept().await.unwrap();
                let (listener, address) = listener().await;
                let (alice, url) = (ended("alice"), notification(format!("http://{address}"), 0));
                let (asked, result) = tokio::join!(serve(&listener, &[GOOD]), notifier.deliver(alice, &url));
                assert!(result.is_ok() && asked.len() == 1, "{result:?}");
            })
            .await;
    }

    #[tokio::test]
    async fn what_fails_is_known_until_a_call_succeeds() {
        let (listener, address) = listener().await;
        let notifier = Rc::new(notifier());
        let (job, user): (JobId, Arc<str>) = (JOB.parse().unwrap(), "alice".into());
        let again = notification(format!("http://{address}"), 1);
        let notified = notifier.clone().notify(job, user.clone(), again.clone());
        tokio::join!(serve(&listener, &[BAD, BAD]), notified);
        let said = "never: given up after 2 calls: the server answered 500 Internal Server Error";
        assert_eq!(notifier.failed().of(job).as_deref(), Some(said));
        let mut seen = None;
        let answers = async {
            serve(&listener, &[BAD]).await;
            let (stream, _) = listener.accept().await.unwrap();
            seen = notifier.failed().of(job);
            drop(stream);
            serve(&listener, &[GOOD]).await;
        };
        let again = EndNotification { retries: 2, ..again };
        tokio::join!(answers, notifier.clone().notify(job, user, again));
        let said = "not yet: 1 call failed, the last one: the server answered 500 Internal Server Error";
        assert_eq!((seen.as_deref(), notifier.failed().of(job)), (Some(said), None));
    }

    #[tokio::test]
    async fn one_user_does_not_take_the_room_of_all() {
        tokio::task::LocalSet::new()
            .run_until(async {
                let notifier = Rc::new(notifier());
                let never = notification("http://127.0.0.1:1/".to_owned(), 0);
                let mut pending = Vec::new();
                for _ in 0..MAX_PENDING.1 + 10 {
                    pending.push(notifier.clone().notify(JOB.parse().unwrap(), "mallory".into(), never.clone()));
                }
                pending.push(notifier.clone().notify(JOB.parse().unwrap(), "alice".into(), never));
                let waiting: Vec<usize> = notifier.waiting.borrow().values().copied().collect();
                assert_eq!(waiting, [1, MAX_PENDING.1]);
            })
            .await;
    }
}
