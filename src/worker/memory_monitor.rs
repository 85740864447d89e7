//! Measures the memory of all attempts' processes at intervals (1.2.1 `TaskMemoryManagerThread`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::model::AttemptId;
use crate::supervisor::process_tree::{ProcessTable, TreeUse};

use super::attempt_handle::AttemptHandle;

#[derive(Debug, Default)]
pub(crate) struct MemoryMonitor {
    attempts: Mutex<Vec<Weak<AttemptHandle>>>,
}

impl MemoryMonitor {
    /// Measures an attempt while its handle is in use.
    pub(crate) fn add(&self, attempt: &Arc<AttemptHandle>) {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(attempt));
    }

    /// What the attempts whose processes were measured use.
    pub(crate) fn uses(&self) -> BTreeMap<AttemptId, TreeUse> {
        let attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let handles: Vec<Arc<AttemptHandle>> = attempts.iter().filter_map(Weak::upgrade).collect();
        drop(attempts);
        let running = handles.iter().filter(|attempt| !attempt.has_ended()).filter_map(|attempt| attempt.progress());
        running
            .map(|progress| (progress.attempt(), progress.used()))
            .filter(|(_, used)| *used != TreeUse::default())
            .collect()
    }

    fn measure(&self) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|attempt| attempt.strong_count() > 0);
        let handles: Vec<Arc<AttemptHandle>> = attempts.iter().filter_map(Weak::upgrade).collect();
        drop(attempts);
        if handles.iter().any(|attempt| attempt.progress().is_some()) {
            let processes = ProcessTable::read();
            handles
                .iter()
                .filter_map(|attempt| attempt.progress())
                .for_each(|progress| progress.record_memory(&processes));
        }
    }

    /// Measures at intervals, without end.
    pub(crate) async fn run(self: &Arc<Self>, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            let monitor = self.clone();
            // The panic hook has logged a panic there.
            let _ = tokio::task::spawn_blocking(move || monitor.measure()).await;
        }
    }
}
