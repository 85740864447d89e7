//! Why a job.xml is refused.

use thiserror::Error;

use super::error::ConfigError;
use super::xml::XmlError;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JobConfError {
    #[error("Exceeded max jobconf size: {bytes} limit: {limit_bytes} (mapred.user.jobconf.limit)")]
    TooLong { bytes: u64, limit_bytes: u64 },
    #[error("job.xml: {0}")]
    NotConfiguration(XmlError),
    #[error(transparent)]
    Value(ConfigError),
    /// A text in it exceeds its limit.
    #[error("{key} has {bytes} bytes; expected at most {limit_bytes}")]
    TextTooLong { key: String, bytes: usize, limit_bytes: usize },
    /// A cost is stated in two forms.
    #[error("{key} and {other_key} are both set; expected one of them")]
    TwoCosts { key: String, other_key: String },
    /// A key has no effect without another.
    #[error("{key} is set; expected {other_key} with it")]
    NeedsOther { key: String, other_key: String },
    #[error("{key} names queue {queue:?} but {other_key} names {other_queue:?}; expected one queue")]
    QueuesDiffer { key: String, queue: String, other_key: String, other_queue: String },
}
