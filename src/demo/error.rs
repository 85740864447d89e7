//! Errors of a demo.

use std::io;
use std::path::{Path, PathBuf};

use crate::client::job::JobClientError;
use crate::client::market::MarketClientError;
use crate::config::ConfigError;
use crate::fs::FileUriError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("cannot {what} {}: {source}; set TMPDIR to a folder that the demo can use", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot set up the demo: {0}")]
    System(io::Error),
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}; set TMPDIR to a folder that the demo can use")]
    Path(#[from] FileUriError),
    #[error("{daemon} has ended: {why}")]
    Daemon { daemon: String, why: String },
    #[error("the market: {0}")]
    Market(#[from] MarketClientError),
    #[error("the JobTracker: {0}")]
    Job(#[from] JobClientError),
    #[error("{user}'s job has failed: {why}")]
    JobEnded { user: &'static str, why: String },
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
