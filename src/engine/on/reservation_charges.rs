//! Slots that were kept for a job, unused, are charged to its counters (1.2.1 `JobInProgress.unreserveTaskTracker`).

use crate::engine::core::Engine;
use crate::model::Now;

impl Engine {
    /// Adds the time of reservations that ended in this step to the counters of their jobs. A job that ends charges its
    /// own itself.
    pub(super) fn charge_reservations(&mut self, now: Now) {
        for ended in self.cluster.scheduler.take_ended_reservations() {
            if let Some(job) = self.jobs.by_app_mut(ended.app) {
                job.add_fallow_slot_time(&ended, now);
            }
        }
    }
}
