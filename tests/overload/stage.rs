//! A daemon with trackers that call, and what it costs the machine.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::fleet::{Drive, Fleet, Totals, USUAL_SLOTS};
use crate::steady_tracker::Ending;

use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::Protocol;

/// A heartbeat that takes longer than this has been kept waiting: a debug build on a busy machine, too.
pub const LONG_MS: f64 = 3_000.0;

/// One test at a time: they measure.
static TURN: Mutex<()> = Mutex::new(());

/// A running daemon.
pub struct Stage {
    pub place: DaemonFolders,
    pub serving: ChildDaemon,
    pub rpc: SocketAddr,
    _turn: MutexGuard<'static, ()>,
}

/// Trackers that call when they are told to.
pub struct Trackers {
    count: u32,
    rounds: mpsc::UnboundedSender<Round>,
}

/// Calls at a rate, until `stop` is dropped.
struct Round {
    rate: u32,
    stop: oneshot::Receiver<()>,
    beats: oneshot::Sender<Beats>,
}

/// How long heartbeats took.
#[derive(Clone, Copy, Debug)]
pub struct Beats {
    pub count: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub longest_ms: f64,
}

/// The small size, or the whole one.
pub fn size(small: u32, whole: u32) -> u32 {
    if std::env::var_os("OVERLOAD").is_some_and(|value| value == "whole") { whole } else { small }
}

/// Runs a test on this thread.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(test))
}

/// Prints what was measured.
pub fn tell(line: impl std::fmt::Display) {
    eprintln!("overload: {line}");
}

/// The first words of a connection.
pub fn opening(protocol: Protocol) -> Vec<u8> {
    let user = ConnectionUser { effective: "load".to_owned(), real: None };
    let header = ConnectionHeader { protocol: protocol.class_name().into(), user: Some(user) };
    let mut bytes = Vec::new();
    encode_opening(&mut bytes, &header);
    bytes
}

// === impl Stage ===

impl Stage {
    /// First in, first out, with these settings.
    pub fn new(overrides: &[&str]) -> Self {
        Self::limited("", overrides)
    }

    /// The same after words of a shell that take something from the daemon.
    pub fn limited(shell: &str, overrides: &[&str]) -> Self {
        let turn = turn();
        let place = place(overrides);
        let serving = start(&place, shell);
        let rpc = serving.rpc();
        Self { place, serving, rpc, _turn: turn }
    }

    /// Around a daemon that runs.
    pub fn around(place: DaemonFolders, serving: ChildDaemon) -> Self {
        let rpc = serving.rpc();
        Self { place, serving, rpc, _turn: turn() }
    }

    /// Trackers that have called once.
    pub async fn trackers(&self, count: u32, ending: Ending) -> Trackers {
        Trackers::connect(self.rpc, count, ending).await
    }

    /// Waits until so few descriptors are open.
    pub async fn wait_for_descriptors(&self, most: usize) {
        for _ in 0..600 {
            if self.serving.descriptors() <= most {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{} descriptors stay open, {most} were expected", self.serving.descriptors());
    }
}

/// Waits until it is this test's turn.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Folders of a daemon that gives out tasks first in, first out.
pub fn place(overrides: &[&str]) -> DaemonFolders {
    let mut place = DaemonFolders::new("alice 100 1\n");
    place.overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler".to_owned());
    place.overrides.extend(overrides.iter().map(|text| (*text).to_owned()));
    place
}

/// Starts the daemon of a place, from a shell that first does as it is told.
pub fn start(place: &DaemonFolders, shell: &str) -> ChildDaemon {
    let mut command = Command::new("sh");
    command.args(["-ec", &format!("{shell}\nexec \"$@\""), "sh", env!("CARGO_BIN_EXE_jobtracker")]);
    command.args(place.arguments());
    ChildDaemon::of(command).unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"))
}

// === impl Trackers ===

impl Trackers {
    /// Trackers on a thread of their own, which have called once: a load that keeps this one busy does not count.
    async fn connect(rpc: SocketAddr, count: u32, ending: Ending) -> Self {
        let (rounds, mut wanted) = mpsc::unbounded_channel::<Round>();
        let (connected, ready) = oneshot::channel();
        std::thread::spawn(move || {
            run(async move {
                let mut fleet = Fleet::connect(rpc, 1, count, USUAL_SLOTS, ending).await.unwrap();
                connected.send(()).unwrap();
                while let Some(Round { rate, stop, beats }) = wanted.recv().await {
                    let drive = Drive::new(rate, Duration::from_secs(600));
                    let stopping = async {
                        let _ = stop.await;
                        drive.stop();
                    };
                    let (driven, ()) = tokio::join!(fleet.drive(&drive), stopping);
                    driven.expect("a heartbeat failed");
                    let _ = beats.send(Beats::of(drive.totals()));
                }
            });
        });
        ready.await.expect("the trackers cannot register");
        Self { count, rounds }
    }

    /// Has all call, each `per_second` times a second, until `load` is over.
    pub async fn beats_while<T>(&self, per_second: u32, load: impl Future<Output = T>) -> (Beats, T) {
        let (stop, stopped) = oneshot::channel();
        let (beats, told) = oneshot::channel();
        let round = Round { rate: self.count * per_second, stop: stopped, beats };
        assert!(self.rounds.send(round).is_ok(), "the trackers have failed");
        let outcome = load.await;
        drop(stop);
        (told.await.expect("a heartbeat failed"), outcome)
    }
}

// === impl Beats ===

impl Beats {
    fn of(mut totals: Totals) -> Self {
        let [p50, p99, longest] =
            totals.latencies.quantiles_us([500, 990, 1000]).map(|us| f64::from(us.unwrap()) / 1e3);
        Self { count: totals.heartbeats, p50_ms: p50, p99_ms: p99, longest_ms: longest }
    }
}

impl std::fmt::Display for Beats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, p50_ms, p99_ms, longest_ms } = self;
        write!(f, "{count} heartbeats, p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms, longest {longest_ms:.0} ms")
    }
}
