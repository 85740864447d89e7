//! Memory of slots: how many a task takes, and whether a node has room for it.

use crate::model::{Kind, PerKind};

/// The size of one slot of each kind, MB. Exists only if all four memory keys of the cluster are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotMemory {
    slot_mb: PerKind<u64>,
}

impl SlotMemory {
    /// Slots of these sizes; a slot of zero counts as one MB.
    pub(crate) fn new(slot_mb: PerKind<u64>) -> Self {
        Self { slot_mb: PerKind::new(slot_mb.map.max(1), slot_mb.reduce.max(1)) }
    }

    /// Slots of a task that needs `task_mb`, at least one. Fixed when the job is added.
    pub(crate) fn slots_per_task(&self, kind: Kind, task_mb: u64) -> u32 {
        u32::try_from(task_mb.div_ceil(self.slot_mb[kind])).unwrap_or(u32::MAX).max(1)
    }

    /// Whether a node with `slots` slots, `used` of them in use or granted in this heartbeat, has memory for a task.
    #[cfg(test)]
    pub(crate) fn has_room(&self, kind: Kind, task_mb: u64, slots: u32, used: u32) -> bool {
        task_mb <= self.slot_mb[kind].saturating_mul(u64::from(slots.saturating_sub(used)))
    }
}
