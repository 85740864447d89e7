//! Why a job.xml is refused.

use thiserror::Error;

use super::error::ConfigError;
use super::xml::XmlError;

/// Why a job.xml is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobConfError {
    /// It exceeds the limit.
    #[error("Exceeded max jobconf size: {bytes} limit: {limit_bytes} (mapred.user.jobconf.limit)")]
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// It is not a configuration file.
    #[error("job.xml: {0}")]
    NotConfiguration(XmlError),
    /// One of its values cannot be used.
    #[error(transparent)]
    Value(ConfigError),
    /// A text in it exceeds its limit.
    #[error("{key} has {bytes} bytes; expected at most {limit_bytes}")]
    TextTooLong {
        /// Its key.
        key: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// A cost is stated in two forms.
    #[error("{key} and {other_key} are both set; expected one of them")]
    TwoCosts {
        /// One key.
        key: String,
        /// The other key.
        other_key: String,
    },
    /// A key has no effect without another.
    #[error("{key} is set; expected {other_key} with it")]
    NeedsOther {
        /// The key.
        key: String,
        /// The other key.
        other_key: String,
    },
    /// Two keys name different queues.
    #[error("{key} names queue {queue:?} but {other_key} names {other_queue:?}; expected one queue")]
    QueuesDiffer {
        /// One key.
        key: String,
        /// Its queue.
        queue: String,
        /// The other key.
        other_key: String,
        /// Its queue.
        other_queue: String,
    },
}
