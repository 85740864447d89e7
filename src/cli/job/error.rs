//! Errors of the `job` commands.

use std::process::ExitCode;

use crate::cli::market_command::MarketCommandError;
use crate::cli::place::PlaceError;
use crate::cli::signer::SignerError;
use crate::cli::time_text::with_shown_times;
use crate::client::job::JobClientError;
use crate::config::ConfigError;

/// The text to print and the exit code.
pub(super) type Outcome = Result<(String, ExitCode), JobCommandError>;

/// Why a `job` command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobCommandError {
    /// The JobTracker's address.
    #[error("{0}")]
    Place(#[from] PlaceError),
    /// User or key is missing.
    #[error("{0}")]
    Signer(#[from] SignerError),
    /// The JobTracker refuses or does not answer, or a file is missing.
    #[error("{}", with_shown_times(&.0.to_string()))]
    Client(#[from] JobClientError),
    /// The conf folder or a value cannot be used.
    #[error("{0}")]
    Configuration(#[from] ConfigError),
    /// The market refuses or does not answer.
    #[error("{}", with_shown_times(&.0.to_string()))]
    Market(#[from] MarketCommandError),
    /// An invalid argument.
    #[error("{0}")]
    Argument(String),
    /// A system error.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl JobCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Client(JobClientError::Denied(_)) => 3,
            Self::Client(
                JobClientError::Unreachable { .. }
                | JobClientError::Log { .. }
                | JobClientError::NoWay { .. }
                | JobClientError::NotHandedOver { .. },
            )
            | Self::System(_) => 4,
            Self::Place(error) if error.is_unreachable() => 4,
            Self::Market(error) => error.exit_code(),
            Self::Signer(error) => error.exit_code(),
            Self::Place(_) | Self::Client(_) | Self::Configuration(_) | Self::Argument(_) => 2,
        }
    }
}
