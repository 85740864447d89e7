//! Why a demo does not come to its end.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::job::JobClientError;
use crate::client::job::configuration::JobConfigurationError;
use crate::client::market::MarketClientError;
use crate::config::ConfigError;
use crate::fs::FileUriError;

/// Why a demo does not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A file or folder.
    #[error("cannot {what} {}: {source}; TMPDIR says where the demo makes its folder", path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no thread, signal or randomness.
    #[error("the system refuses what the demo needs: {0}")]
    System(io::Error),
    /// A value that the demo itself has set.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The same, in a job.
    #[error("{0}")]
    JobConfig(#[from] JobConfigurationError),
    /// The name of the folder is no path of a job.
    #[error("{0}; TMPDIR says where the demo makes its folder")]
    Path(#[from] FileUriError),
    /// A daemon has ended.
    #[error("{daemon} has ended: {why}")]
    Daemon {
        /// Which.
        daemon: String,
        /// What it said.
        why: String,
    },
    /// The market did not do what a user asked of it.
    #[error("the market: {0}")]
    Market(#[from] MarketClientError),
    /// The JobTracker did not.
    #[error("the JobTracker: {0}")]
    Job(#[from] JobClientError),
    /// A job has not done what it should.
    #[error("{user}'s job has failed: {why}")]
    JobEnded {
        /// Whose.
        user: &'static str,
        /// What the JobTracker says of it.
        why: String,
    },
    /// Nothing happens any more.
    #[error("the jobs are not over after {0} s")]
    TooSlow(u64),
}

// === impl DemoError ===

impl DemoError {
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }

    pub(super) fn system(error: io::Error) -> Self {
        Self::System(error)
    }
}
