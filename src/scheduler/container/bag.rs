//! The memory and cores of a node that containers and running tasks share.

use std::collections::BTreeSet;

use crate::model::Capability;
use crate::scheduler::AppId;

use super::RequestType;

/// What a node has declared, and what containers hold of it. What tasks hold is counted by the node in slots.
#[derive(Debug)]
pub(in crate::scheduler) struct Bag {
    pub(in crate::scheduler) declared: Capability,
    /// Sum over its containers; wider than what is declared, which may shrink under them.
    memory_mb: u64,
    vcores: u64,
    /// Whether containers may be granted here now.
    pub(super) takes_containers: bool,
    /// Types that have counted a miss here since its last heartbeat.
    pub(super) missed: BTreeSet<(AppId, RequestType)>,
    /// The head of the order at its last heartbeat, if it waited for room.
    pub(super) starved: Option<(AppId, RequestType)>,
    /// The application and type that its room is kept for.
    pub(super) reserved: Option<(AppId, RequestType)>,
}

// === impl Bag ===

impl Bag {
    pub(super) fn new(declared: Capability) -> Self {
        Self {
            declared,
            memory_mb: 0,
            vcores: 0,
            takes_containers: false,
            missed: BTreeSet::new(),
            starved: None,
            reserved: None,
        }
    }

    /// What is free beside so many slots of tasks.
    pub(in crate::scheduler) fn free(&self, tasks: u32, slot: Capability) -> Capability {
        let left = |declared: u32, used: u64, of_slot: u32| {
            let by_tasks = u64::from(of_slot) * u64::from(tasks);
            u32::try_from(u64::from(declared).saturating_sub(used.saturating_add(by_tasks))).unwrap_or(0)
        };
        Capability {
            memory_mb: left(self.declared.memory_mb, self.memory_mb, slot.memory_mb),
            vcores: left(self.declared.vcores, self.vcores, slot.vcores),
        }
    }

    /// A container takes its part.
    pub(super) fn take(&mut self, capability: Capability) {
        self.memory_mb = self.memory_mb.saturating_add(capability.memory_mb.into());
        self.vcores = self.vcores.saturating_add(capability.vcores.into());
    }

    /// A container has given its part back; false when it had none.
    #[must_use]
    pub(super) fn give_back(&mut self, capability: Capability) -> bool {
        let rest = self.memory_mb.checked_sub(capability.memory_mb.into());
        let (memory_mb, vcores) = match rest.zip(self.vcores.checked_sub(capability.vcores.into())) {
            Some(rest) => rest,
            None => return false,
        };
        (self.memory_mb, self.vcores) = (memory_mb, vcores);
        true
    }

    /// Memory, MB, and cores that containers hold.
    pub(super) fn used(&self) -> (u64, u64) {
        (self.memory_mb, self.vcores)
    }
}
