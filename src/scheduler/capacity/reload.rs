//! Replacing a running configuration by one that was read again.

use super::{CapacityConfig, CapacityConfigError};

impl CapacityConfig {
    /// What is in force after a reload: all of `read`, but an existing queue keeps its support of priorities.
    ///
    /// The original keeps the old maximum in slots when `maximum-capacity` is removed; here it is lifted.
    ///
    /// # Errors
    /// [`CapacityConfigError::QueueRemoved`]; `self` stays in force.
    pub(crate) fn reload(&self, read: CapacityConfig) -> Result<CapacityConfig, CapacityConfigError> {
        let removed = self.queues.iter().find(|queue| read.queue(&queue.name).is_none());
        if let Some(queue) = removed {
            return Err(CapacityConfigError::QueueRemoved { queue: queue.name.clone() });
        }
        let mut reloaded = read;
        for queue in &mut reloaded.queues {
            if let Some(running) = self.queue(&queue.name) {
                queue.supports_priority = running.supports_priority;
            }
        }
        Ok(reloaded)
    }
}
