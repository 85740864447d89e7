//! Logs of attempts: their paths, requested parts, retention, and the tickets that may read them (1.2.1 `TaskLog`, `TaskLogServlet`).

use std::error::Error;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;

use crate::clock::wall_ms;
use crate::fs::{Expected, FolderHandle, FsError, ListBound, open_folder_below};
use crate::model::{AttemptId, JobId, LogKey, LogTicketError};
use crate::streaming::failure::TaskFailure;
use crate::streaming::private_files::{FILE_MODE, FOLDER_MODE, set_mode};

pub(crate) const LOG_NAMES: [&str; 3] = ["stdout", "stderr", "syslog"];

/// Begins the name of an application's folder among the logs.
pub(crate) const APPLICATION_PREFIX: &str = "application_";

#[derive(Clone, Debug)]
pub(crate) struct AttemptLogs {
    /// `userlogs`, with a folder for each job.
    pub(crate) folder: PathBuf,
    pub(crate) limit_bytes: Option<u64>,
    pub(crate) retain: Duration,
}

impl AttemptLogs {
    #[cfg(test)]
    pub(crate) fn folder_of(&self, attempt: AttemptId) -> PathBuf {
        self.folder.join(path_of(attempt))
    }

    /// Creates the folder of an attempt's logs if it is missing, for our own user only. Errors: a link in its place, or a system error.
    pub(crate) fn make_folder(&self, attempt: AttemptId) -> Result<FolderHandle, FsError> {
        let job = attempt.task.job.to_string();
        let of_job = FolderHandle::open(&self.folder)?.make_folder(OsStr::new(&job), FOLDER_MODE)?;
        of_job.make_folder(OsStr::new(&attempt.to_string()), FOLDER_MODE)
    }

    /// Creates the logs of an attempt; returns the one for standard error.
    pub(crate) fn create_logs(&self, attempt: AttemptId) -> Result<File, TaskFailure> {
        let unusable = |error: &(dyn Error + 'static)| TaskFailure::unusable_here("the attempt's logs", error);
        let folder = self.make_folder(attempt).map_err(|error| unusable(&error))?;
        for name in ["stdout", "syslog"] {
            log_file(&folder, name).map_err(|error| unusable(&error))?;
        }
        self.write_index(attempt).map_err(|error| unusable(&error))?;
        log_file(&folder, "stderr").map_err(|error| unusable(&error))
    }

    /// Appends a line to the attempt's `syslog`; errors are ignored.
    pub(crate) fn append_to_syslog(&self, attempt: AttemptId, words: &str) {
        let file = self.make_folder(attempt).and_then(|folder| log_file(&folder, "syslog"));
        // A log that cannot be written loses lines, not the attempt.
        let _ = file.map(|mut file| writeln!(file, "{words}"));
    }

    /// Opens a log for the requested part, if the attempt ran here: the file, and the range in bytes.
    pub(crate) fn open_part(
        &self,
        attempt: AttemptId,
        name: &str,
        start: i64,
        end: i64,
    ) -> Option<io::Result<(File, Range<u64>)>> {
        open_log_part(&self.folder, &path_of(attempt), name, start, end)
    }

    /// Writes `log.index` for readers of the files, as stock trackers do (1.2.1 `TaskLog.writeToIndexFile`).
    /// Errors: those of the system; a link in its place.
    pub(crate) fn write_index(&self, attempt: AttemptId) -> io::Result<()> {
        let folder = self.make_folder(attempt).map_err(io::Error::other)?;
        let parts: String = LOG_NAMES.iter().map(|name| format!("{name}:0 -1\n")).collect();
        let mut index = log_file(&folder, "log.index").map_err(io::Error::other)?;
        index.set_len(0)?;
        index.seek(SeekFrom::Start(0))?;
        write!(index, "LOG_DIR:{}\n{parts}", folder.path().display())
    }

    /// Removes the logs of jobs whose folders have not changed for the retention time. Those of applications are others' to remove.
    pub(crate) fn remove_old(&self) {
        let Ok(logs) = FolderHandle::open(&self.folder) else { return };
        let names = logs.names(ListBound::OWN).unwrap_or_default();
        for name in names.into_iter().filter(|name| !name.to_string_lossy().starts_with(APPLICATION_PREFIX)) {
            if self.is_old(&logs, &name) {
                // The next round removes the rest.
                let _ = logs.remove(&name);
            }
        }
    }

    /// Whether an entry has not changed for the retention time.
    pub(super) fn is_old(&self, folder: &FolderHandle, name: &OsStr) -> bool {
        let (now_s, retain_s) = (wall_ms() / 1000, i64::try_from(self.retain.as_secs()).unwrap_or(i64::MAX));
        let changed_s = folder.stat_of(name).ok().flatten().map(|stat| stat.st_mtime);
        changed_s.is_some_and(|changed_s| now_s.saturating_sub(changed_s) > retain_s)
    }
}

fn path_of(attempt: AttemptId) -> PathBuf {
    Path::new(&attempt.task.job.to_string()).join(attempt.to_string())
}

/// Opens the log of that name in a folder below `logs` for the requested part; none: there is no such folder. Links, pipes and files
/// of other users, which a command may have put there, are not opened.
pub(crate) fn open_log_part(
    logs: &Path,
    path: &Path,
    name: &str,
    start: i64,
    end: i64,
) -> Option<io::Result<(File, Range<u64>)>> {
    let folder = open_folder_below(logs, path).ok()?;
    let expected = Expected::file_of([geteuid().as_raw()]).with_one_link();
    let opened = folder.file(Path::new(name), &expected).map_err(io::Error::other);
    Some(opened.map(|log| {
        let length = log.metadata.len();
        (log.file, log_range(length, start, end))
    }))
}

/// Opens a log to append to; creates it if it is missing. Errors: a link or a pipe in its place, another's file, or a system error.
pub(crate) fn log_file(folder: &FolderHandle, name: &str) -> Result<File, FsError> {
    let mut file = folder.open_own_file(OsStr::new(name), FILE_MODE)?;
    let ready = set_mode(&file, FILE_MODE).and_then(|()| file.seek(SeekFrom::End(0)));
    let path = folder.path().join(name);
    ready.map_err(|source| FsError::Refused { action: "write", path, expected: "a file of our own", source })?;
    Ok(file)
}

/// The range of a log of `length` bytes from `start` to `end`, which is not included; negative offsets count from the
/// end of the log: -1 is the byte behind its last.
fn log_range(length: u64, start: i64, end: i64) -> Range<u64> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = |offset: i64| {
        let offset = if offset < 0 { length.saturating_add(offset).saturating_add(1) } else { offset };
        u64::try_from(offset.clamp(0, length)).unwrap_or(0)
    };
    place(start)..place(end).max(place(start))
}

/// The file with a job's key, in the folder of its logs.
const KEY_FILE: &str = "ticket-key";
const MAX_KEY_BYTES: u64 = 64;

/// What a request has to show for a ticket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenTicket {
    /// `expires`, epoch ms.
    pub(crate) expires_ms: Option<i64>,
    pub(crate) ticket: Option<String>,
}

impl GivenTicket {
    /// Both parts of it.
    pub(super) fn whole(&self) -> Option<(i64, &str)> {
        self.expires_ms.zip(self.ticket.as_deref())
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LogsDenied {
    #[error(
        "logs need a ticket of the JobTracker (mapred.acls.enabled is true); run `jobtracker job logs ATTEMPT`, or ask \
         /scheduler/logticket for one"
    )]
    NoTicket,
    #[error("{0}; ask the JobTracker for another one")]
    Ticket(#[from] LogTicketError),
    #[error("logs of containers need a ticket of the JobTracker: ask its /ws/v1/cluster/containers/ID/logs/NAME")]
    NoTicketOfContainer,
    #[error("the key of {0} is not here, so no ticket can be checked")]
    NoKey(String),
}

impl AttemptLogs {
    /// Keeps the key of a job's tickets beside its logs. Errors: a link in its place, another's file, or a system error.
    pub(crate) fn keep_key(&self, job: JobId, key: &LogKey) -> Result<(), FsError> {
        let folder = FolderHandle::open(&self.folder)?.make_folder(OsStr::new(&job.to_string()), FOLDER_MODE)?;
        keep_key_in(&folder, key)
    }

    /// Checks a ticket for the logs of an attempt at a time, epoch ms. Reads a file.
    pub(crate) fn check_ticket(&self, attempt: AttemptId, given: &GivenTicket, now_ms: i64) -> Result<(), LogsDenied> {
        let (expires_ms, ticket) = given.whole().ok_or(LogsDenied::NoTicket)?;
        Ok(self.key(attempt.task.job.to_string())?.check(attempt, expires_ms, ticket, now_ms)?)
    }

    /// The key of a job or an application.
    pub(super) fn key(&self, name: String) -> Result<LogKey, LogsDenied> {
        key_in(&self.folder, &name).ok().flatten().ok_or(LogsDenied::NoKey(name))
    }
}

/// Keeps a key in a folder of logs. Errors: a link in its place, another's file, or a system error.
pub(crate) fn keep_key_in(folder: &FolderHandle, key: &LogKey) -> Result<(), FsError> {
    let mut file = folder.open_own_file(OsStr::new(KEY_FILE), FILE_MODE)?;
    let written = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
    let written = written.and_then(|_| file.write_all(key.as_bytes()));
    let path = folder.path().join(KEY_FILE);
    written.map_err(|source| FsError::Refused { action: "write", path, expected: "a file of our own", source })
}

/// The key kept in the folder of that name below `logs`. Errors: those of the system; what lies there is no file of our own.
pub(crate) fn key_in(logs: &Path, name: &str) -> io::Result<Option<LogKey>> {
    let folder = open_folder_below(logs, Path::new(name)).map_err(io::Error::other)?;
    let expected = Expected::file_of([geteuid().as_raw()]).with_one_link().at_most(MAX_KEY_BYTES);
    let file = folder.file(Path::new(KEY_FILE), &expected).map_err(io::Error::other)?.file;
    let mut bytes = Vec::new();
    file.take(MAX_KEY_BYTES).read_to_end(&mut bytes)?;
    Ok(LogKey::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;

    #[test]
    fn parts_of_logs_are_those_of_hadoop() {
        assert_eq!(log_range(10, 0, -1), 0..10);
        assert_eq!(log_range(10, -6, -1), 5..10);
        assert_eq!(log_range(10, -4097, -1), 0..10);
        assert_eq!(log_range(10, 2, 4), 2..4);
        assert!(log_range(10, 4, 2).is_empty() && log_range(10, 20, 30).is_empty());
    }

    #[test]
    fn logs_are_there_for_attempts_that_ran_here() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().to_owned(), limit_bytes: None, retain: Duration::ZERO };
        let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
        assert!(logs.open_part(attempt, "stderr", 0, -1).is_none());
        logs.append_to_syslog(attempt, "words");
        logs.write_index(attempt).unwrap();
        logs.write_index(attempt).unwrap();
        assert_eq!(logs.open_part(attempt, "syslog", 2, -1).unwrap().unwrap().1, 2..6);
        assert!(logs.open_part(attempt, "stderr", 0, -1).unwrap().is_err());
        let index = fs::read_to_string(logs.folder_of(attempt).join("log.index")).unwrap();
        let folder = logs.folder_of(attempt);
        assert_eq!(index, format!("LOG_DIR:{}\nstdout:0 -1\nstderr:0 -1\nsyslog:0 -1\n", folder.display()));
    }

    #[test]
    fn what_a_command_plants_among_logs_is_neither_served_nor_written_to() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().join("logs"), limit_bytes: None, retain: Duration::ZERO };
        fs::create_dir(&logs.folder).unwrap();
        let [attempt, other] = ["0", "1"].map(|n| format!("attempt_202611211027_0016_m_000000_{n}").parse().unwrap());
        let secret = scratch.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        logs.make_folder(attempt).unwrap();
        let folder = logs.folder_of(attempt);
        symlink(&secret, folder.join("stdout")).unwrap();
        fs::hard_link(&secret, folder.join("stderr")).unwrap();
        let pipe = folder.join("syslog");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        symlink(&secret, folder.join("log.index")).unwrap();
        for name in LOG_NAMES {
            assert!(logs.open_part(attempt, name, 0, -1).unwrap().is_err(), "{name}");
        }
        logs.append_to_syslog(attempt, "words");
        assert!(logs.write_index(attempt).is_err());
        // A folder elsewhere, with a log in it.
        fs::create_dir(scratch.path().join("elsewhere")).unwrap();
        fs::write(scratch.path().join("elsewhere/stdout"), "secret").unwrap();
        symlink(scratch.path().join("elsewhere"), logs.folder_of(other)).unwrap();
        assert!(logs.open_part(other, "stdout", 0, -1).is_none());
        assert!(logs.make_folder(other).is_err());
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
    }

    #[test]
    fn a_ticket_opens_the_logs_of_its_attempt_until_its_time() {
        let scratch = tempfile::tempdir().unwrap();
        let logs = AttemptLogs { folder: scratch.path().to_owned(), limit_bytes: None, retain: Duration::ZERO };
        let [attempt, other] =
            ["m_000000_0", "m_000000_1"].map(|task| format!("attempt_202611211027_0016_{task}").parse().unwrap());
        let key = LogKey::of_token(b"password");
        let given = |key: &LogKey, attempt, expires_ms| GivenTicket {
            expires_ms: Some(expires_ms),
            ticket: Some(key.ticket(attempt, expires_ms)),
        };
        let check = |given: &GivenTicket, now_ms| logs.check_ticket(attempt, given, now_ms).map_err(|e| e.to_string());
        let good = given(&key, attempt, 10);
        assert!(check(&good, 10).unwrap_err().contains("the key of job_202611211027_0016 is not here"));
        logs.keep_key(attempt.task.job, &LogKey::of_token(b"before a restart of the job")).unwrap();
        logs.keep_key(attempt.task.job, &key).unwrap();
        assert_eq!(check(&good, 10), Ok(()));
        assert!(check(&good, 11).unwrap_err().contains("was valid until 10"));
        assert!(check(&given(&key, other, 10), 10).unwrap_err().contains("not one of the JobTracker for these logs"));
        assert!(check(&given(&LogKey::of_token(b"x"), attempt, 10), 10).is_err());
        assert!(check(&GivenTicket::default(), 10).unwrap_err().contains("logs need a ticket"));
        // What a command of the job puts there is no key.
        let path = scratch.path().join("job_202611211027_0016").join(KEY_FILE);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(scratch.path().join("elsewhere"), &path).unwrap();
        assert!(logs.keep_key(attempt.task.job, &key).is_err() && check(&good, 10).is_err());
    }
}
