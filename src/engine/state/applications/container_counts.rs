//! Containers of the applications of each queue in slots, counted as they change: what the market needs at a tick.
//!
//! Invariant: the counts of a queue are the sums over its applications; what has none is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::market::ContainerUse;
use crate::model::{Capability, Violations, lower, raise};

use super::application::Application;
use super::container::Container;
use super::record::SubmittedApplication;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueContainerCounts {
    by_queue: BTreeMap<Arc<str>, HeldAndWanted>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeldAndWanted {
    held: u64,
    wanted: u64,
}

/// The slots of a container from its grant to its end, in slots of this size; none: it is complete.
pub(super) fn held_slots(container: &Container, slot: Capability) -> Option<u64> {
    container.is_live().then(|| container.request.capability.slots(slot).into())
}

impl QueueContainerCounts {
    /// A container of an application holds so many slots from now on, and held so many before.
    pub(super) fn change(
        &mut self,
        of: &SubmittedApplication,
        before: Option<u64>,
        after: Option<u64>,
        violations: &mut Violations,
    ) {
        if before == after {
            return;
        }
        let queue = self.by_queue.entry(Arc::clone(&of.queue)).or_default();
        queue.held = queue.held.saturating_add(after.unwrap_or(0));
        lower(&mut queue.held, before.unwrap_or(0), violations);
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
        if self.by_queue.get(name).is_some_and(|queue| *queue == HeldAndWanted::default()) {
            self.by_queue.remove(name);
        }
    }

    pub(super) fn of_queue(&self, queue: &str) -> ContainerUse {
        self.by_queue.get(queue).map_or(ContainerUse::default(), |queue| ContainerUse {
            held: u32::try_from(queue.held).unwrap_or(u32::MAX),
            wanted: queue.wanted,
        })
    }

    /// The same counts, made from all applications: for checks, since it is slow.
    pub(super) fn recounted<'a>(applications: impl Iterator<Item = &'a Application>, slot: Capability) -> Self {
        let (mut counts, mut violations) = (Self::default(), Violations::default());
        for application in applications {
            counts.count_whole(application, slot, &mut violations);
        }
        counts
    }

    pub(super) fn count_whole(&mut self, application: &Application, slot: Capability, violations: &mut Violations) {
        let of = &application.submitted;
        self.change_wanted(of, 0, application.wanted(), violations);
        for container in application.live() {
            self.change(of, None, held_slots(container, slot), violations);
        }
    }
}
