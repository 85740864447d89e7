//! The file system of jobs' files, while it cannot be reached: what submissions and `/readyz` then say.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ipc::RemoteError;

/// Why the files of jobs cannot be reached, if so. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct AwaitedFiles {
    reason: Arc<Mutex<Option<String>>>,
}

// === impl AwaitedFiles ===

impl AwaitedFiles {
    /// They cannot be reached, for this reason.
    pub(super) fn set(&self, reason: String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).replace(reason);
    }

    /// They can be reached.
    pub(super) fn clear(&self) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The reason, if they cannot be reached.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses what needs files of jobs while they cannot be reached, as a JobTracker in safe mode does: retrying clients wait it out.
    ///
    /// # Errors
    /// A `SafeModeException`.
    pub fn check(&self) -> Result<(), RemoteError> {
        self.reason().map_or(Ok(()), |reason| Err(safe_mode(&reason)))
    }
}

/// What a client hears of files that cannot be reached now.
pub(super) fn safe_mode(reason: &dyn std::fmt::Display) -> RemoteError {
    let text = format!("JobTracker is in safe mode: it cannot reach the files of jobs: {reason}");
    RemoteError::new("org.apache.hadoop.mapred.SafeModeException", text)
}
