//! What the JobTracker's process uses, from `/proc`.

use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::time::{Instant, sleep};

/// The process of a JobTracker.
#[derive(Clone, Copy, Debug)]
pub struct ServerProcess {
    pid: u32,
    ticks_per_second: u64,
}

/// Growth below this, in a [`QUIET_FOR`], counts as none: a few steps of the clock that counts CPU time.
const QUIET_US: u64 = 20_000;
const QUIET_FOR: Duration = Duration::from_millis(400);
const QUIET_LIMIT: Duration = Duration::from_secs(120);

// === impl ServerProcess ===

impl ServerProcess {
    /// The process of that id, which must run.
    pub fn new(pid: u32) -> anyhow::Result<Self> {
        ensure!(pid != 0, "--pid must name the JobTracker's process");
        let process = Self { pid, ticks_per_second: rustix::param::clock_ticks_per_second() };
        process.cpu_us()?;
        Ok(process)
    }

    /// User and system time of all its threads so far, µs; the kernel counts it in steps of 10 ms.
    pub fn cpu_us(self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/stat", self.pid);
        let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        // The name of the program may hold blanks; it ends at the last parenthesis, before the third field.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = after_name.split_ascii_whitespace().skip(11);
        let mut ticks = || -> anyhow::Result<u64> { Ok(fields.next().with_context(|| path.clone())?.parse()?) };
        Ok((ticks()? + ticks()?) * 1_000_000 / self.ticks_per_second)
    }

    /// Resident memory, bytes.
    pub fn resident_bytes(self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/status", self.pid);
        let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = line.and_then(|line| line.trim().strip_suffix(" kB")).with_context(|| path)?.parse()?;
        Ok(kilobytes * 1024)
    }

    /// Its threads.
    pub fn threads(self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/task", self.pid))?.count())
    }

    /// Its open file descriptors.
    pub fn open_files(self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.pid))?.count())
    }

    /// Waits until it has come to rest.
    pub async fn settle(self) -> anyhow::Result<()> {
        let end = Instant::now() + QUIET_LIMIT;
        loop {
            let before = self.cpu_us()?;
            sleep(QUIET_FOR).await;
            if self.cpu_us()? - before <= QUIET_US {
                return Ok(());
            }
            ensure!(Instant::now() < end, "the JobTracker does not come to rest within {QUIET_LIMIT:?}");
        }
    }
}
