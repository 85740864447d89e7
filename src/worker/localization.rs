//! Files that one attempt copies here for all attempts of its job; the others wait.

use std::sync::Arc;
use std::time::Duration;

use super::attempt_handle::AttemptHandle;

/// How often who waits for files that another brings looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// What one attempt brings here for all of its job.
#[derive(Debug)]
pub(super) enum Brought<T> {
    /// The attempt is at it.
    Coming(Arc<AttemptHandle>),
    /// It is here.
    Here(T),
}
