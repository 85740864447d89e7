//! How files of jobs are handed over.

use serde::{Deserialize, Serialize};

/// What a client must know before it hands files over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadRules {
    /// The user of the daemon, whose staging folders it reads in any case.
    pub(crate) user: String,
    /// The number of that user.
    pub(crate) uid: u32,
    /// Whether it reads the staging folders of all users.
    pub(crate) reads_all: bool,
    /// Maximum size of the files of one job, MB.
    pub(crate) max_mb: u64,
}
