//! Why a user cannot be changed.

use std::path::PathBuf;

use crate::cli::exit_code::WRONG_USAGE;
use crate::cli::market_command::MarketCommandError;
use crate::config::ConfigError;
use crate::fs::FsError;
use crate::market::{AclEditError, AclError};

/// Why a user cannot be changed; the ACL file is as before.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserFailure {
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A file.
    #[error("{0}")]
    File(#[from] FsError),
    /// The user, or the text of the file.
    #[error("{0}")]
    Edit(#[from] AclEditError),
    /// A line of the file of old keys.
    #[error("{0}; repair the file first")]
    OldKeys(AclError),
    /// The user's queue is not as asked for.
    #[error("{name} is not added, since {by} could not send {query}: {source}")]
    Queue {
        /// The new user.
        name: String,
        /// The administrator.
        by: String,
        /// The change of the queue.
        query: String,
        /// Why not.
        source: Box<MarketCommandError>,
    },
    /// What the queue is to get.
    #[error("{0}")]
    Argument(Box<MarketCommandError>),
    /// The queue is added by an administrator.
    #[error("{user} is no administrator in {}: give one of its administrators by --as", file.display())]
    NotAdministrator {
        /// Who would add it.
        user: String,
        /// The ACL file.
        file: PathBuf,
    },
    /// The system gives no random bytes.
    #[error("no key can be made: {0}")]
    NoRandomness(getrandom::Error),
}

impl From<MarketCommandError> for UserFailure {
    fn from(error: MarketCommandError) -> Self {
        Self::Argument(Box::new(error))
    }
}

impl UserFailure {
    /// The exit code: 2 for wrong usage or configuration and refused edits, 1 for any other failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Edit(_) | Self::OldKeys(_) | Self::NotAdministrator { .. } => WRONG_USAGE,
            Self::Queue { source, .. } | Self::Argument(source) => source.exit_code(),
            Self::File(_) | Self::NoRandomness(_) => 1,
        }
    }
}
