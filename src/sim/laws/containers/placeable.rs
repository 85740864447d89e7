//! What of the wanted containers could be placed on the nodes that are there, were they empty (law 9).

use std::collections::BTreeMap;

use crate::model::{ApplicationId, Capability};
use crate::sim::laws::placeable_node::PlaceableNode;

use super::request_book::Site;
use super::{ContainerBook, ContainerBooks};

impl ContainerBooks {
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
}
