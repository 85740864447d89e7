//! Law 4 for containers: a round of preemption takes those that the quota of their queue does not cover, the newest first, for what else
//! would have no room, and no others; and of law 3 that none of them is left while a queue within its quota waits for its room.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::{Engine, RequestType};
use crate::model::{Capability, ContainerId, Kind, Now, Pool, TrackerId};
use crate::scheduler::{AppId, GroupId};
use crate::sim::laws::law::Law;

use super::request_book::Site;
use super::{ContainerBook, ContainerBooks, Judged, OfferedNode, refuse};

/// Rounds may leave applications of a queue out that come after so many others.
const CONSIDERED: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct ContainerCandidate {
    id: ContainerId,
    pub(super) queue: Arc<str>,
    granted_ms: i64,
    slots: u32,
    pub(super) room: Capability,
    node: TrackerId,
    is_unlaunched: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ContainerRound {
    /// In the order of their grants.
    candidates: Vec<ContainerCandidate>,
    pub(super) at_work: BTreeSet<TrackerId>,
    /// Containers of which it was ordered before that they end.
    ending: Vec<(TrackerId, Capability)>,
}

impl ContainerBooks {
    pub(crate) fn before_round(&self, engine: &Engine, now: Now) -> ContainerRound {
        let inspection = engine.inspect();
        let (mut candidates, mut ending) = (Vec::new(), Vec::new());
        for (application, book) in &self.applications {
            for (number, container) in book.containers.iter().filter(|(_, container)| container.is_live()) {
                let node = inspection.tracker_id_of(&container.tracker).unwrap_or(TrackerId::NONE);
                let room = container.request.capability;
                // One that its owner ends with a longer grace can still be preempted.
                if container.kill_grace_ms.is_some_and(|grace_ms| grace_ms <= inspection.preemption_grace_ms()) {
                    ending.push((node, room));
                    continue;
                }
                candidates.push(ContainerCandidate {
                    id: ContainerId { application: *application, attempt: 0, number: *number },
                    queue: Arc::clone(&book.submitted.queue),
                    granted_ms: container.granted_ms,
                    slots: room.slots(self.slot),
                    room,
                    node,
                    is_unlaunched: container.launch.is_none(),
                });
            }
        }
        candidates.sort_by_key(|one| (one.granted_ms, one.id.application, one.id.number));
        let at_work = inspection.trackers_at_work(now).map(|(node, _)| node).collect();
        ContainerRound { candidates, at_work, ending }
    }

    /// Checks a round that lost no node and ended no attempt in the same step.
    pub(crate) fn after_round(&self, round: &ContainerRound, engine: &Engine) -> Judged {
        let is_chosen = |one: &ContainerCandidate| {
            let is_same = |id: &&ContainerId| (id.application, id.number) == (one.id.application, one.id.number);
            self.preempted.iter().any(|id| is_same(&id))
        };
        let over = over_quota(&round.candidates, engine);
        let is_over = |one: &ContainerCandidate| over.contains(&(one.id.application, one.id.number));
        if self.preempted.len() != round.candidates.iter().filter(|one| is_chosen(one)).count() {
            return refuse(Law::Preemption, format!("of {:?} some were not there to be preempted", self.preempted));
        }
        let most_ms = engine.inspect().preemption_grace_ms();
        for victim in round.candidates.iter().filter(|one| is_chosen(one)) {
            let book = self.container(victim.id).filter(|book| book.is_live());
            if let Some(grace_ms) = book.and_then(|book| book.kill_grace_ms).filter(|grace_ms| *grace_ms > most_ms) {
                return refuse(Law::Holding, format!("{victim:?} is preempted, and has {grace_ms} ms to go"));
            }
            if !is_over(victim) {
                let text = format!("{victim:?} is preempted, and its queue's quota covers it");
                return refuse(Law::Preemption, text);
            }
            let goes_first = |other: &&ContainerCandidate| {
                let is_newer = (other.granted_ms, other.id.application, other.id.number)
                    > (victim.granted_ms, victim.id.application, victim.id.number);
                let is_before = match other.is_unlaunched == victim.is_unlaunched {
                    true => is_newer && other.queue == victim.queue,
                    false => other.is_unlaunched,
                };
                is_before && (other.node, other.room) == (victim.node, victim.room)
            };
            let spared = round.candidates.iter().filter(|one| is_over(one) && !is_chosen(one)).find(goes_first);
            if let Some(other) = spared {
                return refuse(Law::Preemption, format!("{victim:?} must leave, and {other:?} stays"));
            }
        }
        let nodes: BTreeSet<TrackerId> = round.candidates.iter().map(|one| one.node).collect();
        for node in nodes.into_iter().filter(|node| self.is_as_the_round_left_it(*node, engine)) {
            let here = || round.candidates.iter().filter(move |one| one.node == node);
            let victims: Vec<&ContainerCandidate> = here().filter(|one| is_chosen(one)).collect();
            self.check_need(node, round, &victims, engine)?;
            let staying = here().filter(|one| is_over(one) && !is_chosen(one));
            self.check_guarantee(node, &victims, staying, round, engine)?;
        }
        Ok(())
    }

    /// Whether nothing else has happened on a node in this step: no grant, and no end that the round did not order.
    fn is_as_the_round_left_it(&self, node: TrackerId, engine: &Engine) -> bool {
        let tracker_of = |name: &str| engine.inspect().tracker_id_of(name);
        let has_grant = self.granted.iter().any(|container| tracker_of(&container.node.tracker) == Some(node));
        !has_grant && !self.has_other_ends && !engine.is_in_safe_mode()
    }

    /// What is or comes free on a node once all that must end there has.
    fn room_after(
        &self,
        node: TrackerId,
        round: &ContainerRound,
        victims: &[&ContainerCandidate],
        engine: &Engine,
    ) -> Option<(u64, u64)> {
        let free = engine.inspect().scheduler().incoming_room(node)?;
        let ending = round.ending.iter().filter(|(at, _)| *at == node).map(|(_, room)| *room);
        // What its worker never had has left already.
        let still_lives = |one: &&&ContainerCandidate| {
            let book = self.applications.get(&one.id.application);
            book.and_then(|book| book.containers.get(&one.id.number)).is_some_and(ContainerBook::is_live)
        };
        let leaving = victims.iter().filter(still_lives).map(|one| one.room);
        let free: (u64, u64) = (free.memory_mb.into(), free.vcores.into());
        Some(
            ending
                .chain(leaving)
                .fold(free, |sum, room| (sum.0 + u64::from(room.memory_mb), sum.1 + u64::from(room.vcores))),
        )
    }

    /// What leaves a node is enough for all that its room was found for, and all of it is needed.
    fn check_need(
        &self,
        node: TrackerId,
        round: &ContainerRound,
        victims: &[&ContainerCandidate],
        engine: &Engine,
    ) -> Judged {
        if victims.is_empty() {
            return Ok(());
        }
        let scheduler = engine.inspect().scheduler();
        let Some((memory_mb, vcores)) = self.room_after(node, round, victims, engine) else { return Ok(()) };
        let mut needed = (0_u64, 0_u64);
        for earmark in scheduler.earmarks_on(node) {
            needed.0 += u64::from(earmark.room.memory_mb);
            needed.1 += u64::from(earmark.room.vcores);
        }
        // A container finds room beside the cores that only slots stand for.
        if scheduler.earmarks_on(node).iter().any(|earmark| earmark.pool == Pool::Container) {
            needed.1 += u64::from(scheduler.cores_of_slots_alone(node));
        }
        if needed == (0, 0) || needed.0 > memory_mb || needed.1 > vcores {
            let text = format!("{victims:?} must leave, {memory_mb} MB, {vcores} cores come free for {needed:?}");
            return refuse(Law::Preemption, text);
        }
        // Setups that were placed on free slots are earmarked nowhere.
        let setups = self.slot.times(engine.inspect().housekeeping().setup.len() as u32);
        needed = (needed.0 + u64::from(setups.memory_mb), needed.1 + u64::from(setups.vcores));
        let is_needless = |one: &&&ContainerCandidate| {
            needed.0 + u64::from(one.room.memory_mb) <= memory_mb && needed.1 + u64::from(one.room.vcores) <= vcores
        };
        match victims.iter().find(is_needless) {
            Some(one) => {
                refuse(Law::Preemption, format!("{one:?} must leave, and without it there is room for {needed:?}"))
            }
            None => Ok(()),
        }
    }

    /// Checks a node on which a round took `victims` and left `staying` beyond their quotas. Judges what is certain: rows
    /// that know no delay, and queues that got nothing from the round or after it.
    fn check_guarantee<'a>(
        &self,
        node: TrackerId,
        victims: &[&ContainerCandidate],
        staying: impl Iterator<Item = &'a ContainerCandidate>,
        round: &ContainerRound,
        engine: &Engine,
    ) -> Judged {
        let inspection = engine.inspect();
        let scheduler = inspection.scheduler();
        let reserved = scheduler.reservation_on(node).map(|(app, _)| scheduler.group_of(app));
        let is_as_before = reserved.is_some() == self.kept.reserved.contains(&node);
        let takes = round.at_work.contains(&node) && scheduler.takes_containers(node) && is_as_before;
        // Setups that were placed on free slots are earmarked nowhere.
        if !takes || !inspection.housekeeping().setup.is_empty() {
            return Ok(());
        }
        let left = self.room_after(node, round, victims, engine).and_then(|room| beside_earmarks(room, node, engine));
        let (Some((memory_mb, vcores)), Some(info)) = (left, inspection.nodes().get(node)) else { return Ok(()) };
        let topology = scheduler.topology();
        let site = Site { host: topology.host_name(info.host), rack: topology.rack_name(info.rack) };
        let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
        // What is beyond a quota is taken for others also where more of its queue waits for the node.
        for one in staying.filter(|one| reserved.is_none_or(|group| group == scheduler.group(&one.queue))) {
            let memory_mb = narrow(memory_mb + u64::from(one.room.memory_mb));
            // Cores that only slots stand for are no container's.
            let of_slots = scheduler.cores_of_slots_alone(node).into();
            let free =
                Capability::new(memory_mb, narrow((vcores + u64::from(one.room.vcores)).saturating_sub(of_slots)));
            let room = OfferedNode { tracker: &info.name, host: site.host, declared: free, free, free_slots: 0 };
            let short = self.applications.iter().find_map(|(id, book)| {
                let (app, request) = (inspection.app_of(*id)?, book.waits_for(site, room)?);
                let has_grant = self.granted.iter().any(|container| container.id.application == *id);
                let is_owed = !has_grant && self.is_owed(app, request, &book.submitted.queue, engine);
                (is_owed && scheduler.could_place(app, request, node)).then_some((id, request))
            });
            if let Some((id, request)) = short {
                let text = format!("{id} waits for {request} within its quota, and {one:?} stays");
                return refuse(Law::Guarantee, text);
            }
        }
        Ok(())
    }

    /// Whether a queue stays within its quota with a container, and the round has found it nothing and taken nothing from it.
    fn is_owed(&self, app: AppId, request: &RequestType, queue: &str, engine: &Engine) -> bool {
        let scheduler = engine.inspect().scheduler();
        let Some(group) = scheduler.group_of(app) else { return false };
        let waiting = scheduler.waiting(group);
        let is_of_queue = |book: &&super::ApplicationBook| *book.submitted.queue == *queue;
        let has_lost = self.preempted.iter().filter_map(|id| self.applications.get(&id.application));
        let has_lost = has_lost.filter(is_of_queue).count() > 0;
        let applications = self.applications.values().filter(is_of_queue).count();
        applications <= CONSIDERED
            && !has_lost
            && Kind::ALL.into_iter().all(|kind| waiting[kind] == 0)
            && !has_earmark(group, engine)
            && self.held_by(queue) + request.capability.slots(self.slot) <= quota_of(group, engine)
    }
}

/// What a queue has bought for containers beside the tasks that it retains.
pub(super) fn quota_of(group: GroupId, engine: &Engine) -> u32 {
    let scheduler = engine.inspect().scheduler();
    let bought = scheduler.allocation(group);
    bought.paid().left_for_containers(scheduler.retained(group))
}

/// Those that the quotas of their queues do not cover, in the order of their grants.
fn over_quota(candidates: &[ContainerCandidate], engine: &Engine) -> BTreeSet<(crate::model::ApplicationId, u64)> {
    let mut covered = std::collections::BTreeMap::<&str, u32>::new();
    let mut over = BTreeSet::new();
    for one in candidates {
        let sum = covered.entry(&one.queue).or_default();
        *sum += one.slots;
        let quota = engine.inspect().scheduler().group(&one.queue).map_or(0, |group| quota_of(group, engine));
        if *sum > quota {
            over.insert((one.id.application, one.id.number));
        }
    }
    over
}

/// Memory, MB, and cores that what is earmarked on a node leaves; none: more is earmarked than is there.
fn beside_earmarks(room: (u64, u64), node: TrackerId, engine: &Engine) -> Option<(u64, u64)> {
    let mut earmarks = engine.inspect().scheduler().earmarks_on(node).iter();
    earmarks.try_fold(room, |(memory_mb, vcores), earmark| {
        let memory_mb = memory_mb.checked_sub(earmark.room.memory_mb.into())?;
        Some((memory_mb, vcores.checked_sub(earmark.room.vcores.into())?))
    })
}

fn has_earmark(group: GroupId, engine: &Engine) -> bool {
    let inspection = engine.inspect();
    let scheduler = inspection.scheduler();
    let mut earmarks = inspection.trackers().flat_map(|node| scheduler.earmarks_on(node));
    earmarks.any(|earmark| scheduler.group_of(earmark.app) == Some(group))
}
