//! State shared by the tracker and the thread of one attempt, from the launch to the end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::AttemptId;
use crate::streaming::failure::TaskFailure;
use crate::streaming::progress::Progress;
use crate::streaming::working_folder::WorkStep;

/// Interval between two checks for a stop while waiting for permission to commit.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct AttemptHandle {
    /// Set once the job's files are here.
    progress: OnceLock<Progress>,
    is_killed: AtomicBool,
    may_commit: Mutex<bool>,
    changed: Condvar,
    step: Mutex<Option<FileStep>>,
    timed_out: OnceLock<Duration>,
    /// Between the signals TERM and KILL to its command.
    kill_delay: OnceLock<Duration>,
    folder: OnceLock<PathBuf>,
    /// Its end is reported, by its thread or by the hang monitor.
    has_ended: AtomicBool,
    /// Its thread hangs and was abandoned.
    is_abandoned: AtomicBool,
}

/// Work on files, which may hang.
#[derive(Clone, Copy, Debug)]
struct FileStep {
    /// Its start, or its last progress.
    since: Instant,
    limit: Duration,
}

impl AttemptHandle {
    /// Its progress, once it has started.
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.progress.get()
    }

    /// Starts it.
    pub(crate) fn start(&self, progress: Progress) -> Result<&Progress, TaskFailure> {
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

    pub(crate) fn kill(&self) {
        self.is_killed.store(true, Ordering::SeqCst);
        if let Some(progress) = self.progress.get() {
            progress.kill();
        }
        self.changed.notify_all();
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }

    /// Whether it was stopped for any reason.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_killed() || self.timed_out.get().is_some() || self.progress.get().is_some_and(Progress::is_stopped)
    }

    pub(crate) fn end_reason(&self, attempt: AttemptId) -> TaskFailure {
        match (self.timed_out.get(), self.progress.get()) {
            (Some(limit), _) => TaskFailure::TimedOut { attempt, seconds: limit.as_secs() },
            (None, Some(progress)) => progress.stop_reason(),
            (None, None) => TaskFailure::Killed,
        }
    }

    pub(crate) fn check(&self, attempt: AttemptId) -> Result<(), TaskFailure> {
        if self.is_ending() { Err(self.end_reason(attempt)) } else { Ok(()) }
    }

    /// Between two steps of long work: records progress.
    pub(crate) fn check_step(&self, attempt: AttemptId, step: WorkStep) -> Result<(), TaskFailure> {
        if step == WorkStep::Advanced {
            self.record_activity();
        }
        self.check(attempt)
    }

    /// Runs work on files, which may hang: without progress for `limit`, the attempt is stopped. `None`: no limit.
    pub(crate) fn with_time_limit<T>(&self, limit: Option<Duration>, work: impl FnOnce() -> T) -> T {
        *self.step() = limit.map(|limit| FileStep { since: Instant::now(), limit });
        let done = work();
        *self.step() = None;
        done
    }

    pub(crate) fn record_activity(&self) {
        if let Some(step) = &mut *self.step() {
            step.since = Instant::now();
        }
    }

    /// Stops the attempt when its step has made no progress within its limit.
    pub(crate) fn expire_step(&self, now: Instant) {
        let late = self.step().filter(|step| now.duration_since(step.since) > step.limit);
        if let Some(step) = late {
            self.time_out(step.limit);
        }
    }

    /// Stops the attempt, of which a step has made no progress within this time.
    pub(crate) fn time_out(&self, limit: Duration) {
        let _ = self.timed_out.set(limit);
        if let Some(progress) = self.progress.get() {
            progress.time_out(limit);
        }
        self.changed.notify_all();
    }

    /// Within which time a step has made no progress, if that stopped the attempt.
    pub(crate) fn timed_out(&self) -> Option<Duration> {
        self.timed_out.get().copied()
    }

    fn step(&self) -> MutexGuard<'_, Option<FileStep>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the working directory of its command, and the time between SIGTERM and SIGKILL.
    pub(crate) fn set_command(&self, folder: PathBuf, kill_delay: Duration) {
        let _ = (self.folder.set(folder), self.kill_delay.set(kill_delay));
    }

    /// Time between SIGTERM and SIGKILL to its command.
    pub(crate) fn kill_delay(&self) -> Duration {
        self.kill_delay.get().copied().unwrap_or_default()
    }

    /// The working directory of its command, once there is one.
    pub(crate) fn folder(&self) -> Option<&PathBuf> {
        self.folder.get()
    }

    /// Claims the report of its end; `true` for the first caller only.
    pub(crate) fn claim_end(&self) -> bool {
        !self.has_ended.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// Claims the report of its end without its thread; `true` for the first caller only.
    pub(crate) fn abandon(&self) -> bool {
        let is_first = self.claim_end();
        if is_first {
            self.is_abandoned.store(true, Ordering::SeqCst);
        }
        is_first
    }

    /// Whether its thread hangs and was abandoned.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::SeqCst)
    }

    /// Whether the files that it copies for other attempts may still arrive. Errors: [`TaskFailure::Unusable`] when it hangs.
    pub(crate) fn is_localizing(&self) -> Result<bool, TaskFailure> {
        if self.is_abandoned() {
            let reason = "hang on this machine: an earlier attempt was abandoned while reading them".to_owned();
            return Err(TaskFailure::Unusable { what: "the files of the job".to_owned(), reason });
        }
        Ok(!self.has_ended())
    }

    pub(crate) fn grant_commit(&self) {
        *self.may_commit.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(crate) fn may_commit(&self) -> bool {
        *self.may_commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for permission to commit. Errors: [`TaskFailure::Killed`] when it is killed instead.
    pub(crate) fn wait_for_commit_permission(&self) -> Result<(), TaskFailure> {
        let mut may_commit = self.may_commit.lock().unwrap_or_else(PoisonError::into_inner);
        while !*may_commit {
            if self.is_killed() {
                return Err(TaskFailure::Killed);
            }
            (may_commit, _) =
                self.changed.wait_timeout(may_commit, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}
