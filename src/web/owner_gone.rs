//! That no answer will come.

/// The owner has stopped, or accepts no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the JobTracker does not take requests now")]
pub struct OwnerGone;
