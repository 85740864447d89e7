//! The daemon as a process of its own, to be killed.

use std::fs::{self, OpenOptions};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use jobtracker::clock::wall_ms;

use super::http::get;
use super::world::World;

/// A daemon that was started.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    started: Instant,
    /// When it was started, epoch ms.
    pub started_ms: i64,
}

const LOG: &str = "daemon.log";
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What daemons said since `lines` lines that they should have had no cause to say: whoever is killed has no one to blame,
/// and a budget file that it wrote is its own.
pub fn complaints(world: &World, lines: &mut usize) -> std::io::Result<Vec<String>> {
    let log = fs::read_to_string(world.folder.join(LOG))?;
    let is_complaint = |line: &&str| ["ERROR", "panicked", "BUDGET FILE"].iter().any(|word| line.contains(word));
    let found = log.lines().skip(*lines).filter(is_complaint).map(|line| format!("the daemon says: {line}")).collect();
    *lines = log.lines().count();
    Ok(found)
}

// === impl Daemon ===

impl Daemon {
    /// Starts the program in that world; its output goes to `daemon.log`.
    pub fn start(program: &str, world: &World) -> anyhow::Result<Self> {
        let path = world.folder.join(LOG);
        let log = OpenOptions::new().create(true).append(true).open(&path)?;
        let (started, started_ms) = (Instant::now(), wall_ms());
        // Dies with this process, however that ends.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", program, "serve", "--conf"])
            .arg(world.conf())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("setpriv")?;
        Ok(Self { child, started, started_ms })
    }

    /// Waits until it says that it is ready; how long that took since it was started.
    pub async fn ready(&mut self, world: &World) -> anyhow::Result<Duration> {
        loop {
            let answer = get(world.http, "/readyz", None).await;
            if answer.is_ok_and(|answer| answer.status == 200) {
                return Ok(self.started.elapsed());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the daemon ended while starting: {status}, see {}", world.folder.join(LOG).display());
            }
            if self.started.elapsed() > START_LIMIT {
                bail!("the daemon is not ready within {START_LIMIT:?}");
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Its process.
    pub fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits for its end, which somebody has brought about.
    pub async fn ended(mut self) -> anyhow::Result<std::process::ExitStatus> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if began.elapsed() > STOP_LIMIT {
                bail!("the daemon does not end");
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Tells it to stop, and waits until it has.
    pub async fn stop(self) -> anyhow::Result<std::process::ExitStatus> {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::TERM)?;
        }
        self.ended().await
    }
}
