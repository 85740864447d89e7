//! Compares what workers and trackers really have with what the engine decides: the room of nodes, and ends of containers.

use crate::api::applications::ContainerState;
use crate::engine::{ApplicationChange, Fact, Step};
use crate::model::{Capability, Kind, PerKind};
use crate::sim::laws::{Law, OfferedNode, Violation};
use crate::sim::tracker::SimTracker;
use crate::sim::world::World;

use super::sim_worker::SimWorker;

impl World<'_> {
    /// What a node has: what it declares, raised to what its slots take.
    fn declared_by(&self, tracker: &SimTracker, worker: &SimWorker) -> Capability {
        let slot = self.plan.engine.containers.slot;
        let least = slot.times(tracker.fake.slots.map + tracker.fake.slots.reduce);
        let declared = worker.fake.declared.capability;
        Capability::new(declared.memory_mb.max(least.memory_mb), declared.vcores.max(least.vcores))
    }

    /// What is free on a node that has these containers, and so many slots in use.
    fn free_beside(&self, declared: Capability, (memory_mb, vcores): (u64, u64), busy: u32) -> Capability {
        let tasks = self.plan.engine.containers.slot.times(busy);
        let left = |declared: u32, held: u64, tasks: u32| {
            u32::try_from(u64::from(declared).saturating_sub(held + u64::from(tasks))).unwrap_or(0)
        };
        Capability::new(
            left(declared.memory_mb, memory_mb, tasks.memory_mb),
            left(declared.vcores, vcores, tasks.vcores),
        )
    }

    /// Slots that a heartbeat has left free, no more than the bag of the node has room for. Containers that the heartbeat
    /// itself has granted came after its tasks.
    pub(in crate::sim) fn within_bag(&self, tracker: &SimTracker, free: PerKind<u32>, step: &Step) -> PerKind<u32> {
        let Some(worker) = &tracker.worker else { return free };
        if !worker.is_known(self.daemon.number) {
            // Whether its slots are limited, and by what, is not known here.
            return PerKind::default();
        }
        let (mut memory_mb, mut vcores) = self.checker.held_on(&tracker.fake.name, worker.fake.incarnation);
        for change in changes_of(step) {
            let ApplicationChange::Container(container) = change else { continue };
            if *container.node.tracker == *tracker.fake.name && container.is_live() {
                let capability = container.request.capability;
                memory_mb = memory_mb.saturating_sub(capability.memory_mb.into());
                vcores = vcores.saturating_sub(capability.vcores.into());
            }
        }
        // Room that is earmarked for others is kept from tasks.
        let earmarked = self.checker.earmarked_on(&tracker.fake.name, &self.engine);
        (memory_mb, vcores) = (memory_mb + earmarked.0, vcores + earmarked.1);
        let slots = tracker.fake.slots;
        let busy = slots.map.saturating_sub(free.map) + slots.reduce.saturating_sub(free.reduce);
        let room = self.free_beside(self.declared_by(tracker, worker), (memory_mb, vcores), busy);
        let room = room.whole_slots(self.plan.engine.containers.slot);
        PerKind::new(free.map.min(room), free.reduce.min(room))
    }

    /// Checks that no container waits for room that a heartbeat has left free. `takes_work`: as far as its tracker says.
    pub(in crate::sim) fn check_idle_room(
        &self,
        tracker: &SimTracker,
        free: PerKind<u32>,
        takes_work: bool,
    ) -> Result<(), Violation> {
        let Some(worker) = &tracker.worker else { return Ok(()) };
        let is_drained =
            self.engine.drained_workers().any(|worker| **worker == *crate::wire::worker_name(&tracker.fake.name));
        let takes = worker.is_known(self.daemon.number) && takes_work && !is_drained && !self.engine.is_in_safe_mode();
        if !takes {
            return Ok(());
        }
        let slots = tracker.fake.slots;
        let busy = slots.map.saturating_sub(free.map) + slots.reduce.saturating_sub(free.reduce);
        let held = self.checker.held_on(&tracker.fake.name, worker.fake.incarnation);
        // Cores that only its slots stand for are for tasks alone.
        let own_vcores = worker.fake.declared.capability.vcores;
        let declared = Capability { vcores: own_vcores, ..self.declared_by(tracker, worker) };
        let free = self.free_beside(declared, held, busy);
        let (name, host) = (&*tracker.fake.name, &*tracker.fake.host);
        let free_slots = (slots.map + slots.reduce).saturating_sub(busy);
        let node = OfferedNode { tracker: name, host, declared, free, free_slots };
        self.checker.containers_use_room(node, &self.plan, &self.engine)
    }

    /// Why a node has more than it declares: its containers by the facts, and the tasks that it runs.
    pub(super) fn room_violation(&self, tracker: &SimTracker, worker: &SimWorker) -> Option<String> {
        let slot = self.plan.engine.containers.slot;
        let busy = tracker.fake.busy(Kind::Map) + tracker.fake.busy(Kind::Reduce);
        let declared = self.declared_by(tracker, worker);
        let (memory_mb, vcores) = self.checker.held_on(&tracker.fake.name, worker.fake.incarnation);
        let tasks = slot.times(busy);
        let (memory_mb, vcores) = (memory_mb + u64::from(tasks.memory_mb), vcores + u64::from(tasks.vcores));
        let is_over = memory_mb > u64::from(declared.memory_mb) || vcores > u64::from(declared.vcores);
        is_over.then(|| {
            let name = &tracker.fake.name;
            format!("{name} has {declared}, but its containers and {busy} slots take {memory_mb} MB, {vcores} cores")
        })
    }

    /// The checks of a step for the node whose tracker calls.
    pub(in crate::sim) fn check_containers_of(&self, tracker: &SimTracker, step: &Step) -> Result<(), Violation> {
        let Some(worker) = &tracker.worker else { return Ok(()) };
        self.check_container_ends(worker, &tracker.fake.name, step)
    }

    /// The same after a heartbeat's answer was obeyed.
    pub(in crate::sim) fn check_room_of(&self, tracker: &SimTracker) -> Result<(), Violation> {
        let text = tracker.worker.as_ref().and_then(|worker| self.room_violation(tracker, worker));
        text.map_or(Ok(()), |text| Err(self.violation(Law::Room, text)))
    }

    /// The same of all nodes on which a step grants something, but for the one whose worker or tracker calls.
    pub(in crate::sim) fn check_containers_of_step(&self, step: &Step) -> Result<(), Violation> {
        if self.plan.containers.is_none() || !step.facts.iter().any(|fact| matches!(fact, Fact::Applications(_))) {
            return Ok(());
        }
        self.checker.containers_are_in_order(&self.plan, &self.engine)?;
        for tracker in self.trackers.iter().flatten() {
            let Some(worker) = &tracker.worker else { continue };
            let text = self.room_violation(tracker, worker).filter(|_| has_grant_on(step, &tracker.fake.name));
            text.map_or(Ok(()), |text| Err(self.violation(Law::Room, text)))?;
            self.check_container_ends(worker, &tracker.fake.name, step)?;
        }
        Ok(())
    }

    /// A container is complete only once nothing of it is left on its worker, unless its node is lost.
    pub(super) fn check_container_ends(&self, worker: &SimWorker, name: &str, step: &Step) -> Result<(), Violation> {
        for change in changes_of(step) {
            let ApplicationChange::Container(container) = change else { continue };
            let node = &container.node;
            if container.state != ContainerState::Complete
                || *node.tracker != *name
                || node.incarnation != worker.fake.incarnation
            {
                continue;
            }
            let is_lost = container.end.as_ref().is_some_and(|end| end.diagnostics.ends_with("was lost"));
            let lives = worker.fake.containers.get(&container.id).is_some_and(|here| !here.has_ended());
            if lives && !is_lost {
                let text = format!("{} is complete, and {name} still runs it: {:?}", container.id, container.end);
                return Err(self.violation(Law::Lives, text));
            }
        }
        Ok(())
    }
}

fn changes_of(step: &Step) -> impl Iterator<Item = &ApplicationChange> {
    step.facts.iter().flat_map(|fact| match fact {
        Fact::Applications(changes) => changes.as_slice(),
        _ => &[],
    })
}

fn has_grant_on(step: &Step, name: &str) -> bool {
    changes_of(step).any(|change| match change {
        ApplicationChange::Container(container) => *container.node.tracker == *name,
        _ => false,
    })
}
