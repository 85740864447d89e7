//! That no answer will come: of the owner, or of the database.

/// The owner has stopped, or accepts no more requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the JobTracker does not take requests now")]
pub struct OwnerGone;

/// The ledger cannot be read; with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger cannot be read: {0}")]
pub struct LedgerUnreadable(pub String);
