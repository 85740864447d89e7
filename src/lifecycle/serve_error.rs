//! Why the daemon does not start, or does not stop cleanly.

use std::net::SocketAddr;

use crate::config::{ConfigError, HostPort};
use crate::fs::FsError;
use crate::server::{AclFileError, DirectoryError, HostsError};
use crate::store::{BudgetBackEndError, StoreError};

use super::daemon::RunError;

/// Each text includes what to do.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address does not resolve here.
    #[error("{key} = {address}: {source}; expected an address of this machine")]
    Address {
        /// The key.
        key: &'static str,
        /// Its value.
        address: HostPort,
        /// The system's error.
        source: std::io::Error,
    },
    /// A port cannot be bound.
    #[error(
        "cannot listen on {address}: {source}; stop what listens there (jobtracker status shows whether it is another JobTracker, jobtracker stop ends it), or set another address by -D {key}=HOST:PORT"
    )]
    Port {
        /// The key.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The state cannot be opened or closed.
    #[error("{0}{mend}", mend = state_advice(.0))]
    Store(#[from] StoreError),
    /// The budget file.
    #[error("{0}")]
    Budget(#[from] BudgetBackEndError),
    /// The files of the scheduler that was chosen while the daemon ran.
    #[error("{0}")]
    Scheduler(#[from] ConfigError),
    /// The list of users.
    #[error("{0}")]
    Acl(#[from] AclFileError),
    /// The lists of hosts.
    #[error("{0}")]
    Hosts(#[from] HostsError),
    /// System directory or staging root.
    #[error("{0}")]
    Directory(#[from] DirectoryError),
    /// The system refuses a thread, a signal or an event queue.
    #[error("the system refuses {what}: {source}")]
    System {
        /// What it refuses.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The hand-over from the running daemon failed.
    #[error("takeover failed: {0}")]
    TakeOver(String),
    /// The disk of the state or of the budget file hangs at the stop.
    #[error(
        "the state did not close in time: its disk or that of the budget file hangs; everything acknowledged is durable, \
         and the next start recovers it"
    )]
    CloseTimeout,
    /// Serving ended with an error.
    #[error("{0}: see the log; a restart continues from the durable state")]
    Run(#[from] RunError),
}

// === impl ServeError ===

impl ServeError {
    /// Whether the ACL file or the budget file has to be edited first: another start would fail alike.
    pub fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::Acl(AclFileError::Line(_) | AclFileError::NotText(_))
                | Self::Budget(BudgetBackEndError::Line(_) | BudgetBackEndError::Unreadable { .. })
        )
    }
}

/// What to do about a bad state folder.
fn state_advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::File { .. } | StoreError::Folder(FsError::Refused { .. } | FsError::WrongKind { .. }) => {
            "; set jobtracker.state.dir to a folder that this user may write to"
        }
        // These texts include it.
        StoreError::Locked { .. } | StoreError::OtherSchema { .. } => "",
        _ => " (jobtracker.state.dir)",
    }
}
