//! Nodes whose room is kept for a type that waits at the head of the order and does not fit beside what runs.

use std::iter;

use crate::model::TrackerId;
use crate::scheduler::verdict::Verdict;
use crate::scheduler::{AppId, Scheduler};

use super::RequestType;
use super::container_table::{NodeSite, SiteVerdict};

impl Scheduler {
    /// The application and type that the room of a node is kept for.
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

    /// Keeps the room of a node no more.
    pub(in crate::scheduler) fn end_container_reservation(&mut self, node: TrackerId) {
        let Some((id, request)) = self.bag_mut(node).and_then(|bag| bag.reserved.take()) else { return };
        if let Some(table) = self.demand_mut(id).and_then(|demand| demand.types.get_mut(&request)) {
            table.reserved_on = None;
        }
        self.containers.freed.insert(node);
    }

    /// Ends the reservation of a type, if it has one.
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

    /// The same of all that are kept for an application.
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
}
