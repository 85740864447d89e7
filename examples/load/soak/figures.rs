//! What the daemon takes of its machine, life by life, and whether that stays flat.

use std::path::Path;

use anyhow::ensure;
use rusqlite::Connection;

use crate::server_process::ServerProcess;

/// Figures of one moment, or means of many.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Resident memory, bytes.
    pub resident_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open file descriptors.
    pub open_files: u64,
    /// state.db.
    pub database_bytes: u64,
    /// Its write-ahead log.
    pub log_bytes: u64,
}

/// A life of the daemon in one line.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Since the beginning of the run, s.
    pub at_s: u64,
    /// How long it was up, ms.
    pub up_ms: u128,
    /// Means of its samples.
    pub mean: Sample,
    /// Jobs that ended as they must, since the beginning.
    pub jobs: u64,
    /// Tasks done, since the beginning.
    pub tasks: u64,
    /// Heartbeats answered.
    pub heartbeats: u64,
    /// How long answers took: the median and the 99th percentile, µs.
    pub p50_us: Option<u32>,
    /// As said.
    pub p99_us: Option<u32>,
    /// From its start to the open RPC port and to the first answered heartbeat, ms.
    pub port_ms: Option<u128>,
    /// As said.
    pub first_ms: Option<u128>,
    /// What is in state.db but for the market's history, bytes.
    pub kept_bytes: u64,
    /// Movements of money, by their number.
    pub movements: i64,
    /// What was wrong.
    pub wrong: usize,
}

/// Lives below which nothing is said of flatness.
const LEAST_LIVES: usize = 16;
/// How much more the last quarter may take than the second, percent.
const TOLERATED_PERCENT: u64 = 10;
const MIB: u64 = 1 << 20;

// === impl Sample ===

impl Sample {
    /// The process and its state folder now.
    pub fn take(process: ServerProcess, state: &Path) -> anyhow::Result<Self> {
        let size = |name: &str| std::fs::metadata(state.join(name)).map_or(0, |file| file.len());
        Ok(Self {
            resident_bytes: process.resident_bytes()?,
            threads: process.threads()? as u64,
            open_files: process.open_files()? as u64,
            database_bytes: size("state.db"),
            log_bytes: size("state.db-wal"),
        })
    }

    /// Their mean; all zero without any.
    pub fn mean(samples: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> u64| samples.iter().map(of).sum::<u64>() / (samples.len() as u64).max(1);
        Self {
            resident_bytes: mean(|sample| sample.resident_bytes),
            threads: mean(|sample| sample.threads),
            open_files: mean(|sample| sample.open_files),
            database_bytes: mean(|sample| sample.database_bytes),
            log_bytes: mean(|sample| sample.log_bytes),
        }
    }
}

// === impl Life ===

impl Life {
    /// Prints the heads of the columns.
    pub fn print_head() {
        println!(
            "{:>5} {:>5} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>4} {:>7} {:>7} {:>8} {:>8} {:>9} {:>5}",
            "min",
            "up s",
            "jobs",
            "tasks",
            "beats/s",
            "p50 ms",
            "p99 ms",
            "RSS MiB",
            "threads",
            "fds",
            "db MiB",
            "wal MiB",
            "port ms",
            "first ms",
            "movements",
            "wrong"
        );
    }

    /// Prints it.
    pub fn print(&self) {
        let ms = |us: Option<u32>| us.map_or("-".to_owned(), |us| format!("{}.{}", us / 1000, us % 1000 / 100));
        let or_none = |ms: Option<u128>| ms.map_or("-".to_owned(), |ms| ms.to_string());
        let tenths = |bytes: u64| format!("{}.{}", bytes / MIB, bytes % MIB * 10 / MIB);
        println!(
            "{:>5} {:>5} {:>7} {:>8} {:>7} {:>7} {:>7} {:>8} {:>7} {:>4} {:>7} {:>7} {:>8} {:>8} {:>9} {:>5}",
            format!("{}:{:02}", self.at_s / 60, self.at_s % 60),
            self.up_ms / 1000,
            self.jobs,
            self.tasks,
            u128::from(self.heartbeats) * 1000 / self.up_ms.max(1),
            ms(self.p50_us),
            ms(self.p99_us),
            tenths(self.mean.resident_bytes),
            self.mean.threads,
            self.mean.open_files,
            tenths(self.mean.database_bytes),
            tenths(self.mean.log_bytes),
            or_none(self.port_ms),
            or_none(self.first_ms),
            self.movements,
            self.wrong,
        );
    }
}

/// What is in the state.db of a copy, bytes, without free pages and without the ledger and the ticks: they grow for days before they are
/// folded and thinned.
pub fn kept_bytes(copy: &Path) -> anyhow::Result<u64> {
    let sql = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name NOT LIKE 'ledger%' AND name <> 'tick'";
    let bytes: i64 = Connection::open(copy.join("state.db"))?.query_row(sql, [], |row| row.get(0))?;
    Ok(bytes.cast_unsigned())
}

/// Prints restart times and growth, and fails when the last quarter of the lives takes more than the second. Nothing is said of a run
/// whose second quarter begins before `filled_jobs` jobs have ended: what is kept was still filling then.
pub fn judge(lives: &[Life], filled_jobs: u64) -> anyhow::Result<()> {
    let spread = |of: fn(&Life) -> Option<u128>| {
        let mut all: Vec<u128> = lives.iter().filter_map(of).collect();
        all.sort_unstable();
        match all[..] {
            [] => "-".to_owned(),
            [least, ..] => format!("{least}/{}/{}", all[all.len() / 2], all[all.len() - 1]),
        }
    };
    println!(
        "{} starts, least/median/most ms: port {}, first answered heartbeat {}",
        lives.len(),
        spread(|life| life.port_ms),
        spread(|life| life.first_ms),
    );
    let quarter = lives.len() / 4;
    if lives.len() < LEAST_LIVES || lives[quarter].jobs < filled_jobs {
        println!("too short a run to say whether memory, descriptors and state.db stay flat");
        return Ok(());
    }
    let of = |lives: &[Life]| Sample::mean(&lives.iter().map(|life| life.mean).collect::<Vec<_>>());
    let kept = |lives: &[Life]| lives.iter().map(|life| life.kept_bytes).sum::<u64>() / lives.len() as u64;
    let (seconds, lasts) = (&lives[quarter..2 * quarter], &lives[lives.len() - quarter..]);
    let (second, last) = (of(seconds), of(lasts));
    let mut grown = Vec::new();
    for (what, before, after) in [
        ("resident bytes", second.resident_bytes, last.resident_bytes),
        ("threads", second.threads, last.threads),
        ("open files", second.open_files, last.open_files),
        ("bytes in state.db but for the market's history", kept(seconds), kept(lasts)),
        ("bytes of its log", second.log_bytes, last.log_bytes),
    ] {
        println!("{what}: {before} in the second quarter, {after} in the last");
        if after * 100 > before * (100 + TOLERATED_PERCENT) {
            grown.push(what);
        }
    }
    ensure!(grown.is_empty(), "not flat: {grown:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(resident_bytes: impl Fn(u64) -> u64) -> Vec<Life> {
        let mean = |number| Sample { resident_bytes: resident_bytes(number), ..Sample::default() };
        (0..20).map(|number| Life { mean: mean(number), jobs: number, ..Life::default() }).collect()
    }

    #[test]
    fn growth_within_a_tenth_passes() {
        assert!(judge(&lives(|number| 1000 + number * 2), 5).is_ok());
        assert!(judge(&lives(|number| 1000 + number * 20), 5).is_err());
        assert!(judge(&lives(|number| 1000 + number * 20), 6).is_ok(), "what is kept was still filling");
        assert!(judge(&lives(|number| 1000 + number * 20)[..8], 0).is_ok());
    }
}
