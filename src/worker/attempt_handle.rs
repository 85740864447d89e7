//! What the tracker and the thread of one attempt share, from the launch to the end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::AttemptId;
use crate::streaming::failure::TaskFailure;
use crate::streaming::progress::Progress;

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
    step: Mutex<Option<Step>>,
    /// A step took longer than this.
    timed_out: OnceLock<Duration>,
    /// Between the signals TERM and KILL to its command.
    kill_delay: OnceLock<Duration>,
    /// Where its command works.
    folder: OnceLock<PathBuf>,
    /// Its end is reported, by its thread or without it.
    has_ended: AtomicBool,
    /// Its thread hangs and is waited for no longer.
    is_abandoned: AtomicBool,
}

/// Work on files, which may hang.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// When it began, or got on.
    since: Instant,
    limit: Duration,
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
        if let Some(limit) = self.timed_out.get() {
            progress.time_out(*limit);
        }
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

    /// Whether it is to end, for whatever reason.
    pub fn is_to_end(&self) -> bool {
        self.is_killed() || self.timed_out.get().is_some() || self.progress.get().is_some_and(Progress::is_stopped)
    }

    /// Why it is to end.
    pub fn reason(&self, attempt: AttemptId) -> TaskFailure {
        match (self.timed_out.get(), self.progress.get()) {
            (Some(limit), _) => TaskFailure::TimedOut { attempt, seconds: limit.as_secs() },
            (None, Some(progress)) => progress.reason(),
            (None, None) => TaskFailure::Killed,
        }
    }

    /// # Errors
    /// The reason, when it is to end.
    pub fn check(&self, attempt: AttemptId) -> Result<(), TaskFailure> {
        if self.is_to_end() { Err(self.reason(attempt)) } else { Ok(()) }
    }

    /// Does work on files that may hang: when it does not get on for `limit`, the attempt is to end. `None`: no limit.
    pub fn within<T>(&self, limit: Option<Duration>, work: impl FnOnce() -> T) -> T {
        *self.step() = limit.map(|limit| Step { since: Instant::now(), limit });
        let done = work();
        *self.step() = None;
        done
    }

    /// The step under way gets on.
    pub fn note_life(&self) {
        if let Some(step) = &mut *self.step() {
            step.since = Instant::now();
        }
    }

    /// Ends the attempt when its step has not got on for so long as it may.
    pub fn look_at_step(&self, now: Instant) {
        let late = self.step().filter(|step| now.duration_since(step.since) > step.limit);
        if let Some(step) = late {
            let _ = self.timed_out.set(step.limit);
            if let Some(progress) = self.progress.get() {
                progress.time_out(step.limit);
            }
            self.changed.notify_all();
        }
    }

    fn step(&self) -> MutexGuard<'_, Option<Step>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of its command: where it works, and how much time it has between two signals.
    pub fn set_command(&self, folder: PathBuf, kill_delay: Duration) {
        let _ = (self.folder.set(folder), self.kill_delay.set(kill_delay));
    }

    /// Time that its command has to end, once it was asked.
    pub fn kill_delay(&self) -> Duration {
        self.kill_delay.get().copied().unwrap_or_default()
    }

    /// Where its command works, once there is one.
    pub fn folder(&self) -> Option<&PathBuf> {
        self.folder.get()
    }

    /// Claims the report of its end; `true` for the first caller only.
    pub fn end(&self) -> bool {
        !self.has_ended.swap(true, Ordering::SeqCst)
    }

    /// Whether its end is reported.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Claims its end for somebody who does not wait for its thread any longer.
    pub fn abandon(&self) -> bool {
        let is_first = self.end();
        if is_first {
            self.is_abandoned.store(true, Ordering::SeqCst);
        }
        is_first
    }

    /// Whether its thread hangs and is waited for no longer.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::SeqCst)
    }

    /// Whether what it brings for others is still to come from it.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when it hangs.
    pub fn is_awaited(&self) -> Result<bool, TaskFailure> {
        if self.is_abandoned() {
            let reason = "hang on this machine: an attempt before was left behind reading them".to_owned();
            return Err(TaskFailure::Unusable { what: "the files of the job".to_owned(), reason });
        }
        Ok(!self.has_ended())
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
