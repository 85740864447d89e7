//! Localization: one attempt copies files of its job to this machine, the other attempts wait.

use std::sync::Arc;
use std::time::Duration;

use super::attempt_handle::AttemptHandle;

/// Interval between two checks for a stop while waiting for files that another attempt copies.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Files that one attempt copies for all attempts of its job.
#[derive(Debug)]
pub(super) enum Brought<T> {
    /// This attempt copies them.
    Coming(Arc<AttemptHandle>),
    /// They are here.
    Here(T),
}
