//! Why a tasktracker does not start, or stops.

use std::io;
use std::path::PathBuf;

use crate::fs::{FileUriError, FsError};

/// Why a tasktracker does not run.
#[derive(Debug, thiserror::Error)]
pub enum TaskTrackerError {
    /// The web address.
    #[error(
        "cannot serve map output on {address}: {source}; give another with -D mapred.task.tracker.http.address=HOST:PORT, port 0 for any"
    )]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder.
    #[error("cannot use {}: {source}; mapred.local.dir and hadoop.log.dir must name folders that {user} may write to", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Who tried.
        user: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder whose content others decide.
    #[error("{0}; or set mapred.local.dir and hadoop.log.dir to folders of this user")]
    Untrusted(FsError),
    /// Another tasktracker's folder.
    #[error("another tasktracker works in {}; give this one another with -D mapred.local.dir=DIR", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The system gives no runtime, thread or signal.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// The JobTracker.
    #[error("{0}")]
    Conversation(#[from] ConversationError),
}

/// Why a tracker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// It is not wanted.
    #[error("the JobTracker does not admit this host: {0}; see mapred.hosts and mapred.hosts.exclude there")]
    Disallowed(String),
    /// It is no JobTracker of Hadoop 1.2.
    #[error("{0}")]
    Version(String),
    /// Its files are where no local path leads.
    #[error("the JobTracker's system directory (mapred.system.dir there): {0}; a stock TaskTracker works for it")]
    SystemDir(#[from] FileUriError),
}
