//! The memory and cores of a node that containers and running tasks share.

use std::collections::BTreeSet;

use crate::model::{Capability, Pool};
use crate::scheduler::AppId;

use super::RequestType;

/// What a node has declared, and what containers hold of it. What tasks hold is counted by the node in slots.
#[derive(Debug)]
pub(in crate::scheduler) struct Bag {
    pub(super) declared: Capability,
    pub(super) held: Amount,
    pub(super) takes_containers: bool,
    /// Types that have counted a miss here since its last heartbeat.
    pub(super) missed: BTreeSet<(AppId, RequestType)>,
    /// The head of the order at its last heartbeat, if it waited for room.
    pub(super) starved: Option<(AppId, RequestType)>,
    /// The application and type that its room is kept for.
    pub(super) reserved: Option<(AppId, RequestType)>,
    pub(super) earmarked: Vec<Earmark>,
}

/// A sum of capabilities; wider than what a node declares, which may shrink under its containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) memory_mb: u64,
    pub(super) vcores: u64,
}

impl Bag {
    pub(super) fn new(declared: Capability) -> Self {
        Self {
            declared,
            held: Amount::default(),
            takes_containers: false,
            missed: BTreeSet::new(),
            starved: None,
            reserved: None,
            earmarked: Vec::new(),
        }
    }

    /// Slots' worth that containers may take of it beyond those of tasks.
    pub(in crate::scheduler) fn slots_beyond(&self, task_slots: u32, slot: Capability) -> u32 {
        if self.takes_containers { self.declared.whole_slots(slot).saturating_sub(task_slots) } else { 0 }
    }

    /// What is free for containers beside so many slots of tasks.
    pub(in crate::scheduler) fn free(&self, tasks: u32, slot: Capability) -> Capability {
        self.free_of(self.declared, tasks, slot)
    }

    /// What is free for tasks of a node with so many slots: a slot stands for a core, also where the node has fewer.
    pub(in crate::scheduler) fn free_for_tasks(&self, tasks: u32, slots: u32, slot: Capability) -> Capability {
        let vcores = self.declared.vcores.max(slot.vcores.saturating_mul(slots));
        self.free_of(Capability { vcores, ..self.declared }, tasks, slot)
    }

    fn free_of(&self, all: Capability, tasks: u32, slot: Capability) -> Capability {
        let held = self.held;
        let left = |declared: u32, held: u64, of_slot: u32| {
            let by_tasks = u64::from(of_slot) * u64::from(tasks);
            u32::try_from(u64::from(declared).saturating_sub(held.saturating_add(by_tasks))).unwrap_or(0)
        };
        Capability {
            memory_mb: left(all.memory_mb, held.memory_mb, slot.memory_mb),
            vcores: left(all.vcores, held.vcores, slot.vcores),
        }
    }
}

impl Amount {
    /// That of so many equal nodes.
    pub(super) fn of(capability: Capability, nodes: u32) -> Self {
        let times = |amount: u32| u64::from(amount) * u64::from(nodes);
        Self { memory_mb: times(capability.memory_mb), vcores: times(capability.vcores) }
    }

    /// How many containers it has room for in sum.
    pub(super) fn times_of(self, capability: Capability) -> u32 {
        let times = |all: u64, one: u32| all.checked_div(one.into()).unwrap_or(u64::MAX);
        let fitting = times(self.memory_mb, capability.memory_mb).min(times(self.vcores, capability.vcores));
        u32::try_from(fitting).unwrap_or(u32::MAX)
    }

    /// Subtracts so many containers, as far as they are in it.
    pub(super) fn subtract(&mut self, capability: Capability, count: u32) {
        let Amount { memory_mb, vcores } = Amount::of(capability, count);
        self.memory_mb = self.memory_mb.saturating_sub(memory_mb);
        self.vcores = self.vcores.saturating_sub(vcores);
    }

    pub(super) fn take(&mut self, capability: Capability) {
        self.memory_mb = self.memory_mb.saturating_add(capability.memory_mb.into());
        self.vcores = self.vcores.saturating_add(capability.vcores.into());
    }

    pub(super) fn left_of(self, capability: Capability) -> Capability {
        let left = |all: u32, sum: u64| u32::try_from(u64::from(all).saturating_sub(sum)).unwrap_or(0);
        Capability::new(left(capability.memory_mb, self.memory_mb), left(capability.vcores, self.vcores))
    }

    /// Subtracts a container; false when it is not in the sum.
    #[must_use]
    pub(super) fn give_back(&mut self, capability: Capability) -> bool {
        let memory_mb = self.memory_mb.checked_sub(capability.memory_mb.into());
        let Some((memory_mb, vcores)) = memory_mb.zip(self.vcores.checked_sub(capability.vcores.into())) else {
            return false;
        };
        (self.memory_mb, self.vcores) = (memory_mb, vcores);
        true
    }
}

/// Room of a node for one waiting task or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Earmark {
    pub(crate) app: AppId,
    pub(crate) pool: Pool,
    pub(crate) room: Capability,
    /// Whether it is the setup of a job, which its caller launches beside the tasks that wait.
    pub(crate) is_setup: bool,
}
