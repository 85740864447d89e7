//! The daemon that is attacked.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use crate::daemon::child::{ChildDaemon, DaemonFolders};

/// One attack of real size at a time: they measure.
static TURN: Mutex<()> = Mutex::new(());

/// A running daemon, and its folders.
pub struct Stage {
    pub place: DaemonFolders,
    pub serving: ChildDaemon,
    pub rpc: SocketAddr,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Whether real sizes are asked for.
pub fn is_whole() -> bool {
    std::env::var_os("HOSTILE").is_some_and(|value| value == "whole")
}

/// The small size, or the whole one.
pub fn size(small: u32, whole: u32) -> u32 {
    if is_whole() { whole } else { small }
}

/// Runs work on this thread.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(work))
}

/// Waits for the turn of this test. Small attacks may go side by side: their latencies are not judged.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    is_whole().then(|| TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Folders of a daemon, of root or of the user that is asked for.
pub fn place(overrides: &[&str]) -> DaemonFolders {
    let is_nobody = std::env::var_os("HOSTILE_USER").is_some_and(|user| user == "nobody");
    let budgets = "alice 1000000 1\nbob 1000 1\n";
    let mut place = if is_nobody { DaemonFolders::of_nobody(budgets) } else { DaemonFolders::new(budgets) };
    place.overrides.extend(overrides.iter().map(|text| (*text).to_owned()));
    place
}

// === impl Stage ===

impl Stage {
    /// First in, first out, with these settings.
    pub fn fifo(overrides: &[&str]) -> Self {
        Self::around(place(
            &[&["mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.JobQueueTaskScheduler"], overrides].concat(),
        ))
    }

    /// Under the market: jobs are signed, alice and bob have money.
    pub fn market(overrides: &[&str]) -> Self {
        Self::around(place(overrides))
    }

    /// On these folders.
    pub fn around(place: DaemonFolders) -> Self {
        let turn = turn();
        let serving = place.start();
        let rpc = serving.rpc();
        Self { place, serving, rpc, _turn: turn }
    }

    /// Sends SIGTERM; why it did not end well in time.
    pub fn stop_within(self, longest: Duration) -> Result<(), String> {
        let Self { mut serving, .. } = self;
        serving.terminate();
        let began = Instant::now();
        while !serving.has_ended() {
            if began.elapsed() > longest {
                return Err(format!("SIGTERM has not ended it within {longest:?}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let took = began.elapsed();
        let (status, _) = serving.end();
        if status.success() { Ok(()) } else { Err(format!("SIGTERM ended it with {status} after {took:?}")) }
    }
}
