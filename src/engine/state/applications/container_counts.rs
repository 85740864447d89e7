//! Containers of the applications of each queue in slots, counted as they change: what the market needs at a tick.
//!
//! Invariant: the counts of a queue are the sums over its applications, and those of an application are over its live
//! containers; what has none is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::market::ContainerUse;
use crate::model::{ApplicationId, Capability, Violations, lower, raise};

use super::application::Application;
use super::container::Container;
use super::record::SubmittedApplication;

/// Containers of all queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContainerCounts {
    by_queue: BTreeMap<Arc<str>, QueueContainers>,
}

/// Containers of the applications of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct QueueContainers {
    slots: ContainerSlots,
    /// Containers that are still wanted.
    wanted: u64,
    /// By the order of submissions: those that hold containers.
    holders: BTreeMap<(u64, ApplicationId), ContainerSlots>,
}

/// Slots of live containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContainerSlots {
    held: u64,
    /// Those that are not launched, by the last tick before their grant.
    unlaunched: BTreeMap<u64, u64>,
}

/// What a live container counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    slots: u64,
    /// The last tick before its grant; none: it is launched.
    unlaunched_since: Option<u64>,
}

// === impl Counted ===

impl Counted {
    /// What a container counts, in slots of this size; none: it is complete.
    pub(super) fn of(container: &Container, slot: Capability) -> Option<Self> {
        container.is_live().then(|| Self {
            slots: container.request.capability.slots(slot).into(),
            unlaunched_since: container.waits_for_launch().then_some(container.granted_tick),
        })
    }
}

// === impl ContainerSlots ===

impl ContainerSlots {
    /// Slots that the tick after `last_tick` charges for: of launched containers, and of those that were granted before
    /// `last_tick` (resource requests, section 10).
    pub(super) fn chargeable(&self, last_tick: u64) -> u64 {
        let later: u64 = self.unlaunched.range(last_tick..).map(|(_, slots)| slots).sum();
        self.held.saturating_sub(later)
    }

    fn add(&mut self, counted: Counted) {
        self.held = self.held.saturating_add(counted.slots);
        if let Some(tick) = counted.unlaunched_since {
            *self.unlaunched.entry(tick).or_default() += counted.slots;
        }
    }

    fn remove(&mut self, counted: Counted, violations: &mut Violations) {
        lower(&mut self.held, counted.slots, violations);
        let Some(tick) = counted.unlaunched_since else { return };
        if let Some(slots) = self.unlaunched.get_mut(&tick) {
            lower(slots, counted.slots, violations);
            if *slots == 0 {
                self.unlaunched.remove(&tick);
            }
        }
    }
}

// === impl ContainerCounts ===

impl ContainerCounts {
    /// A container of an application is like `after` from now on, and was like `before`; none: not there, or complete.
    pub(super) fn change(
        &mut self,
        of: &SubmittedApplication,
        before: Option<Counted>,
        after: Option<Counted>,
        violations: &mut Violations,
    ) {
        if before == after {
            return;
        }
        let queue = self.by_queue.entry(Arc::clone(&of.queue)).or_default();
        let holder = queue.holders.entry((of.order, of.id)).or_default();
        for slots in [&mut queue.slots, &mut *holder] {
            if let Some(after) = after {
                slots.add(after);
            }
            if let Some(before) = before {
                slots.remove(before, violations);
            }
        }
        if *holder == ContainerSlots::default() {
            queue.holders.remove(&(of.order, of.id));
        }
        self.forget_empty(&of.queue);
    }

    /// An application wants so many containers from now on, and wanted so many before.
    pub(super) fn change_wanted(
        &mut self,
        of: &SubmittedApplication,
        before: u64,
        after: u64,
        violations: &mut Violations,
    ) {
        if before == after {
            return;
        }
        let queue = self.by_queue.entry(Arc::clone(&of.queue)).or_default();
        raise(&mut queue.wanted, after, violations);
        lower(&mut queue.wanted, before, violations);
        self.forget_empty(&of.queue);
    }

    fn forget_empty(&mut self, name: &Arc<str>) {
        if self.by_queue.get(name).is_some_and(|queue| *queue == QueueContainers::default()) {
            self.by_queue.remove(name);
        }
    }

    /// Containers of a queue as the tick after `last_tick` finds them.
    pub(super) fn of_queue(&self, queue: &str, last_tick: u64) -> ContainerUse {
        let narrow = |slots: u64| u32::try_from(slots).unwrap_or(u32::MAX);
        self.by_queue.get(queue).map_or(ContainerUse::default(), |queue| ContainerUse {
            held: narrow(queue.slots.held),
            chargeable: narrow(queue.slots.chargeable(last_tick)),
            wanted: queue.wanted,
        })
    }

    /// The applications of a queue that hold containers, by the order of submissions.
    pub(super) fn holders(&self, queue: &str) -> impl Iterator<Item = (ApplicationId, &ContainerSlots)> {
        let holders = self.by_queue.get(queue).map(|queue| &queue.holders);
        holders.into_iter().flatten().map(|((_, id), slots)| (*id, slots))
    }

    /// The same counts, made from all applications: for checks, since it is slow.
    pub(super) fn recounted<'a>(applications: impl Iterator<Item = &'a Application>, slot: Capability) -> Self {
        let (mut counts, mut violations) = (Self::default(), Violations::default());
        for application in applications {
            counts.count_whole(application, slot, &mut violations);
        }
        counts
    }

    /// Adds all that an application holds and wants.
    pub(super) fn count_whole(&mut self, application: &Application, slot: Capability, violations: &mut Violations) {
        let of = &application.submitted;
        self.change_wanted(of, 0, application.wanted(), violations);
        for container in application.live() {
            self.change(of, None, Counted::of(container, slot), violations);
        }
    }
}
