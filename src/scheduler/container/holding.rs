//! Containers that applications hold: each change updates the application, its group, its node and the cluster together.

use crate::model::{Pool, TrackerId, Violations};
use crate::scheduler::change::Change;
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;

impl Scheduler {
    /// Counts a container that was granted before a restart: it holds its part of `node`, if that is back already (else
    /// [`Self::place_container`] follows), and lowers no row.
    pub(crate) fn restore_container(&mut self, id: AppId, node: TrackerId, request: RequestType) {
        self.hold_container(id, node, request);
        self.update_demand(id);
    }

    /// A container that was restored without its node holds its part of it: its node is back.
    pub(crate) fn place_container(&mut self, node: TrackerId, request: RequestType) {
        if let Some(bag) = self.bag_mut(node) {
            bag.held.take(request.capability);
            self.update_room(node);
            self.count_bag(node);
        }
    }

    /// A container has ended, or was given back: nothing of it is left on its node, or the node is lost. Its request is
    /// not raised again. [`Self::grant_containers`] then grants what can be granted at once.
    pub(crate) fn end_container(&mut self, id: AppId, node: TrackerId, request: RequestType) {
        let slots = request.capability.slots(self.containers.slot);
        if let Some(bag) = self.bag_mut(node) {
            let was_held = bag.held.give_back(request.capability);
            self.violations.check(was_held, || format!("{node} has no container of {} to end", request.capability));
            self.containers.freed.insert(node);
            self.update_room(node);
            self.count_bag(node);
        }
        let Some(app) = self.apps.get_mut(&id) else { return };
        let is_held = app.containers.as_mut().is_some_and(|demand| demand.count_down(request));
        self.violations.check(is_held, || format!("{id} holds no container of {request}"));
        if !is_held {
            return;
        }
        let Some(home) = self.count_usage_down(id, Pool::Container, slots) else { return };
        self.note_held(id, Pool::Container, -i64::from(slots));
        self.update_demand(id);
        self.rekey(home, Pool::Container);
        self.wake_after_release(id, Pool::Container);
        self.containers.asked.insert(id);
        self.notify(&Change::Usage { app: id, pool: Pool::Container });
        self.forget_drained(id);
    }

    pub(super) fn hold_container(&mut self, id: AppId, node: TrackerId, request: RequestType) {
        let slots = request.capability.slots(self.containers.slot);
        let Some(app) = self.apps.get_mut(&id) else { return };
        app.containers.get_or_insert_default().count_up(request);
        let Some(home) = self.count_usage_up(id, Pool::Container, slots) else { return };
        self.note_held(id, Pool::Container, slots.into());
        self.place_container(node, request);
        self.rekey(home, Pool::Container);
        self.notify(&Change::Usage { app: id, pool: Pool::Container });
    }

    /// Compares what applications hold and what the index of nodes says with a recount: slow, for builds with debug assertions.
    pub(in crate::scheduler) fn check_containers(&self, violations: &mut Violations) {
        for (id, app) in &self.apps {
            let running = app.containers.as_ref().map_or(0, |demand| demand.total_running());
            violations.check(running == u64::from(app.running.container), || {
                format!("{id} holds {} containers, by its types {running}", app.running.container)
            });
        }
        for (id, node) in &self.nodes {
            let bag = node.bag.as_ref().filter(|bag| bag.takes_containers);
            let free = bag.map(|bag| bag.free(node.tasks(), self.containers.slot));
            let indexed = self.containers.nodes.free_on(*id);
            violations.check(free == indexed, || format!("{id} has {free:?} free, by the index {indexed:?}"));
            let reserved = node.bag.as_ref().and_then(|bag| bag.reserved);
            let is_mutual = reserved.is_none_or(|(app, request)| {
                let table = self.demand(app).and_then(|demand| demand.types.get(&request));
                table.is_some_and(|table| table.reserved_on == Some(*id))
            });
            violations.check(is_mutual, || format!("{id} is reserved for {reserved:?}, which does not know it"));
        }
    }
}
