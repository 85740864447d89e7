//! Room that is free or being released by tasks. Preemption starts from it, so that it takes nothing for room that comes
//! free already. Which containers are about to end the caller knows.

use crate::model::{Capability, Kind, TrackerId};
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Memory and cores of a node for tasks that are free or being released by tasks; none without a bag. Containers get less of it by
    /// [`Self::cores_of_slots_alone`].
    pub(crate) fn incoming_room(&self, node: TrackerId) -> Option<Capability> {
        let entry = self.nodes.get(&node)?;
        let retained = |kind: Kind| entry.in_use(kind).saturating_sub(entry.releasing[kind]);
        let tasks = retained(Kind::Map).saturating_add(retained(Kind::Reduce));
        entry.room_for_tasks(tasks, self.containers.slot)
    }

    /// Cores that the slots of a node stand for beyond what it has declared: tasks may use them, containers not.
    pub(crate) fn cores_of_slots_alone(&self, node: TrackerId) -> u32 {
        let Some(entry) = self.nodes.get(&node) else { return 0 };
        let of_slots = entry.slots.map.saturating_add(entry.slots.reduce).saturating_mul(self.containers.slot.vcores);
        entry.bag.as_ref().map_or(0, |bag| of_slots.saturating_sub(bag.declared.vcores))
    }
}
