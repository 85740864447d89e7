//! Looks at the memory of all attempts' processes from time to time (1.2.1 `TaskMemoryManagerThread`).

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::supervisor::process_tree::ProcessTable;

use super::attempt_handle::AttemptHandle;

/// The attempts that are looked at.
#[derive(Debug, Default)]
pub struct MemoryWatch {
    attempts: Mutex<Vec<Weak<AttemptHandle>>>,
}

// === impl MemoryWatch ===

impl MemoryWatch {
    /// From now on an attempt is looked at, as long as somebody holds it.
    pub fn add(&self, attempt: &Arc<AttemptHandle>) {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(attempt));
    }

    fn look(&self) {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.retain(|attempt| attempt.strong_count() > 0);
        let held: Vec<Arc<AttemptHandle>> = attempts.iter().filter_map(Weak::upgrade).collect();
        drop(attempts);
        if held.iter().any(|attempt| attempt.progress().is_some()) {
            let processes = ProcessTable::read();
            held.iter().filter_map(|attempt| attempt.progress()).for_each(|progress| progress.note_memory(&processes));
        }
    }

    /// Looks for ever.
    pub async fn serve(self: &Arc<Self>, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            let watch = self.clone();
            // A panic there was told already.
            let _ = tokio::task::spawn_blocking(move || watch.look()).await;
        }
    }
}
