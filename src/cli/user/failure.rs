//! Why a user cannot be changed.

use crate::cli::exit_code::WRONG_USAGE;
use crate::config::ConfigError;
use crate::fs::FsError;
use crate::market::{AclEditError, AclError};

/// Why a user cannot be changed; the ACL file is as before.
#[derive(Debug, thiserror::Error)]
pub enum UserFailure {
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
    /// The system gives no random bytes.
    #[error("no key can be made: {0}")]
    NoRandomness(getrandom::Error),
}

// === impl UserFailure ===

impl UserFailure {
    /// The exit code: 2 for wrong usage or configuration and refused edits, 1 for any other failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Edit(_) | Self::OldKeys(_) => WRONG_USAGE,
            Self::File(_) | Self::NoRandomness(_) => 1,
        }
    }
}
