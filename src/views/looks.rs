//! Whether somebody looks: the owner says what is no fact once a second then, else rarely.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::Watched;
use crate::model::JobId;

use super::last_reads::{LOOKED_MS, LastReads};

/// What readers want of the owner. They write here and it reads: none of them is an event for it.
#[derive(Debug, Default)]
pub(super) struct ReaderLooks {
    /// When somebody looked last, ms of the monotonic clock.
    looked_ms: AtomicU64,
    /// When somebody looked at the jobs as the policy has them.
    jobs_looked_ms: AtomicU64,
    /// Notified when a reader waits for a delta.
    pub(super) wanted: Notify,
    /// The thread has not taken the last delta yet: there will be no other before.
    is_delta_waiting: AtomicBool,
    /// Jobs whose end the owner has reported.
    reported_ends: AtomicU64,
    explanations: Mutex<LastReads<JobId>>,
    watched: Mutex<LastReads<Watched>>,
}

impl ReaderLooks {
    pub(super) fn look(&self, now_ms: u64, at_jobs: bool) {
        self.looked_ms.store(now_ms, Ordering::Relaxed);
        if at_jobs {
            self.jobs_looked_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    pub(super) fn is_looked_at(&self, now_ms: u64) -> bool {
        is_recent(&self.looked_ms, now_ms)
    }

    pub(super) fn are_jobs_looked_at(&self, now_ms: u64) -> bool {
        is_recent(&self.jobs_looked_ms, now_ms)
    }

    /// The jobs whose explanations are read.
    pub(super) fn explanations(&self) -> MutexGuard<'_, LastReads<JobId>> {
        self.explanations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs and tasks that are looked at beside what facts say.
    pub(super) fn watched(&self) -> MutexGuard<'_, LastReads<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn report_end(&self) {
        self.reported_ends.fetch_add(1, Ordering::Release);
    }

    pub(super) fn reported_ends(&self) -> u64 {
        self.reported_ends.load(Ordering::Acquire)
    }

    pub(super) fn send_delta(&self) {
        self.is_delta_waiting.store(true, Ordering::Release);
    }

    pub(super) fn take_delta(&self) {
        self.is_delta_waiting.store(false, Ordering::Release);
    }

    pub(super) fn is_delta_waiting(&self) -> bool {
        self.is_delta_waiting.load(Ordering::Acquire)
    }
}

fn is_recent(moment_ms: &AtomicU64, now_ms: u64) -> bool {
    let moment_ms = moment_ms.load(Ordering::Relaxed);
    moment_ms != 0 && now_ms.saturating_sub(moment_ms) < LOOKED_MS
}
