//! The answer to a request to stop the daemon.

use serde::{Deserialize, Serialize};

/// The answer to a request to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StopAnswer {
    /// It stops; the connection closes when the process has ended.
    Stopping {
        /// Its process id.
        process: u32,
        /// Whether a service manager may start it again.
        is_supervised: bool,
    },
    /// It does not.
    Refused {
        /// The reason.
        why: String,
    },
}
