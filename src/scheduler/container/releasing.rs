//! Room that is free or being released by tasks. Preemption starts from it, so that it takes nothing for room that comes
//! free already. Which containers are about to end the caller knows.

use crate::model::{Capability, Kind, TrackerId};
use crate::scheduler::Scheduler;

// === impl Scheduler: room that comes free ===

impl Scheduler {
    /// Memory and cores of a node that are free or being released by tasks; none without a bag.
    pub fn incoming_room(&self, node: TrackerId) -> Option<Capability> {
        let entry = self.nodes.get(&node)?;
        let retained = |kind: Kind| entry.in_use(kind).saturating_sub(entry.releasing[kind]);
        let tasks = retained(Kind::Map).saturating_add(retained(Kind::Reduce));
        Some(entry.bag.as_ref()?.free(tasks, self.containers.slot))
    }
}
