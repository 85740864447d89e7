//! Ends of jobs of which their owners could not be notified.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::JobId;

/// Jobs that are remembered: no more are listed with their times.
const MOST_JOBS: usize = 1_000;

/// Why, by job, in words for its user; of the newest jobs, since this start.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailedNotifications(Arc<Mutex<BTreeMap<JobId, String>>>);

impl FailedNotifications {
    /// None: its owner was reached, or no URL is called.
    pub(crate) fn of(&self, job: JobId) -> Option<String> {
        self.lock().get(&job).cloned()
    }

    pub(super) fn note(&self, job: JobId, why: String) {
        let mut failed = self.lock();
        failed.insert(job, why);
        if failed.len() > MOST_JOBS {
            failed.pop_first();
        }
    }

    pub(super) fn forget(&self, job: JobId) {
        self.lock().remove(&job);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
