//! Honest users of the daemon, who go about their work during an attack: a tracker that calls and works, a client that submits, a reader of
//! the start page. Each has a thread and connections of its own.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use crate::job_client::JobClient;
use crate::latencies::Latencies;
use crate::stage::run;
use crate::staging::{JobFiles, signed};
use crate::steady_tracker::{Ending, Slots, SteadyTracker};

use jobtracker::clock::wall_ms;
use jobtracker::ipc::client::IpcClient;
use jobtracker::market::Key;
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};

/// An answer that does not come within this counts as none.
pub const GIVEN_UP: Duration = Duration::from_secs(10);
/// The number of the honest tracker; attackers have others.
pub const TRACKER: u32 = 7;
const SLOTS: Slots = Slots::new(4, 2);
const BEATS_A_SECOND: u32 = 25;
const BETWEEN_SUBMISSIONS: Duration = Duration::from_millis(250);
const BETWEEN_PAGES: Duration = Duration::from_millis(250);

/// What an honest user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Heartbeat,
    Submission,
    Page,
}

/// How honest users are different from the usual.
#[derive(Clone, Debug, Default)]
pub struct VictimOptions {
    /// Jobs are signed by alice, for her queue.
    pub is_signed: bool,
    /// The host that the tracker names.
    pub tracker_host: Option<&'static str>,
    /// Attempts never end.
    pub never_ends: bool,
    /// Nobody submits.
    pub submits_nothing: bool,
}

#[derive(Debug)]
struct Sample {
    deed: Deed,
    began: Instant,
    took: Duration,
    failed: Option<String>,
}

/// What has been seen; the three that are under way.
#[derive(Debug, Default)]
struct Seen {
    samples: Vec<Sample>,
    under_way: Vec<(Deed, Instant)>,
}

/// The honest users.
pub struct Victims {
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    deeds: Vec<Deed>,
    began: Instant,
}

/// How long one deed took, and how often it failed.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub count: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// One in a hundred may take longer, or of fewer than a hundred one in twenty.
    pub most_ms: f64,
    pub longest_ms: f64,
    pub failures: Vec<String>,
}

/// The figures of all deeds in some time.
#[derive(Clone, Debug)]
pub struct Times {
    pub heartbeat: Figures,
    pub submission: Figures,
    pub page: Figures,
}

#[derive(Clone)]
struct Diary {
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
}

// === impl Victims ===

impl Victims {
    /// Begin at once.
    pub fn start(rpc: SocketAddr, http: SocketAddr, wanted: &VictimOptions) -> Self {
        let (seen, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let diary = Diary { seen: Arc::clone(&seen), is_over: Arc::clone(&is_over) };
        let tracker = {
            let (diary, wanted) = (diary.clone(), wanted.clone());
            std::thread::spawn(move || run(keep_beating(rpc, &wanted, &diary)))
        };
        let mut threads = vec![tracker];
        let mut deeds = vec![Deed::Heartbeat, Deed::Page];
        if !wanted.submits_nothing {
            let (diary, is_signed) = (diary.clone(), wanted.is_signed);
            deeds.push(Deed::Submission);
            threads.push(std::thread::spawn(move || run(keep_submitting(rpc, is_signed, &diary))));
        }
        threads.push(std::thread::spawn(move || keep_reading(http, &diary)));
        Self { seen, is_over, threads, deeds, began: Instant::now() }
    }

    /// What was begun in this time.
    pub fn times(&self, from: Instant, to: Instant) -> Times {
        let seen = self.seen.lock().unwrap();
        let of = |deed: Deed| {
            let mut latencies = Latencies::default();
            let mut failures = Vec::new();
            for sample in seen.samples.iter().filter(|sample| sample.deed == deed) {
                // What began before and hung into this time belongs to it too.
                if sample.began < to && sample.began + sample.took > from {
                    latencies.add(sample.took);
                    failures.extend(sample.failed.clone());
                }
            }
            for (_, began) in seen.under_way.iter().filter(|(under_way, began)| *under_way == deed && *began < to) {
                latencies.add(began.elapsed());
            }
            Figures::of(latencies, failures)
        };
        Times { heartbeat: of(Deed::Heartbeat), submission: of(Deed::Submission), page: of(Deed::Page) }
    }

    /// The longest that a page has taken so far.
    pub fn longest_page_ms(&self) -> f64 {
        self.times(self.began, Instant::now()).page.longest_ms
    }

    /// Waits until each is answered that asks after this; who is not in time.
    pub fn await_answers_after(&self, from: Instant) -> Vec<Deed> {
        let end = from + GIVEN_UP;
        loop {
            let seen = self.seen.lock().unwrap();
            let is_good = |deed: &Deed| {
                seen.samples
                    .iter()
                    .any(|sample| sample.deed == *deed && sample.failed.is_none() && sample.began >= from)
            };
            let missing: Vec<Deed> = self.deeds.iter().copied().filter(|deed| !is_good(deed)).collect();
            if missing.is_empty() || Instant::now() >= end {
                return missing;
            }
            drop(seen);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends them.
    pub fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

// === impl Diary ===

impl Diary {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn begin(&self, deed: Deed) -> Instant {
        let began = Instant::now();
        self.seen.lock().unwrap().under_way.push((deed, began));
        began
    }

    fn end<T>(&self, deed: Deed, began: Instant, outcome: &anyhow::Result<T>) {
        let failed = outcome.as_ref().err().map(|error| format!("{error:#}"));
        let mut seen = self.seen.lock().unwrap();
        seen.under_way.retain(|(under_way, _)| *under_way != deed);
        seen.samples.push(Sample { deed, began, took: began.elapsed(), failed });
    }
}

/// Within the time in which anybody is waited for.
async fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    match tokio::time::timeout(GIVEN_UP, work).await {
        Ok(outcome) => outcome,
        Err(_) => bail!("no answer within {GIVEN_UP:?}"),
    }
}

async fn keep_beating(rpc: SocketAddr, wanted: &VictimOptions, diary: &Diary) {
    let ending = if wanted.never_ends { Ending::Never } else { Ending::Soon };
    let mut tracker = SteadyTracker::new(TRACKER, SLOTS, ending);
    let mut client = None;
    let mut due = tokio::time::Instant::now();
    while !diary.is_over() {
        let began = diary.begin(Deed::Heartbeat);
        let outcome = in_time(beat(rpc, &mut client, &mut tracker, wanted.tracker_host)).await;
        diary.end(Deed::Heartbeat, began, &outcome);
        if outcome.is_err() {
            // Comes back as a stock tracker does whose network broke.
            client = None;
        }
        due = (due + Duration::from_secs(1) / BEATS_A_SECOND).max(tokio::time::Instant::now());
        tokio::time::sleep_until(due).await;
    }
}

async fn beat(
    rpc: SocketAddr,
    client: &mut Option<IpcClient>,
    tracker: &mut SteadyTracker,
    host: Option<&'static str>,
) -> anyhow::Result<()> {
    let ipc = match client {
        Some(ipc) => ipc,
        None => client.insert(IpcClient::connect(rpc, Protocol::InterTracker, "mapred").await?),
    };
    let mut request = Box::new(tracker.heartbeat());
    if let Some(host) = host {
        request.status.host = host.into();
    }
    let next_id = request.response_id.wrapping_add(1);
    match ipc.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await? {
        Value::Heartbeat(answer) => {
            let (id, is_reset) = (answer.response_id, answer.actions.contains(&Action::ReinitTracker));
            tracker.obey(&answer);
            ensure!(!is_reset, "the honest tracker was told to register again");
            ensure!(id == next_id, "the honest tracker got answer {id} instead of {next_id}");
            Ok(())
        }
        other => bail!("a heartbeat was answered by {other:?}"),
    }
}

/// A later millisecond than any before: a signature is good once.
pub fn next_timestamp() -> String {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let last = LAST.fetch_max(wall_ms(), Ordering::Relaxed);
    LAST.fetch_add(1, Ordering::Relaxed);
    (last.max(wall_ms()) + 1).to_string()
}

/// A small job.
pub fn small_job(is_signed: bool) -> JobFiles {
    let properties = if is_signed { signed("alice", &Key::new("alicekey"), &next_timestamp()) } else { Vec::new() };
    JobFiles { splits: vec![Vec::new()], reduces: 0, properties }
}

async fn keep_submitting(rpc: SocketAddr, is_signed: bool, diary: &Diary) {
    let mut client = None;
    while !diary.is_over() {
        let began = diary.begin(Deed::Submission);
        let outcome = in_time(submit(rpc, &mut client, is_signed)).await;
        diary.end(Deed::Submission, began, &outcome);
        if outcome.is_err() {
            client = None;
        }
        tokio::time::sleep(BETWEEN_SUBMISSIONS).await;
    }
}

async fn submit(rpc: SocketAddr, client: &mut Option<JobClient>, is_signed: bool) -> anyhow::Result<()> {
    let client = match client {
        Some(client) => client,
        None => client.insert(JobClient::connect(rpc, "alice").await?),
    };
    let job = client.stage(&small_job(is_signed)).await?;
    client.submit(&job).await
}

fn keep_reading(http: SocketAddr, diary: &Diary) {
    while !diary.is_over() {
        let began = diary.begin(Deed::Page);
        let outcome = read_page(http, "/").and_then(|page| {
            ensure!(page.starts_with("HTTP/1.1 200 "), "{}", page.lines().next().unwrap_or_default());
            Ok(())
        });
        diary.end(Deed::Page, began, &outcome);
        std::thread::sleep(BETWEEN_PAGES);
    }
}

/// The whole answer to a GET on a connection of its own. Once more where it was reset, as browsers do: an attacker on the
/// same address may have made it the one that gave way.
pub fn read_page(http: SocketAddr, target: &str) -> anyhow::Result<String> {
    let is_reset = |error: &anyhow::Error| {
        error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
    };
    match get_page(http, target) {
        Err(error) if is_reset(&error) => get_page(http, target),
        read => read,
    }
}

fn get_page(http: SocketAddr, target: &str) -> anyhow::Result<String> {
    let end = Instant::now() + GIVEN_UP;
    let mut stream = TcpStream::connect_timeout(&http, GIVEN_UP)?;
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let (mut page, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        ensure!(!left.is_zero(), "no whole answer within {GIVEN_UP:?}");
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&page).into_owned()),
            count => page.extend_from_slice(&piece[..count]),
        }
    }
}

// === impl Figures ===

impl Figures {
    fn of(mut latencies: Latencies, failures: Vec<String>) -> Self {
        let count = latencies.count();
        let most = if count < 100 { 950 } else { 990 };
        let [p50_ms, p99_ms, most_ms, longest_ms] =
            latencies.quantiles_us([500, 990, most, 1000]).map(|us| f64::from(us.unwrap_or(0)) / 1e3);
        Self { count, p50_ms, p99_ms, most_ms, longest_ms, failures }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, p50_ms, p99_ms, longest_ms, failures, .. } = self;
        if *count == 0 {
            return write!(f, "none");
        }
        write!(f, "{count} in {p50_ms:.1}/{p99_ms:.1}/{longest_ms:.0} ms")?;
        if !failures.is_empty() { write!(f, " ({} of {count} failed)", failures.len()) } else { Ok(()) }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "heartbeat {}, submission {}, page {}", self.heartbeat, self.submission, self.page)
    }
}
