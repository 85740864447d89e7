//! Nodes and the sums over the cluster.

use crate::model::{Capability, Kind, Now, PerKind, PerPool, TrackerId, Violations, lower, raise};

use super::container::bag::Bag;
use super::order::OrderEntry;
use super::{AppId, HostId};

/// Sums over the cluster, updated at each change; [`Scheduler::recount`](super::Scheduler::recount) computes them from scratch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) nodes: u64,
    pub(crate) hosts: u64,
    pub(crate) slots: PerKind<u64>,
    /// Slots held by setup and cleanup attempts.
    pub(crate) occupied: PerKind<u64>,
    /// Attempts of apps that hold slots, and containers, wherever they are.
    pub(crate) running: PerPool<u64>,
    pub(crate) held: PerPool<u64>,
    pub(crate) waiting: PerPool<u64>,
    /// What nodes have for containers beside slots.
    pub(crate) bags: BagSums,
}

/// Slots of nodes that have memory and cores for containers, in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BagSums {
    /// Whole slots for which nodes that take containers have no map or reduce slot (resource requests, section 6: X).
    pub(crate) beyond_tasks: u64,
    /// Map and reduce slots without room beside the containers of their nodes.
    pub(crate) blocked: u64,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) host: HostId,
    pub(super) slots: PerKind<u32>,
    pub(super) occupied: PerKind<u32>,
    pub(super) held: PerKind<u32>,
    pub(super) releasing: PerKind<u32>,
    /// Slots of both kinds in use by its last word, and what it was given since; none: it has said nothing.
    pub(super) said: Option<u32>,
    /// Slots in use at the start of its last heartbeat, for a policy that takes over; none before the first.
    pub(super) reported: Option<(PerKind<u32>, Now)>,
    /// Whether its last heartbeat withheld slots for spreading while tasks waited.
    pub(super) withheld: PerKind<bool>,
    /// Where its next heartbeat resumes, when the last one used up the skip budget.
    pub(super) resume: PerPool<Option<OrderEntry>>,
    pub(super) reserved: PerKind<Option<SlotReservation>>,
    /// Memory and cores that its tasks share with containers; none: nothing but its slots limits them.
    pub(super) bag: Option<Box<Bag>>,
    pub(super) counted: BagSums,
}

impl Totals {
    /// All slots: those of maps and reduces, and what nodes have for containers beside them.
    pub(crate) fn all_slots(&self) -> u64 {
        self.slots.map.saturating_add(self.slots.reduce).saturating_add(self.bags.beyond_tasks)
    }
}

impl Node {
    pub(super) fn new(host: HostId) -> Self {
        Self {
            host,
            slots: PerKind::default(),
            occupied: PerKind::default(),
            held: PerKind::default(),
            releasing: PerKind::default(),
            said: None,
            reported: None,
            withheld: PerKind::default(),
            resume: PerPool::default(),
            reserved: PerKind::default(),
            bag: None,
            counted: BagSums::default(),
        }
    }

    pub(super) fn bag_sums(&self, slot: Capability) -> BagSums {
        let Some(bag) = &self.bag else { return BagSums::default() };
        let slots = self.slots.map.saturating_add(self.slots.reduce);
        let blocked = slots.saturating_sub(bag.free_for_tasks(0, slots, slot).whole_slots(slot));
        BagSums { beyond_tasks: bag.slots_beyond(slots, slot).into(), blocked: blocked.into() }
    }

    /// Tasks that would have no room on it beside a container more, though there are slots for them.
    pub(super) fn blocked_by(&self, container: Capability, slot: Capability) -> u64 {
        let Some(bag) = &self.bag else { return 0 };
        let slots = self.slots.map.saturating_add(self.slots.reduce);
        let left = bag.free_for_tasks(0, slots, slot).saturating_sub(container).whole_slots(slot);
        u64::from(slots.saturating_sub(left)).saturating_sub(self.counted.blocked)
    }

    pub(super) fn set_slots(&mut self, slots: PerKind<u32>, totals: &mut Totals, violations: &mut Violations) {
        for kind in Kind::ALL {
            lower(&mut totals.slots[kind], self.slots[kind], violations);
            raise(&mut totals.slots[kind], slots[kind], violations);
        }
        self.slots = slots;
    }

    /// Subtracts the node from the sums. Its attempts stay counted until each is removed by
    /// [`Scheduler::remove_running`](super::Scheduler::remove_running).
    pub(super) fn subtract_from(&self, totals: &mut Totals, violations: &mut Violations) {
        lower(&mut totals.nodes, 1_u32, violations);
        lower(&mut totals.bags.beyond_tasks, self.counted.beyond_tasks, violations);
        lower(&mut totals.bags.blocked, self.counted.blocked, violations);
        for kind in Kind::ALL {
            lower(&mut totals.slots[kind], self.slots[kind], violations);
            lower(&mut totals.occupied[kind], self.occupied[kind], violations);
        }
    }

    pub(super) fn add_to(&self, totals: &mut Totals, slot: Capability) {
        totals.nodes += 1;
        let BagSums { beyond_tasks, blocked } = self.bag_sums(slot);
        totals.bags.beyond_tasks += beyond_tasks;
        totals.bags.blocked += blocked;
        for kind in Kind::ALL {
            totals.slots[kind] += u64::from(self.slots[kind]);
            totals.occupied[kind] += u64::from(self.occupied[kind]);
        }
    }

    /// Slots of both kinds whose tasks take of its bag: those in use, or as many as the node says. An attempt whose slot is
    /// free by the books runs until its node has ended it.
    pub(super) fn tasks(&self) -> u32 {
        self.said.unwrap_or(0).max(self.in_use(Kind::Map).saturating_add(self.in_use(Kind::Reduce)))
    }

    /// Counts slots that it was given since its last word.
    pub(super) fn say_more(&mut self, slots: u32) {
        self.said = self.said.map(|said| said.saturating_add(slots));
    }

    /// Slots that its bag has room for; none without a bag.
    pub(super) fn slot_room(&self, slot: Capability) -> Option<u32> {
        Some(self.room_for_tasks(self.tasks(), slot)?.whole_slots(slot))
    }

    /// What its bag has for tasks beside so many that run; none without a bag.
    pub(super) fn room_for_tasks(&self, tasks: u32, slot: Capability) -> Option<Capability> {
        let slots = self.slots.map.saturating_add(self.slots.reduce);
        Some(self.bag.as_ref()?.free_for_tasks(tasks, slots, slot))
    }

    pub(super) fn in_use(&self, kind: Kind) -> u32 {
        self.held[kind].saturating_add(self.occupied[kind])
    }
}

/// The app that the free slots of a node are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotReservation {
    pub(super) app: AppId,
    pub(super) slots: u32,
    /// Since when so many slots are kept, monotonic clock, ms.
    pub(super) since_mono_ms: u64,
}

/// Slots that were kept for an app and are no more, or are another number now: its job is charged for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedReservation {
    pub(crate) app: AppId,
    pub(crate) kind: Kind,
    pub(crate) node: TrackerId,
    pub(crate) slots: u32,
    pub(crate) since_mono_ms: u64,
}
