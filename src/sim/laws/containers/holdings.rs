//! What containers hold, and those that are wanted could hold, by the facts: read by the laws of money, of wants and of room.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{ApplicationId, Capability};
use crate::sim::laws::nodes::PlaceableNode;

use super::request_book::Site;
use super::{ContainerBook, ContainerBooks};

impl ContainerBooks {
    /// Slots of live containers, launched or not, by application, with its queue and the order of its submission.
    pub(in crate::sim::laws) fn held_by_applications(
        &self,
    ) -> impl Iterator<Item = (&Arc<str>, ApplicationId, u64, u32)> {
        self.applications.iter().filter_map(|(id, book)| {
            let live = book.containers.values().filter(|container| container.is_live());
            let slots = live.map(|container| container.request.capability.slots(self.slot)).sum::<u32>();
            (slots > 0).then_some((&book.submitted.queue, *id, book.submitted.order, slots))
        })
    }

    pub(in crate::sim::laws) fn has_any(&self, queue: &str) -> bool {
        let mut of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue);
        of_queue.any(|book| book.containers.values().any(ContainerBook::is_live))
    }

    /// Slots that the containers of each queue hold, and those that wanted ones could have; at least as many.
    pub(in crate::sim::laws) fn placeable(&self, nodes: &[PlaceableNode<'_>]) -> BTreeMap<String, u64> {
        let mut placeable = BTreeMap::new();
        for book in self.applications.values() {
            let slots = |capability: Capability| u64::from(capability.slots(self.slot));
            let live = book.containers.values().filter(|container: &&ContainerBook| container.is_live());
            let held: u64 = live.map(|container| slots(container.request.capability)).sum();
            let wanted = book.requests.types.iter().filter(|_| !book.is_over()).map(|(request, wanted)| {
                let open = nodes.iter().filter(|node| {
                    let is_blocked = book.blacklist.contains(node.host) || book.blacklist.contains(node.rack);
                    let site = Site { host: node.host, rack: node.rack };
                    !is_blocked && wanted.is_possible(site, book.submitted.strict_gates)
                });
                let room: u64 = open.map(|node| node.room_for(request.capability)).sum();
                room.min(wanted.wanted().into()) * slots(request.capability)
            });
            *placeable.entry(book.submitted.queue.to_string()).or_default() += held + wanted.sum::<u64>();
        }
        placeable
    }

    /// The queue of an application that is not over, or has live containers.
    pub(in crate::sim::laws) fn queue_of(&self, id: ApplicationId) -> Option<&str> {
        self.applications.get(&id).map(|book| &*book.submitted.queue)
    }

    /// Memory, MB, and cores that live containers of a worker's process hold.
    pub(in crate::sim::laws) fn held_on(&self, tracker: &str, incarnation: u64) -> (u64, u64) {
        let here = self.on_tracker.get(tracker).into_iter().flatten();
        let books = here.filter_map(|id| self.container(*id)).filter(|book| book.incarnation == incarnation);
        books.fold((0, 0), |(memory_mb, vcores), book| {
            let capability = book.request.capability;
            (memory_mb + u64::from(capability.memory_mb), vcores + u64::from(capability.vcores))
        })
    }

    /// Whether this step has ordered that a container makes room.
    pub(crate) fn has_preempted(&self) -> bool {
        !self.preempted.is_empty()
    }
}
