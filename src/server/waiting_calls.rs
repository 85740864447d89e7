//! How many requests wait for news of an application, for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests that wait. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingCalls(Arc<AtomicU64>);

/// Counts as one until dropped.
#[derive(Debug)]
pub(super) struct WaitingCall(WaitingCalls);

impl WaitingCalls {
    /// One more, if it may wait.
    pub(super) fn begin(&self, wait_ms: u64) -> Option<WaitingCall> {
        if wait_ms == 0 {
            return None;
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(WaitingCall(self.clone()))
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
