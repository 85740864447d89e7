//! How an application ended, in its own words.

use serde::{Deserialize, Serialize};

/// How an application says that it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum FinalStatus {
    /// All went well.
    Succeeded,
    /// It did not.
    Failed,
    /// It was ended from outside.
    Killed,
}
