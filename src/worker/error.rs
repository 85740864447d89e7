//! Why a tasktracker does not start, or stops.

use std::io;
use std::path::PathBuf;

use crate::config::NamedValue;
use crate::fs::{FileUriError, FsError, is_permanent};

#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskTrackerError {
    #[error(
        "cannot serve map output on {address}: {source}; give another with -D mapred.task.tracker.http.address=HOST:PORT, best a fixed port such as 50061"
    )]
    Listen {
        /// `HOST:PORT`.
        address: String,
        source: io::Error,
    },
    #[error("cannot use {}: {source}; mapred.local.dir and hadoop.log.dir must name folders that {user} may write to", folder.display())]
    Folder {
        /// Of `mapred.local.dir` or `hadoop.log.dir`.
        folder: PathBuf,
        user: String,
        source: io::Error,
    },
    #[error("{culprit}: {source}; {key} must name folders that {user} may write to", key = .culprit.key)]
    NamedFolder { culprit: Box<NamedValue>, user: String, source: FsError },
    #[error(
        "jobs run as their users, who cannot reach {}: {} is closed to them{}; run chmod o+x {}, name another folder in mapred.local.dir, or set jobtracker.worker.run-as = self",
        folder.display(), part.display(), reason(source.as_deref()), part.display()
    )]
    Unreachable {
        /// Of `mapred.local.dir`.
        folder: PathBuf,
        part: PathBuf,
        source: Option<Box<FsError>>,
    },
    #[error("{0}; or set mapred.local.dir and hadoop.log.dir to folders of this user")]
    Untrusted(FsError),
    #[error("another tasktracker works in {}; give this one another with -D mapred.local.dir=DIR", folder.display())]
    InUse { folder: PathBuf },
    #[error(
        "{0}; set jobtracker.tasktracker.cgroup = auto, or give this worker a group of its own (systemd: Delegate=yes)"
    )]
    NoControlGroup(String),
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    #[error("{0}")]
    Heartbeat(#[from] HeartbeatError),
}

impl TaskTrackerError {
    /// Whether another start would fail alike until a person acts.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Folder { source, .. } => is_permanent(source),
            Self::Untrusted(error) | Self::NamedFolder { source: error, .. } => error.is_permanent(),
            // A key demands what the machine does not give.
            Self::Unreachable { .. } | Self::NoControlGroup(_) => true,
            Self::Listen { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
            Self::InUse { .. } | Self::Start(_) | Self::Heartbeat(_) => false,
        }
    }
}

fn reason(error: Option<&FsError>) -> String {
    error.map(|error| format!(" ({error})")).unwrap_or_default()
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HeartbeatError {
    #[error("the JobTracker does not admit this host: {0}; see mapred.hosts and mapred.hosts.exclude there")]
    Disallowed(String),
    #[error("{0}")]
    Version(String),
    #[error("the JobTracker's system directory (mapred.system.dir there): {0}; a stock TaskTracker works for it")]
    SystemDir(#[from] FileUriError),
}
