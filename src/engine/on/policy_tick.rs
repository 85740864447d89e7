//! A tick of the policy: what it decides by follows the clock and the cluster.

use crate::engine::core::Engine;
use crate::model::Now;

impl Engine {
    /// Renews what the policy decides by. Its waits follow the interval between the heartbeats of a busy cluster, since
    /// only tasks that wait need them.
    pub(super) fn tick_policy(&mut self, now: Now) {
        let interval_ms = self.config.heartbeat.interval_ms(self.trackers.len(), false);
        self.cluster.scheduler.set_heartbeat_interval_ms(u64::try_from(interval_ms).unwrap_or(0));
        self.cluster.scheduler.tick(now);
    }
}
