//! Law 3 for containers: nothing is granted to a queue beyond its quota, nor left there by a round of preemption, while a
//! queue within its own waits for a container that could have the room.

use std::collections::BTreeMap;

use crate::engine::{Engine, RequestType};
use crate::model::{Capability, Kind, TrackerId};
use crate::scheduler::{AppId, GroupId};
use crate::sim::laws::law::Law;

use super::request_book::Site;
use super::victims::{ContainerCandidate, ContainerRound, quota_of};
use super::{ApplicationBook, Container, ContainerBook, ContainerBooks, Judged, OfferedNode, refuse};

/// Rounds may leave applications of a queue out that come after so many others.
const CONSIDERED: usize = 16;

impl ContainerBooks {
    /// Checks a node on which a round took `victims` and left `staying` beyond their quotas. Judges what is certain: rows
    /// that know no delay, and queues that got nothing from the round or after it.
    pub(super) fn check_guarantee<'a>(
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

impl ContainerBooks {
    /// Checks the last grant of each queue in a step; after it the queue holds what it holds at the end. Not of a step whose round
    /// of preemption has made room: it is for the queues that the round chose, by what stays once all that is to end has ended.
    pub(in crate::sim::laws) fn short_queues_first(&self, most_of_one: u32, engine: &Engine) -> Result<(), String> {
        if self.has_preempted() {
            return Ok(());
        }
        let mut last: BTreeMap<&str, &Container> = BTreeMap::new();
        for container in &self.granted {
            if let Some(book) = self.applications.get(&container.id.application) {
                last.insert(&book.submitted.queue, container);
            }
        }
        last.retain(|queue, _| !self.stays_within(queue, 0, engine));
        for (favoured, container) in last {
            let node = engine.inspect().tracker_id_of(&container.node.tracker);
            let is_kept =
                node.is_none_or(|node| self.earmarked_on(node) != (0, 0) || self.kept.reserved.contains(&node));
            if is_kept {
                continue;
            }
            // One that has got something since wants something else now.
            let since = || self.granted.iter().rev().take_while(|later| later.id != container.id);
            let short = self.applications.iter().find_map(|(id, book)| {
                if since().any(|later| later.id.application == *id) {
                    return None;
                }
                let is_short = *book.submitted.queue != *favoured && self.is_short(&book.submitted.queue, engine);
                let waits = if is_short { self.could_use(book, container, most_of_one) } else { None };
                waits.map(|waits| (id, &book.submitted.queue, waits))
            });
            if let Some((application, queue, waits)) = short {
                let id = container.id;
                return Err(format!(
                    "{id} goes to {favoured} beyond its quota while {application} of {queue}, within its, waits for {waits}"
                ));
            }
        }
        Ok(())
    }

    /// Slots that live containers of a queue stand for.
    pub(in crate::sim::laws) fn held_by(&self, queue: &str) -> u32 {
        let of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue);
        let live = of_queue.flat_map(|book| book.containers.values()).filter(|container| container.is_live());
        live.map(|container| container.request.capability.slots(self.slot)).sum()
    }

    /// Whether a queue that pays stays within its quota with so many slots more.
    fn stays_within(&self, queue: &str, more: u32, engine: &Engine) -> bool {
        let scheduler = engine.inspect().scheduler();
        let Some(group) = scheduler.group(queue) else { return false };
        let bought = scheduler.allocation(group);
        bought.rate_units > 0 && self.held_by(queue) + more <= bought.quota.left_for_containers(scheduler.usage(group))
    }

    /// Whether it does whatever its applications get next.
    fn is_short(&self, queue: &str, engine: &Engine) -> bool {
        let of_queue = self.applications.values().filter(|book| *book.submitted.queue == *queue && book.may_get_more());
        let types = of_queue.flat_map(|book| &book.requests.types).filter(|(_, book)| book.wanted() > 0);
        let largest = types.map(|(request, _)| request.capability.slots(self.slot)).max();
        largest.is_some_and(|slots| self.stays_within(queue, slots, engine))
    }

    /// What an application waits for and could have instead of a container.
    fn could_use<'a>(
        &self,
        book: &'a ApplicationBook,
        instead: &Container,
        most_of_one: u32,
    ) -> Option<&'a RequestType> {
        let live = book.containers.values().filter(|container: &&ContainerBook| container.is_live()).count();
        let site = Site { host: &instead.node.host, rack: &instead.node.rack };
        let free: Capability = instead.request.capability;
        let node = OfferedNode { tracker: &instead.node.tracker, host: site.host, declared: free, free, free_slots: 0 };
        (live < most_of_one as usize).then(|| book.waits_for(site, node)).flatten()
    }
}
