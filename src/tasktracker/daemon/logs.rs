//! Logs of attempts: where they lie, which part of them is asked for, and how long they are kept (1.2.1 `TaskLog`, `TaskLogServlet`).

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::wire::AttemptId;

/// What there is of an attempt.
pub const NAMES: [&str; 3] = ["stdout", "stderr", "syslog"];

/// The logs of all attempts.
#[derive(Clone, Debug)]
pub struct AttemptLogs {
    /// `userlogs`: a folder for each job lies in it.
    pub folder: PathBuf,
    /// Most bytes of standard error.
    pub limit_bytes: Option<u64>,
    /// How long they are kept.
    pub retain: Duration,
}

// === impl AttemptLogs ===

impl AttemptLogs {
    /// Where the logs of an attempt lie.
    pub fn folder_of(&self, attempt: AttemptId) -> PathBuf {
        self.folder.join(attempt.task.job.to_string()).join(attempt.to_string())
    }

    /// Adds a line to the attempt's `syslog`, as far as that can be.
    pub fn note(&self, attempt: AttemptId, words: &str) {
        let folder = self.folder_of(attempt);
        let file = fs::create_dir_all(&folder)
            .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(folder.join("syslog")));
        // A log that cannot be written costs words, not the attempt.
        let _ = file.and_then(|mut file| writeln!(file, "{words}"));
    }

    /// One log, if the attempt ran here.
    pub fn read(&self, attempt: AttemptId, name: &str) -> Option<Vec<u8>> {
        let folder = self.folder_of(attempt);
        folder.is_dir().then(|| fs::read(folder.join(name)).unwrap_or_default())
    }

    /// Removes the logs of jobs that nobody has written to for so long.
    pub fn remove_old(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > self.retain) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The part that `start` and `end` ask for: offsets, the end not included; negative ones count from the end of the log, one byte
/// beyond its last being -1.
pub fn part(log: &[u8], start: i64, end: i64) -> &[u8] {
    let length = i64::try_from(log.len()).unwrap_or(i64::MAX);
    let place = |offset: i64| {
        let offset = if offset < 0 { length.saturating_add(offset).saturating_add(1) } else { offset };
        usize::try_from(offset.clamp(0, length)).unwrap_or(0)
    };
    log.get(place(start)..place(end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_logs_are_those_of_hadoop() {
        let log = b"0123456789";
        assert_eq!(part(log, 0, -1), log);
        assert_eq!(part(log, -6, -1), b"56789");
        assert_eq!(part(log, -4097, -1), log);
        assert_eq!(part(log, 2, 4), b"23");
        assert_eq!(part(log, 4, 2), b"");
        assert_eq!(part(log, 20, 30), b"");
    }
}
