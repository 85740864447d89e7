//! A job whose deadline is not taken.

use super::DeadlineRejection;

/// A job whose deadline is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Job {name} rejected by the constraint scheduler: {rejection}")]
pub struct RejectedJob {
    pub(crate) name: String,
    pub(crate) rejection: DeadlineRejection,
}
