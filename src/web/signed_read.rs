//! A call of job clients that reads something of a job, over HTTP, and why it is refused.

use std::sync::Arc;

use super::owner_gone::OwnerGone;

/// A call of job clients, by a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRead {
    /// The call, as RPC frames it.
    pub(crate) frame: Vec<u8>,
    /// The signer.
    pub(crate) user: Arc<str>,
    /// Whether the signature proves the role `admin`.
    pub(crate) has_admin_role: bool,
}

/// Why a read is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadRefusal {
    /// It is no call that reads something of a job.
    #[error("{0}")]
    NotARead(String),
    /// The answer is too long to be kept.
    #[error("the answer is longer than {0} bytes: ask by RPC")]
    TooLong(u64),
    /// The owner is gone, or has too much to do.
    #[error("{0}")]
    Unavailable(String),
}

impl From<OwnerGone> for ReadRefusal {
    fn from(gone: OwnerGone) -> Self {
        Self::Unavailable(gone.to_string())
    }
}
