//! Room of nodes that is kept: for a type that waits at the head of the order, and for what a round of preemption has found it for.

use std::iter;

use crate::model::{Capability, Kind, PerKind, Pool, TrackerId};
use crate::scheduler::policy::Verdict;
use crate::scheduler::{AppId, Scheduler};

use super::bag::{Amount, Bag};
use super::state::WaitingHousekeeping;
use super::type_table::{NodeSite, SiteVerdict};
use super::{Earmark, RequestType};

impl Scheduler {
    pub(crate) fn reservation_on(&self, node: TrackerId) -> Option<(AppId, RequestType)> {
        self.bag(node)?.reserved
    }

    /// Whether a container of a type would fit on nodes, and all of them are kept for others.
    pub(crate) fn is_room_kept_from(&self, app: AppId, request: &RequestType) -> bool {
        let is_kept = |node: TrackerId| self.reservation_on(node).is_some_and(|(other, _)| other != app);
        let next = |from: TrackerId| self.containers.nodes.next(from, request.capability);
        // The first that is not kept ends the walk.
        let mut with_room = iter::successors(next(TrackerId::NONE), |node| next(node.next())).peekable();
        with_room.peek().is_some() && with_room.all(is_kept)
    }

    /// A type was the head of the order and found no room at a heartbeat of a node. At the second in a row the node is
    /// reserved for it, if no other is. True when it is reserved now.
    pub(super) fn note_starved(&mut self, node: TrackerId, id: AppId, request: RequestType) -> bool {
        let Some(bag) = self.bag_mut(node) else { return false };
        let waited = bag.starved.replace((id, request)) == Some((id, request));
        let is_free = waited && bag.reserved.is_none();
        let table = self.demand_mut(id).and_then(|demand| demand.types.get_mut(&request));
        let Some(table) = table.filter(|table| is_free && table.reserved_on.is_none()) else { return false };
        table.reserved_on = Some(node);
        if let Some(bag) = self.bag_mut(node) {
            bag.reserved = Some((id, request));
            bag.starved = None;
        }
        true
    }

    pub(in crate::scheduler) fn end_container_reservation(&mut self, node: TrackerId) {
        let Some((id, request)) = self.bag_mut(node).and_then(|bag| bag.reserved.take()) else { return };
        if let Some(table) = self.demand_mut(id).and_then(|demand| demand.types.get_mut(&request)) {
            table.reserved_on = None;
        }
        self.containers.freed.insert(node);
    }

    pub(super) fn drop_reservation_of(&mut self, id: AppId, request: RequestType) {
        let table = self.demand(id).and_then(|demand| demand.types.get(&request));
        if let Some(node) = table.and_then(|table| table.reserved_on) {
            self.end_container_reservation(node);
        }
    }

    /// Ends the reservation of a node that its type can no longer use.
    pub(super) fn check_container_reservation(&mut self, id: TrackerId) {
        let Some((app, request)) = self.reservation_on(id) else { return };
        if !self.can_use(id, app, &request) {
            self.end_container_reservation(id);
        }
    }

    pub(super) fn check_reservations_of(&mut self, id: AppId) {
        let types = self.demand(id).into_iter().flat_map(|demand| demand.types.values());
        let reserved: Vec<TrackerId> = types.filter_map(|table| table.reserved_on).collect();
        reserved.into_iter().for_each(|node| self.check_container_reservation(node));
    }

    fn can_use(&self, id: TrackerId, app: AppId, request: &RequestType) -> bool {
        let (Some(node), Some(demand)) = (self.nodes.get(&id), self.demand(app)) else { return false };
        let site = NodeSite::of(&self.topology, node.host);
        let (Some(bag), Some(table)) = (&node.bag, demand.types.get(request)) else { return false };
        let rules = self.level_rules(demand, table);
        self.is_grantable(app, request)
            && !demand.is_blacklisted(site)
            && request.capability.fits(bag.declared)
            && matches!(table.verdict(site, rules, true), SiteVerdict::Allowed(_))
            && matches!(self.review_container(app, id, request), Verdict::Ask(_))
    }

    /// Keeps room of nodes for what a round has found it for, and no other any more. No effect on nodes without a bag.
    pub(crate) fn set_earmarks(&mut self, earmarks: &[(TrackerId, Earmark)]) {
        for node in std::mem::take(&mut self.containers.earmarking) {
            if let Some(bag) = self.bag_mut(node) {
                bag.earmarked.clear();
                self.containers.freed.insert(node);
            }
        }
        for (node, earmark) in earmarks {
            if let Some(bag) = self.bag_mut(*node) {
                bag.earmarked.push(*earmark);
                self.containers.earmarking.insert(*node);
            }
        }
    }

    pub(crate) fn earmarks_on(&self, node: TrackerId) -> &[Earmark] {
        self.bag(node).map_or(&[], |bag| &bag.earmarked)
    }

    /// An earmark ends with a grant of its app there.
    pub(in crate::scheduler) fn end_earmark(&mut self, node: TrackerId, app: AppId, pool: Pool) {
        let Some(bag) = self.bag_mut(node) else { return };
        if let Some(kept) =
            bag.earmarked.iter().position(|earmark| (earmark.app, earmark.pool, earmark.is_setup) == (app, pool, false))
        {
            bag.earmarked.remove(kept);
        }
    }

    /// That of a setup ends when one is launched there.
    pub(in crate::scheduler) fn end_setup_earmark(&mut self, node: TrackerId) {
        let Some(bag) = self.bag_mut(node) else { return };
        if let Some(kept) = bag.earmarked.iter().position(|earmark| earmark.is_setup) {
            bag.earmarked.remove(kept);
        }
    }

    /// Slots of each kind that the bag of a node has room for beside what runs there and what is earmarked for others that
    /// come later; none: it has no bag, and no limit.
    pub(in crate::scheduler) fn room_for_tasks(&self, node: TrackerId) -> Option<PerKind<u32>> {
        let entry = self.nodes.get(&node)?;
        let (bag, slot) = (entry.bag.as_ref()?, self.containers.slot);
        // A container has no room while tasks run on cores that only slots stand for: these stay free for it too.
        let is_for_container = self.earmarked(bag, |earmark| earmark.pool == Pool::Container) != Amount::default();
        let free = match is_for_container {
            true => bag.free(entry.tasks(), slot),
            false => entry.room_for_tasks(entry.tasks(), slot)?,
        };
        let beside = |kind: Kind| {
            let earmarked = self.earmarked(bag, |earmark| earmark.pool > Pool::from(kind) || earmark.is_setup);
            earmarked.left_of(free).whole_slots(slot)
        };
        Some(PerKind::new(beside(Kind::Map), beside(Kind::Reduce)))
    }

    /// What a node has for a container of an application now: what is free beside what is earmarked for others and, between
    /// two heartbeats, beside the slots that waiting tasks may fill at the next one.
    pub(super) fn room_for_container(&self, id: TrackerId, app: AppId) -> Option<Capability> {
        let node = self.nodes.get(&id)?;
        let (bag, slot) = (node.bag.as_ref()?, self.containers.slot);
        let free = bag.free(node.tasks(), slot);
        let earmarked = self.earmarked(bag, |earmark| (earmark.app, earmark.pool) != (app, Pool::Container));
        let kept = slot.times(self.slots_kept_for_tasks(id));
        Some(earmarked.left_of(free).saturating_sub(kept))
    }

    /// Sets how many tasks wait that the caller launches itself: containers leave them room, as they do for other tasks.
    pub(crate) fn set_waiting_housekeeping(&mut self, waiting: WaitingHousekeeping) {
        self.containers.housekeeping = waiting;
    }

    /// Free slots of a node, as many as tasks wait for them: containers come after tasks, which are granted at heartbeats
    /// only. None at a heartbeat, where the tasks have had their turn.
    fn slots_kept_for_tasks(&self, id: TrackerId) -> u32 {
        let Some(node) = self.nodes.get(&id).filter(|_| self.containers.beating != Some(id)) else { return 0 };
        let WaitingHousekeeping { of_either_kind, of_kind } = self.containers.housekeeping;
        let free = |kind: Kind| node.slots[kind].saturating_sub(node.in_use(kind));
        let kept = |kind: Kind| {
            let waiting = u32::try_from(self.totals.waiting[kind]).unwrap_or(u32::MAX);
            free(kind).min(waiting.saturating_add(of_kind[kind]))
        };
        let kept = kept(Kind::Map).saturating_add(kept(Kind::Reduce)).saturating_add(of_either_kind);
        kept.min(free(Kind::Map).saturating_add(free(Kind::Reduce)))
    }

    /// The sum of some of what is earmarked, as far as those it is earmarked for still wait.
    fn earmarked(&self, bag: &Bag, counts: impl Fn(&Earmark) -> bool) -> Amount {
        let mut sum = Amount::default();
        for earmark in bag.earmarked.iter().filter(|earmark| counts(earmark)) {
            let waits = || self.apps.get(&earmark.app).is_some_and(|app| app.waiting(earmark.pool) > 0);
            if earmark.is_setup || waits() {
                sum.take(earmark.room);
            }
        }
        sum
    }
}
