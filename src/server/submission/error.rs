//! Why a submission's files are rejected.

use std::path::PathBuf;

use crate::config::JobConfError;
use crate::fs::{FileUriError, FsError};
use crate::ipc::RemoteError;
use crate::model::JobId;
use crate::wire::WireError;

use super::awaited_files::safe_mode;

/// Why a submission's files are rejected. Each text names the file and what was expected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmissionError {
    /// The staging directory is no valid path.
    #[error("the staging directory of {job}: {source}")]
    Directory { job: JobId, source: FileUriError },
    #[error(
        "{} is not the staging directory of {job}; expected {expected} (mapreduce.jobtracker.staging.root.dir)",
        shortened(directory)
    )]
    OtherDirectory {
        job: JobId,
        /// The directory that the client named.
        directory: String,
        expected: String,
    },
    /// The daemon may not read the staging directory, which is as stock clients make it.
    #[error(
        "the JobTracker runs as {daemon_user:?} and may not read {} (mode {mode:o}), where files of the job are staged; expected a \
         client that hands them over, such as `jobtracker job submit`, or for stock clients the rights of \
         etc/systemd/stock-clients.conf",
        folder.display()
    )]
    ClosedDirectory { daemon_user: String, folder: PathBuf, mode: u32 },
    /// A file is missing, unreadable or too long.
    #[error("{0}")]
    File(#[from] FsError),
    /// job.xml is too long. It begins with the words of 1.2.1 `JobInProgress`.
    #[error(
        "Exceeded max jobconf size: {bytes} limit: {limit_bytes} (mapred.user.jobconf.limit, {})",
        path.display()
    )]
    JobConfLength { path: PathBuf, bytes: u64, limit_bytes: u64 },
    /// job.splitmetainfo is too long. It begins with the words of 1.2.1 `SplitMetaInfoReader`.
    #[error(
        "Split metadata size exceeded {limit_bytes}. Aborting job {job} (mapreduce.jobtracker.split.metainfo.maxsize, \
         {} has {bytes})",
        path.display()
    )]
    SplitMetaLength { job: JobId, path: PathBuf, bytes: u64, limit_bytes: u64 },
    /// job.xml cannot be parsed.
    #[error("{}: {source}", path.display())]
    JobConf { path: PathBuf, source: Box<JobConfError> },
    /// job.xml names another user.
    #[error("{}: user.name is {found:?}; expected {expected:?}, the user who submits", path.display())]
    OtherUser { path: PathBuf, found: String, expected: String },
    /// job.splitmetainfo cannot be parsed.
    #[error("{}: {source}", path.display())]
    Splits { path: PathBuf, source: WireError },
    /// The two files disagree.
    #[error("{} holds {found} splits; expected {expected}, the number of maps in job.xml (mapred.map.tasks)", path.display())]
    SplitCount {
        path: PathBuf,
        found: usize,
        /// Maps in job.xml.
        expected: u32,
    },
    /// A split lies on too many hosts. It begins with the words of 1.2.1 `SplitMetaInfoReader`.
    #[error(
        "Max block location exceeded for split: #{split} splitsize: {found} maxsize: {limit} \
         (mapreduce.job.max.split.locations, {})",
        path.display()
    )]
    SplitLocations {
        path: PathBuf,
        /// The split, from 0.
        split: usize,
        /// Hosts it names.
        found: usize,
        limit: u32,
    },
    /// `job-info` cannot be parsed.
    #[error("{}: {source}", path.display())]
    JobInfo { path: PathBuf, source: WireError },
    /// `job-info` is about another job.
    #[error("job-info in the system directory of {job} is about {found}")]
    OtherJobInfo { job: JobId, found: JobId },
    /// `job-info` names no directory.
    #[error("job-info in the system directory of {0} names no staging directory")]
    NoDirectory(JobId),
    #[error("{}: {source}", path.display())]
    JobToken { path: PathBuf, source: WireError },
    /// `jobToken` has no token of the job.
    #[error("jobToken in the system directory of {0} has no token of the job")]
    NoJobToken(JobId),
    /// The system provides no random bytes.
    #[error("the system provided no random bytes for the token of {0}")]
    NoRandomness(JobId),
}

impl SubmissionError {
    /// Whether files cannot be reached now, and a later try may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, SubmissionError::File(error) if error.is_temporary())
    }

    /// What the client hears.
    pub(super) fn into_remote(self) -> RemoteError {
        if self.is_temporary() { safe_mode(&self) } else { RemoteError::io(self) }
    }
}

/// The beginning of a text that a client chose.
fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 64;
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
