//! Whether a request may read the logs of an attempt: with access lists on only with a ticket of the JobTracker, whose key
//! follows from the job's token and is kept beside the job's logs, as long as they are.

use std::ffi::OsStr;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use rustix::process::geteuid;

use crate::fs::{Expected, FolderHandle, FsError, open_folder_below};
use crate::model::{AttemptId, JobId, LogKey, LogTicketError};
use crate::streaming::private_files::{FILE_MODE, FOLDER_MODE};

use super::attempt_logs::AttemptLogs;

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

#[derive(Debug, thiserror::Error)]
pub(crate) enum LogsDenied {
    #[error(
        "logs need a ticket of the JobTracker (mapred.acls.enabled is true); run `jobtracker job logs ATTEMPT`, or ask \
         /scheduler/logticket for one"
    )]
    NoTicket,
    #[error("{0}; ask the JobTracker for another one")]
    Ticket(#[from] LogTicketError),
    /// There is none for the log of a container.
    #[error("logs of containers need a ticket of the JobTracker: ask its /ws/v1/cluster/containers/ID/logs/NAME")]
    NoTicketOfContainer,
    /// Nothing can be checked, of this job or application.
    #[error("the key of {0} is not here, so no ticket can be checked")]
    NoKey(String),
}

impl AttemptLogs {
    /// Keeps the key of a job's tickets beside its logs.
    ///
    /// # Errors
    /// [`FsError`]: a link in its place, another's file, or a system error.
    pub(crate) fn keep_key(&self, job: JobId, key: &LogKey) -> Result<(), FsError> {
        let folder = FolderHandle::open(&self.folder)?.make_folder(OsStr::new(&job.to_string()), FOLDER_MODE)?;
        keep_key_in(&folder, key)
    }

    /// Checks a ticket for the logs of an attempt at a time, epoch ms. Reads a file.
    pub(crate) fn check_ticket(&self, attempt: AttemptId, given: &GivenTicket, now_ms: i64) -> Result<(), LogsDenied> {
        let (Some(expires_ms), Some(ticket)) = (given.expires_ms, &given.ticket) else {
            return Err(LogsDenied::NoTicket);
        };
        let job = attempt.task.job;
        let key = key_in(&self.folder, &job.to_string()).ok().flatten();
        let key = key.ok_or_else(|| LogsDenied::NoKey(job.to_string()))?;
        Ok(key.check(attempt, expires_ms, ticket, now_ms)?)
    }
}

/// Keeps a key in a folder of logs.
///
/// # Errors
/// [`FsError`]: a link in its place, another's file, or a system error.
pub(crate) fn keep_key_in(folder: &FolderHandle, key: &LogKey) -> Result<(), FsError> {
    let mut file = folder.open_own_file(OsStr::new(KEY_FILE), FILE_MODE)?;
    let written = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
    let written = written.and_then(|_| file.write_all(key.as_bytes()));
    let path = folder.path().join(KEY_FILE);
    written.map_err(|source| FsError::Refused { action: "write", path, expected: "a file of our own", source })
}

/// The key kept in the folder of that name below `logs`.
///
/// # Errors
/// Those of the system; what lies there is no file of our own.
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
    use std::time::Duration;

    use super::*;

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
