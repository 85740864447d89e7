//! Localization: one attempt copies files of its job to this machine, the other attempts wait.

use std::sync::Arc;
use std::time::Duration;

use super::attempt_handle::AttemptHandle;

/// Interval between two checks for a stop while waiting for files that another attempt copies.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Files that one attempt copies for all attempts of its job.
#[derive(Debug)]
pub(super) enum Localization<T> {
    /// This attempt copies them.
    InProgress(Arc<AttemptHandle>),
    /// They are here.
    Done(T),
}
