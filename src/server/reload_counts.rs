//! How many reloads of the configuration there were, for metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts reloads. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReloadCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    failed: AtomicU64,
}

impl ReloadCounts {
    /// Counts one.
    pub(crate) fn add(&self, is_done: bool) {
        let Counts { done, failed } = &*self.0;
        if is_done { done } else { failed }.fetch_add(1, Ordering::Relaxed);
    }

    /// Those that changed what they say, and those that changed nothing.
    pub(super) fn read(&self) -> (u64, u64) {
        (self.0.done.load(Ordering::Relaxed), self.0.failed.load(Ordering::Relaxed))
    }
}
