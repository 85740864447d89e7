//! Errors of a demo.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::job::JobClientError;
use crate::client::market::MarketClientError;
use crate::config::ConfigError;
use crate::fs::FileUriError;

/// Why a demo failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// A file or folder cannot be used.
    #[error("cannot {what} {}: {source}; set TMPDIR to a folder that the demo can use", path.display())]
    File {
        /// The failed action.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// No thread, signal handler or randomness.
    #[error("cannot set up the demo: {0}")]
    System(io::Error),
    /// An invalid setting of the demo itself.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The folder's name cannot be a path of a job.
    #[error("{0}; set TMPDIR to a folder that the demo can use")]
    Path(#[from] FileUriError),
    /// A daemon has ended.
    #[error("{daemon} has ended: {why}")]
    Daemon {
        /// Its name.
        daemon: String,
        /// Its error.
        why: String,
    },
    /// A request to the market failed.
    #[error("the market: {0}")]
    Market(#[from] MarketClientError),
    /// A call to the JobTracker failed.
    #[error("the JobTracker: {0}")]
    Job(#[from] JobClientError),
    /// A job failed.
    #[error("{user}'s job has failed: {why}")]
    JobEnded {
        /// The owner of the job.
        user: &'static str,
        /// Its error.
        why: String,
    },
    /// The scenario takes too long.
    #[error("the jobs have not finished after {0} s")]
    TooSlow(u64),
}

impl DemoError {
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }

    pub(super) fn system(error: io::Error) -> Self {
        Self::System(error)
    }
}
