//! Rounds of preemption where containers run or are wanted: tasks and containers share memory and cores of nodes, so one
//! round serves all pools (resource requests, section 10, Preemption).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::core::Engine;
use crate::engine::state::{Application, Container, Victim};
use crate::mapreduce::Job;
use crate::model::{Capability, Kind, Now, PerKind, PerPool, Pool, TrackerId};
use crate::scheduler::{
    GroupId, Holder, NodeRoom, OverQueue, RoomRound, RoundOutcome, ShortQueue, UnderQuotaGroup, WaitingApp, WaitingWork,
};

use super::preemption_round::{ChosenVictims, QueueInRound};

/// Most applications of a queue that a round considers beyond those that fill its quota.
const APPLICATIONS_IN_RESERVE: usize = 16;

/// What the live applications of a queue hold and want.
#[derive(Default)]
struct QueueContainers<'a> {
    /// In the order of their grants, those whose end is ordered left out.
    retained: Vec<&'a Container>,
    applications: Vec<&'a Application>,
}

#[derive(Default)]
struct LiveContainers<'a> {
    by_group: BTreeMap<GroupId, QueueContainers<'a>>,
    ending: Vec<&'a Container>,
}

impl Engine {
    /// Whether containers run or are wanted: else rounds need look at slots only.
    pub(super) fn shares_room(&self) -> bool {
        let totals = self.cluster.scheduler.totals();
        totals.running.container > 0 || totals.waiting.container > 0
    }

    /// Chooses victims of all pools by the current state, without marking them.
    pub(super) fn choose_room_victims(&self, now: Now) -> ChosenVictims {
        let mut queues = self.queues_in_a_round();
        if !queues.iter().any(|queue| self.waits_below_quota(queue)) {
            return ChosenVictims::default();
        }
        let LiveContainers { mut by_group, ending } = self.containers();
        self.add_jobs(&mut queues);
        queues.retain(|queue| !queue.jobs.is_empty() || by_group.contains_key(&queue.group));
        let mut nodes = self.room_of_nodes(&ending, now);
        self.place_setups_with_room(&mut queues, &mut nodes, now);
        let held: Vec<_> = queues.iter().map(|queue| by_group.remove(&queue.group).unwrap_or_default()).collect();
        let mut chosen = ChosenVictims::default();
        let mut short = Vec::new();
        for (queue, held) in queues.iter().zip(&held) {
            let wants = self.short_queue(queue, held);
            if wants.slots() > 0 {
                *chosen.short.entry(queue.name.to_owned()).or_default() += wants.slots();
                short.push(wants);
            }
        }
        if short.is_empty() {
            return ChosenVictims::default();
        }
        let (mut over, mut reasons) = (Vec::new(), Vec::new());
        for (queue, held) in queues.iter().zip(&held) {
            let has = self.over_queue(queue, held, over.len());
            if !has.holders.is_empty() {
                over.push(has);
                reasons.push(Self::reasons_of(queue));
            }
        }
        let RoundOutcome { victims, earmarks } =
            RoomRound { short, nodes, over }.decide(|work, node| self.can_use_room(work, node));
        chosen.earmarks = earmarks;
        for (queue, pool, victim) in victims {
            let Some(reason) = reasons.get(queue).map(|reasons| Arc::clone(&reasons[pool])) else { continue };
            match victim {
                Victim::Attempt(id) => chosen.victims.push((id, reason)),
                Victim::Container(id) => chosen.containers.push((id, reason)),
            }
        }
        chosen
    }

    /// Whether something waits in a queue that holds less than it has bought of what it waits for, as far as sums say: else
    /// it is not short.
    fn waits_below_quota(&self, queue: &QueueInRound<'_>) -> bool {
        let waiting = self.cluster.scheduler.waiting(queue.group);
        let has_setups = !self.cluster.housekeeping.setup.is_empty();
        let has_room = || self.bought_by(queue).left_for_containers(queue.retained) > 0;
        Kind::ALL.into_iter().any(|kind| queue.room(kind) > 0 && (has_setups || waiting[kind] > 0))
            || self.cluster.scheduler.group_containers(queue.group).waiting > 0 && has_room()
    }

    fn containers(&self) -> LiveContainers<'_> {
        let mut all = LiveContainers::default();
        let most_ms = self.inspect().preemption_grace_ms();
        // One that its owner ends with a longer grace can still be preempted, which shortens it.
        let is_ending = |one: &&Container| one.kill.as_ref().is_some_and(|kill| kill.grace_ms <= most_ms);
        for application in self.applications.iter() {
            let (ending, retained): (Vec<_>, Vec<_>) = application.live().partition(is_ending);
            all.ending.extend(ending);
            let group = self.applications.app(application.id()).and_then(|app| self.cluster.scheduler.group_of(app));
            let Some(group) = group else { continue };
            let of_group = all.by_group.entry(group).or_default();
            of_group.retained.extend(retained);
            if !application.is_over() {
                of_group.applications.push(application);
            }
        }
        for of_group in all.by_group.values_mut() {
            of_group.retained.sort_by_key(|container| (container.granted_ms, container.id));
            of_group.applications.sort_by_key(|application| application.submitted.order);
        }
        all
    }

    /// What is free or being released on each node that takes work.
    fn room_of_nodes(&self, ending: &[&Container], now: Now) -> BTreeMap<TrackerId, NodeRoom> {
        let scheduler = &self.cluster.scheduler;
        let mut nodes = BTreeMap::new();
        for tracker in self.trackers.iter().filter(|tracker| self.can_take_work(tracker, now)) {
            let mut slots = scheduler.incoming(tracker.id);
            Kind::ALL.into_iter().filter(|kind| tracker.slots[*kind] == 0).for_each(|kind| slots[kind] = 0);
            nodes.insert(
                tracker.id,
                NodeRoom {
                    slots,
                    room: scheduler.incoming_room(tracker.id),
                    cores_of_slots_alone: scheduler.cores_of_slots_alone(tracker.id),
                },
            );
        }
        for container in ending {
            let node = self.node_of(container).and_then(|node| nodes.get_mut(&node));
            if let Some(room) = node.and_then(|node| node.room.as_mut()) {
                *room = room.checked_add(container.request.capability).unwrap_or(*room);
            }
        }
        nodes
    }

    /// As for slots alone, but a setup needs room too.
    fn place_setups_with_room(
        &self,
        queues: &mut [QueueInRound<'_>],
        nodes: &mut BTreeMap<TrackerId, NodeRoom>,
        now: Now,
    ) {
        let slot = self.cluster.scheduler.slot_size();
        let mut incoming = self.incoming_slots(now);
        for kind in Kind::ALL {
            for (node, slots) in &mut incoming[kind].slots {
                let room = nodes.get(node).and_then(|node| node.room);
                *slots = room.map_or(*slots, |room| room.whole_slots(slot).min(*slots));
            }
            incoming[kind].slots.retain(|_, slots| *slots > 0);
        }
        let before = Kind::ALL.map(|kind| incoming[kind].slots.clone());
        self.place_setups(queues, &mut incoming);
        for (kind, before) in Kind::ALL.into_iter().zip(before) {
            for (node, slots) in before {
                let left = incoming[kind].slots.get(&node).copied().unwrap_or(0);
                let taken = slots.saturating_sub(left);
                if let Some(node) = nodes.get_mut(&node) {
                    node.slots[kind] = node.slots[kind].saturating_sub(taken);
                    node.room = node.room.map(|room| room.saturating_sub(slot.times(taken)));
                }
            }
        }
    }

    fn short_queue(&self, queue: &QueueInRound<'_>, held: &QueueContainers<'_>) -> ShortQueue {
        let slot = self.cluster.scheduler.slot_size();
        let mut short = ShortQueue::default();
        let mut with_tasks = queue.retained;
        for kind in Kind::ALL {
            let Some(UnderQuotaGroup { need, waiting }) = self.short_group(queue, kind) else { continue };
            let mut wanted = 0_u32;
            short.need[kind] = need;
            for WaitingApp { app, tasks: count, slots_per_task: slots, is_constrained } in waiting {
                let (pool, room) = (Pool::from(kind), slot.times(slots));
                wanted = wanted.saturating_add(count.saturating_mul(slots));
                let is_setup = queue.setups[kind].contains(&app);
                short.waiting.push(WaitingWork {
                    app,
                    pool,
                    request: None,
                    count,
                    slots,
                    room,
                    is_constrained,
                    is_setup,
                });
            }
            // What its own tasks are about to take is not left for its containers.
            with_tasks[kind] = with_tasks[kind].saturating_add(wanted.min(need));
        }
        let due = self.bought_by(queue).left_for_containers(with_tasks);
        let need = due.saturating_sub(self.slots_of(&held.retained));
        short.need.container = need;
        let (mut wanted, mut reserve) = (0_u32, 0);
        for application in &held.applications {
            // Nodes may be of no use to those before it.
            if need == 0 || reserve >= APPLICATIONS_IN_RESERVE {
                break;
            }
            let Some(app) = self.applications.app(application.id()) else { continue };
            let types = self.cluster.scheduler.grantable_containers(app);
            reserve += usize::from(wanted >= need && !types.is_empty());
            for (request, count) in types {
                let (slots, room) = (request.capability.slots(slot), request.capability);
                wanted = wanted.saturating_add(count.saturating_mul(slots));
                let (pool, request, is_constrained) = (Pool::Container, Some(request), true);
                short.waiting.push(WaitingWork {
                    app,
                    pool,
                    request,
                    count,
                    slots,
                    room,
                    is_constrained,
                    is_setup: false,
                });
            }
        }
        short
    }

    /// What a queue may lose; `number` names it in its victims.
    fn over_queue(
        &self,
        queue: &QueueInRound<'_>,
        held: &QueueContainers<'_>,
        number: usize,
    ) -> OverQueue<(usize, Pool, Victim)> {
        let excess = PerKind::new(queue.excess(Kind::Map), queue.excess(Kind::Reduce));
        let slot = self.cluster.scheduler.slot_size();
        let mut holders = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| excess[*kind] > 0) {
            for job in queue.jobs.iter().filter_map(|id| self.jobs.get(*id)) {
                holders.extend(attempts_of(job, kind, slot, number));
            }
        }
        let quota = self.bought_by(queue).left_for_containers(queue.retained);
        let mut covered = 0_u32;
        for (age, container) in (0..).zip(&held.retained) {
            let slots = container.request.capability.slots(slot);
            covered = covered.saturating_add(slots);
            if covered <= quota {
                continue;
            }
            let (id, room) = (container.id, container.request.capability);
            let application = self.applications.get(id.application);
            let app = self.applications.app(id.application);
            let (Some(node), Some((application, app))) = (self.node_of(container), application.zip(app)) else {
                continue;
            };
            holders.push(Holder {
                pool: Pool::Container,
                slots,
                room,
                node,
                is_unlaunched: container.launch.is_none(),
                start_ms: application.submitted.submitted_ms,
                app,
                age,
                victim: (number, Pool::Container, Victim::Container(id)),
            });
        }
        OverQueue { excess, holders }
    }

    /// Whether work that waits could use a node with enough room.
    fn can_use_room(&self, work: &WaitingWork, node: TrackerId) -> bool {
        match (work.pool.kind(), work.request) {
            (Some(kind), _) => {
                let has_slots = self.trackers.get(node).is_some_and(|tracker| tracker.slots[kind] > 0);
                let job = self.jobs.by_app(work.app).filter(|_| has_slots);
                job.is_some_and(|job| job.can_use(kind, node, &self.cluster.nodes))
            }
            (None, Some(request)) => self.cluster.scheduler.could_place(work.app, &request, node),
            (None, None) => false,
        }
    }

    /// What a queue has bought; without payment it is void.
    fn bought_by(&self, queue: &QueueInRound<'_>) -> PerPool<u32> {
        self.cluster.scheduler.allocation(queue.group).paid()
    }

    fn slots_of(&self, containers: &[&Container]) -> u32 {
        let slot = self.cluster.scheduler.slot_size();
        containers.iter().fold(0, |sum, one| sum.saturating_add(one.request.capability.slots(slot)))
    }

    fn node_of(&self, container: &Container) -> Option<TrackerId> {
        self.trackers.id_of(&container.node.tracker)
    }

    /// Diagnostics of what a queue loses of each pool.
    fn reasons_of(queue: &QueueInRound<'_>) -> PerPool<Arc<str>> {
        let name = queue.name;
        let container =
            format!("Preempted: queue {name} is over its quota of slots for containers, and others are below theirs");
        PerPool::new(queue.reason(Kind::Map).into(), queue.reason(Kind::Reduce).into(), container.into())
    }
}

fn attempts_of(
    job: &Job,
    kind: Kind,
    slot: Capability,
    number: usize,
) -> impl Iterator<Item = Holder<(usize, Pool, Victim)>> {
    let (start_ms, app, pool) = (job.submit_ms, job.app, Pool::from(kind));
    job.preemptible_attempts(kind).map(move |(id, attempt)| Holder {
        pool,
        slots: attempt.slots,
        room: slot.times(attempt.slots),
        node: attempt.tracker,
        is_unlaunched: false,
        start_ms,
        app,
        age: attempt.launch_mono_ms,
        victim: (number, pool, Victim::Attempt(id)),
    })
}

/// Trackers that are looked at for one that may give way.
const MOST_VICTIMS: usize = 64;

impl Engine {
    /// Whether a tracker may register on a connection. A connection that speaks for many, and at the limit the address that has the most,
    /// loses its oldest tracker that has never run anything.
    pub(super) fn make_room_for_tracker(&mut self, connection: u64, now: Now) -> bool {
        if let Some(id) = self.trackers.fresh.beyond(connection) {
            self.lose_tracker(id, "its connection speaks for too many other names", now);
        }
        if !self.has_room_for_trackers() {
            let runs_nothing = |id: &TrackerId| {
                let name = self.trackers.get(*id).map(|tracker| &tracker.name);
                name.and_then(|name| self.applications.worker(name))
                    .is_none_or(|worker| worker.has.is_empty() && worker.owed.is_empty())
            };
            // One of a few: what containers a worker has is known to its applications alone.
            let victim = self.trackers.fresh.of_greediest().take(MOST_VICTIMS).find(runs_nothing);
            if let Some(id) = victim {
                self.lose_tracker(id, "others need its place, and its address has the most that ran nothing", now);
            }
        }
        self.has_room_for_trackers()
    }
}
