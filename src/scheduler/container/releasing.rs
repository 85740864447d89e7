//! Containers being released: their end is decided, and their room will be free soon. Preemption starts from these
//! amounts, so that it takes nothing for room that is being released already.

use crate::model::{Capability, Kind, TrackerId, lower, raise};
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;

// === impl Scheduler: room that comes free ===

impl Scheduler {
    /// Counts a container as being released: its end is decided.
    pub fn mark_container_releasing(&mut self, id: AppId, node: TrackerId, request: RequestType) {
        let slots = request.capability.slots(self.containers.slot);
        let Some(app) = self.apps.get_mut(&id) else { return };
        raise(&mut app.releasing.container, slots, &mut self.violations);
        self.groups.update_path(app.home, |group| raise(&mut group.releasing.container, slots, &mut self.violations));
        if let Some(bag) = self.bag_mut(node) {
            bag.releasing.take(request.capability);
        }
    }

    /// Reverts [`Self::mark_container_releasing`]: the decision was cancelled, or the container is gone; then call this
    /// before [`Self::end_container`].
    pub fn unmark_container_releasing(&mut self, id: AppId, node: TrackerId, request: RequestType) {
        let slots = request.capability.slots(self.containers.slot);
        let Some(app) = self.apps.get_mut(&id) else { return };
        lower(&mut app.releasing.container, slots, &mut self.violations);
        self.groups.update_path(app.home, |group| lower(&mut group.releasing.container, slots, &mut self.violations));
        if let Some(bag) = self.bag_mut(node) {
            let was_marked = bag.releasing.give_back(request.capability);
            self.violations.check(was_marked, || format!("{node} releases no container of {}", request.capability));
        }
    }

    /// Memory and cores of a node that are free or being released, by containers and tasks; none without a bag.
    pub fn incoming_room(&self, node: TrackerId) -> Option<Capability> {
        let entry = self.nodes.get(&node)?;
        let retained = |kind: Kind| entry.in_use(kind).saturating_sub(entry.releasing[kind]);
        let tasks = retained(Kind::Map).saturating_add(retained(Kind::Reduce));
        Some(entry.bag.as_ref()?.incoming(tasks, self.containers.slot))
    }
}
