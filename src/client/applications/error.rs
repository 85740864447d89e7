//! Errors of the client of applications.

use crate::model::ContainerId;

use super::problem::Problem;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationClientError {
    /// The server cannot be reached, or does not answer.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// `host:port`.
        server: String,
        /// What went wrong.
        reason: String,
        /// Whether the call was not sent: nothing listens there.
        is_refused: bool,
    },
    /// The server is there, and cannot serve now.
    #[error("{server} cannot serve now: {problem}")]
    Unavailable {
        /// `host:port`.
        server: String,
        /// Why.
        problem: Problem,
    },
    /// The answer is not one of this interface.
    #[error("{server} has answered what it should not: {reason}")]
    InvalidAnswer {
        /// `host:port`.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// The server has no such addresses.
    #[error(
        "{server} takes no applications: jobtracker.containers.enabled is false there, or it is another JobTracker"
    )]
    NoApplications {
        /// `host:port`.
        server: String,
    },
    /// The caller is not known, or may not do this.
    #[error("access denied: {0}")]
    Denied(Problem),
    /// The server refuses the call.
    #[error("{0}")]
    Refused(Problem),
    /// A log cannot be read where it is.
    #[error("the logs of {container} cannot be read from {node}: {reason}")]
    Log {
        /// The container.
        container: ContainerId,
        /// Its node, `host:port`.
        node: String,
        /// What went wrong.
        reason: String,
    },
}

impl ApplicationClientError {
    /// Whether the same call may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Unavailable { .. })
    }

    /// The name of the problem that the server has answered; empty for other errors.
    pub(crate) fn problem_name(&self) -> &str {
        match self {
            Self::Denied(problem) | Self::Refused(problem) | Self::Unavailable { problem, .. } => &problem.name,
            Self::Unreachable { .. } | Self::InvalidAnswer { .. } | Self::NoApplications { .. } | Self::Log { .. } => {
                ""
            }
        }
    }
}
