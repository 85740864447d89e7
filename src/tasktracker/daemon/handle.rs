//! What the tracker and the thread of one attempt share, from the launch to the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::super::failure::TaskFailure;
use super::super::progress::Progress;

/// How often who waits for leave to commit looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// One attempt, held by both sides.
#[derive(Debug, Default)]
pub struct AttemptHandle {
    /// Known once the job's files are here.
    progress: OnceLock<Progress>,
    is_killed: AtomicBool,
    may_commit: Mutex<bool>,
    changed: Condvar,
}

// === impl AttemptHandle ===

impl AttemptHandle {
    /// What it tells, once it has begun.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.get()
    }

    /// It begins.
    ///
    /// # Errors
    /// [`TaskFailure::Killed`] when it was told to end before.
    pub fn begin(&self, progress: Progress) -> Result<&Progress, TaskFailure> {
        let progress = self.progress.get_or_init(|| progress);
        if self.is_killed.load(Ordering::SeqCst) {
            progress.kill();
        }
        progress.check()?;
        Ok(progress)
    }

    /// Tells it to end.
    pub fn kill(&self) {
        self.is_killed.store(true, Ordering::SeqCst);
        if let Some(progress) = self.progress.get() {
            progress.kill();
        }
        self.changed.notify_all();
    }

    /// Whether it was told to end from outside.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }

    /// Its output may become the task's.
    pub fn allow_commit(&self) {
        *self.may_commit.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for leave to commit.
    ///
    /// # Errors
    /// [`TaskFailure::Killed`] when it is told to end instead.
    pub fn wait_for_leave(&self) -> Result<(), TaskFailure> {
        let mut may_commit = self.may_commit.lock().unwrap_or_else(PoisonError::into_inner);
        while !*may_commit {
            if self.is_killed() {
                return Err(TaskFailure::Killed);
            }
            (may_commit, _) = self.changed.wait_timeout(may_commit, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}
