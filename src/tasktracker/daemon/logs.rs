//! Logs of attempts: where they lie, which part of them is asked for, and how long they are kept (1.2.1 `TaskLog`, `TaskLogServlet`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use super::super::private::{append_to_file, make_folder, write_file};
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
        let file = make_folder(&folder).and_then(|()| append_to_file(&folder.join("syslog")));
        // A log that cannot be written costs words, not the attempt.
        let _ = file.and_then(|mut file| writeln!(file, "{words}"));
    }

    /// The part of a log that is asked for, if the attempt ran here: the file, where the part begins, and how long it is, bytes.
    pub fn open_part(
        &self,
        attempt: AttemptId,
        name: &str,
        start: i64,
        end: i64,
    ) -> Option<io::Result<(File, Range<u64>)>> {
        let folder = self.folder_of(attempt);
        if !folder.is_dir() {
            return None;
        }
        let opened = File::open(folder.join(name)).and_then(|file| {
            let length = file.metadata()?.len();
            Ok((file, part(length, start, end)))
        });
        Some(opened)
    }

    /// Says where the logs are, as stock trackers do for who reads the files themselves (1.2.1 `TaskLog.writeToIndexFile`).
    pub fn write_index(&self, attempt: AttemptId) -> io::Result<()> {
        let folder = self.folder_of(attempt);
        let parts: String = NAMES.iter().map(|name| format!("{name}:0 -1\n")).collect();
        write_file(&folder.join("log.index"), format!("LOG_DIR:{}\n{parts}", folder.display()).as_bytes())
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

/// The part of a log of so many bytes that `start` and `end` ask for: offsets, the end not included; negative ones count from the end
/// of the log, one byte beyond its last being -1.
pub fn part(length: u64, start: i64, end: i64) -> Range<u64> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |offset: i64| {
        let offset = if offset < 0 { length.saturating_add(offset).saturating_add(1) } else { offset };
        u64::try_from(offset.clamp(0, length)).unwrap_or(0)
    };
    place(start)..place(end).max(place(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_logs_are_those_of_hadoop() {
        assert_eq!(part(10, 0, -1), 0..10);
        assert_eq!(part(10, -6, -1), 5..10);
        assert_eq!(part(10, -4097, -1), 0..10);
        assert_eq!(part(10, 2, 4), 2..4);
        assert!(part(10, 4, 2).is_empty() && part(10, 20, 30).is_empty());
    }

    #[test]
    fn logs_are_there_for_attempts_that_ran_here() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().to_owned(), limit_bytes: None, retain: Duration::ZERO };
        let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
        assert!(logs.open_part(attempt, "stderr", 0, -1).is_none());
        logs.note(attempt, "words");
        logs.write_index(attempt).unwrap();
        assert_eq!(logs.open_part(attempt, "syslog", 2, -1).unwrap().unwrap().1, 2..6);
        assert!(logs.open_part(attempt, "stderr", 0, -1).unwrap().is_err());
        let index = fs::read_to_string(logs.folder_of(attempt).join("log.index")).unwrap();
        let folder = logs.folder_of(attempt);
        assert_eq!(index, format!("LOG_DIR:{}\nstdout:0 -1\nstderr:0 -1\nsyslog:0 -1\n", folder.display()));
    }
}
