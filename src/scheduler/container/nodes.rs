//! Nodes with memory and cores for containers, and what containers hold of them: each change updates the application, its
//! group, its node and the cluster together.

use crate::model::{Capability, Kind, Pool, TrackerId, Violations, lower, raise};
use crate::scheduler::change::Change;
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;
use super::bag::Bag;

impl Scheduler {
    /// Sets the memory and cores of one slot: what each slot in use takes of its node's bag, and the unit of [`Capability::slots`]. Default
    /// 1,024 MB and 1 core. Call it before there are containers: those held keep the slots that they were counted with.
    pub(crate) fn set_slot_size(&mut self, slot: Capability) {
        self.containers.slot = slot;
    }

    pub(crate) fn slot_size(&self) -> Capability {
        self.containers.slot
    }

    /// Sets the misses after which a node in a wanted rack is near enough (`jobtracker.containers.locality.delay`).
    pub(crate) fn set_locality_delay(&mut self, misses: u32) {
        self.containers.locality_delay = misses;
    }

    /// Sets the memory and cores that a node has for containers and running tasks together. None: it has no bag, takes
    /// no containers, and nothing but its slots limits its tasks. What its containers hold is kept when it changes.
    pub(crate) fn set_bag(&mut self, node: TrackerId, declared: Option<Capability>) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        match (declared, &mut entry.bag) {
            (Some(declared), Some(bag)) => bag.declared = declared,
            (Some(declared), bag) => *bag = Some(Box::new(Bag::new(declared))),
            (None, _) => {
                self.set_takes_containers(node, false);
                if let Some(entry) = self.nodes.get_mut(&node) {
                    entry.bag = None;
                }
                self.count_bag(node);
                return;
            }
        }
        self.containers.freed.insert(node);
        self.update_room(node);
        self.recount_bag(node);
    }

    /// Says whether containers may be granted on a node with a bag: false while it is ill, excluded, out of disk, or in
    /// its first beat after a restart. At first false.
    pub(crate) fn set_takes_containers(&mut self, node: TrackerId, takes: bool) {
        let Some(bag) = self.nodes.get_mut(&node).and_then(|node| node.bag.as_mut()) else { return };
        if bag.takes_containers == takes {
            return;
        }
        bag.takes_containers = takes;
        match takes {
            true => {
                self.containers.freed.insert(node);
                self.update_room(node);
            }
            false => self.forget_room(node),
        }
        self.recount_bag(node);
    }

    /// Sets how many slots of both kinds are in use on a node by its own word, at its heartbeat. Until the next one its bag
    /// has no room for more than that leaves, though the caller has released slots since: what ran in them may still run.
    pub(crate) fn set_said_in_use(&mut self, node: TrackerId, slots: u32) {
        let Some(entry) = self.nodes.get_mut(&node).filter(|entry| entry.said != Some(slots)) else { return };
        entry.said = Some(slots);
        if entry.bag.is_some() {
            self.update_room(node);
        }
    }

    pub(crate) fn takes_containers(&self, node: TrackerId) -> bool {
        self.bag(node).is_some_and(|bag| bag.takes_containers)
    }

    /// Slots that the bag of a node has room for beside what runs there; none: it has no bag, and no limit. For tasks
    /// that the caller grants itself: setup and cleanup.
    pub(crate) fn slot_room(&self, node: TrackerId) -> Option<u32> {
        self.nodes.get(&node)?.slot_room(self.containers.slot)
    }

    /// Memory and cores that are free on a node beside containers and running tasks; none without a bag.
    pub(crate) fn room_on(&self, node: TrackerId) -> Option<Capability> {
        let entry = self.nodes.get(&node)?;
        Some(entry.bag.as_ref()?.free(entry.tasks(), self.containers.slot))
    }

    /// Memory, MB, and cores that the containers of a node hold; zero without a bag.
    #[cfg(test)]
    pub(crate) fn held_by_containers(&self, node: TrackerId) -> (u64, u64) {
        self.bag(node).map_or((0, 0), |bag| (bag.held.memory_mb, bag.held.vcores))
    }

    pub(crate) fn container_nodes(&self) -> usize {
        self.containers.nodes.len()
    }

    /// Whole slots of nodes that take containers for which they have no map or reduce slot, over all such nodes.
    pub(crate) fn slots_beyond_tasks(&self) -> u64 {
        self.totals.bags.beyond_tasks
    }

    /// Brings the sums over bags in line with one node; whether the slots for containers changed.
    pub(in crate::scheduler) fn count_bag(&mut self, id: TrackerId) -> bool {
        let Self { nodes, totals, containers, violations, .. } = self;
        let Some(node) = nodes.get_mut(&id) else { return false };
        let after = node.bag_sums(containers.slot);
        let before = std::mem::replace(&mut node.counted, after);
        lower(&mut totals.bags.beyond_tasks, before.beyond_tasks, violations);
        raise(&mut totals.bags.beyond_tasks, after.beyond_tasks, violations);
        lower(&mut totals.bags.blocked, before.blocked, violations);
        raise(&mut totals.bags.blocked, after.blocked, violations);
        before.beyond_tasks != after.beyond_tasks
    }

    /// The same after what a node declares or takes has changed.
    fn recount_bag(&mut self, id: TrackerId) {
        if self.count_bag(id) {
            self.notify(&Change::ClusterSlots);
        }
    }

    pub(super) fn bag(&self, node: TrackerId) -> Option<&Bag> {
        self.nodes.get(&node)?.bag.as_deref()
    }

    pub(super) fn bag_mut(&mut self, node: TrackerId) -> Option<&mut Bag> {
        self.nodes.get_mut(&node)?.bag.as_deref_mut()
    }

    /// Updates the index after the room or the place of a node changed. No effect on one without a bag.
    pub(in crate::scheduler) fn update_room(&mut self, id: TrackerId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let Some(bag) = node.bag.as_ref().filter(|bag| bag.takes_containers) else { return };
        let sizes = (bag.declared, bag.free(node.tasks(), self.containers.slot));
        if self.containers.nodes.set(id, node.host, &self.topology.groups(node.host), sizes) {
            self.containers.forget_wants();
        }
    }

    /// Takes a node out of the index, and ends what is reserved there.
    pub(in crate::scheduler) fn forget_room(&mut self, id: TrackerId) {
        self.end_container_reservation(id);
        if self.containers.nodes.remove(id) {
            self.containers.forget_wants();
        }
        self.containers.freed.remove(&id);
    }

    /// Memory and cores of a node for tasks that are free or being released by tasks; none without a bag. Containers get less of it by
    /// [`Self::cores_of_slots_alone`].
    pub(crate) fn incoming_room(&self, node: TrackerId) -> Option<Capability> {
        let entry = self.nodes.get(&node)?;
        let retained = |kind: Kind| entry.in_use(kind).saturating_sub(entry.releasing[kind]);
        let tasks = retained(Kind::Map).saturating_add(retained(Kind::Reduce));
        entry.room_for_tasks(tasks, self.containers.slot)
    }

    /// Cores that the slots of a node stand for beyond what it has declared: tasks may use them, containers not.
    pub(crate) fn cores_of_slots_alone(&self, node: TrackerId) -> u32 {
        let Some(entry) = self.nodes.get(&node) else { return 0 };
        let of_slots = entry.slots.map.saturating_add(entry.slots.reduce).saturating_mul(self.containers.slot.vcores);
        entry.bag.as_ref().map_or(0, |bag| of_slots.saturating_sub(bag.declared.vcores))
    }

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
