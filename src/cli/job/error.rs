//! Why a command about jobs brought nothing.

use crate::cli::market_command::MarketCommandError;
use crate::cli::signer::SignerError;
use crate::client::job::JobClientError;
use crate::client::job::configuration::JobConfigurationError;

/// Why a command about jobs brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum JobCommandError {
    /// Nobody is named, or nobody can sign.
    #[error("{0}")]
    Signer(#[from] SignerError),
    /// The JobTracker says no, or nothing; or what is to be submitted is not there.
    #[error("{0}")]
    Client(#[from] JobClientError),
    /// The conf folder or a value is of no use.
    #[error("{0}")]
    Configuration(#[from] JobConfigurationError),
    /// The market says no, or nothing.
    #[error("{0}")]
    Market(#[from] MarketCommandError),
    /// An argument has no meaning.
    #[error("{0}")]
    Argument(String),
    /// The system refuses.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

// === impl JobCommandError ===

impl JobCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Client(JobClientError::Denied(_)) => 3,
            Self::Client(JobClientError::Unreachable { .. } | JobClientError::Log { .. }) | Self::System(_) => 4,
            Self::Market(error) => error.exit_code(),
            Self::Signer(_) | Self::Client(_) | Self::Configuration(_) | Self::Argument(_) => 2,
        }
    }
}
