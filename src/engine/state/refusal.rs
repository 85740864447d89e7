//! Refusals of calls.

use crate::wire::limits::excerpt;

/// A refusal: sent as a remote exception of Hadoop's class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `org.apache.hadoop.security.AccessControlException`
    #[error("{0}")]
    AccessDenied(String),
    /// `org.apache.hadoop.security.token.SecretManager$InvalidToken`
    #[error("{0}")]
    InvalidToken(String),
    /// `java.io.IOException`
    #[error("{0}")]
    Invalid(String),
    /// `java.io.IOException` inside a `java.io.IOException`, as 1.2.1 sends errors of a submitted job
    #[error("{0}")]
    InvalidJob(String),
    /// `org.apache.hadoop.mapred.UndeclaredPoolException`
    #[error("{0}")]
    UndeclaredPool(String),
    /// `java.lang.IllegalArgumentException` inside a `java.io.IOException`
    #[error("{0}")]
    IllegalArgument(String),
    /// `org.apache.hadoop.mapred.SafeModeException`
    #[error("{0}")]
    SafeMode(String),
    /// `org.apache.hadoop.mapred.DisallowedTaskTrackerException`: the only refusal of a heartbeat
    #[error("{0}")]
    DisallowedTracker(String),
}

impl Refusal {
    /// Of an unknown queue, with the text of 1.2.1.
    pub(crate) fn unknown_queue(name: &str) -> Self {
        Self::InvalidJob(format!("Queue \"{}\" does not exist", excerpt(name)))
    }
}
