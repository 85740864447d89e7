//! Serving applications that ask: each is offered the nodes with room that its rows name, then others.

use std::collections::BTreeSet;

use crate::model::{Pool, TrackerId};
use crate::scheduler::order::{MemberStanding, OrderEntry};
use crate::scheduler::{AppId, RackId, SKIP_BUDGET, Scheduler};

use super::demand::ContainerDemand;
use super::offering::OfferOutcome;
use super::type_table::TypeTable;
use super::{ContainerSource, RequestType};

struct NodeSearch {
    app: AppId,
    request: RequestType,
    granted: u32,
    /// Nodes that were offered in vain.
    vain: u32,
    /// Whether it may use no more nodes: it wants nothing more, or none as far away now, or has met too many in vain.
    is_over: bool,
}

impl Scheduler {
    /// Serves the applications that ask, in the order in which they stand.
    pub(super) fn serve_asking(&mut self, source: &mut impl ContainerSource) -> u32 {
        self.sort_groups(Pool::Container);
        let asking = std::mem::take(&mut self.containers.asked);
        // One that stands nowhere wants nothing, or a limit keeps it from all that it wants.
        let line: BTreeSet<MemberStanding> = asking.into_iter().filter_map(|app| self.standing_of(app)).collect();
        line.into_iter().map(|standing| self.serve_app(standing.app(), source)).sum()
    }

    fn standing_of(&self, id: AppId) -> Option<MemberStanding> {
        let app = self.apps.get(&id)?;
        let app_key = app.ordered_by.container?;
        self.orders.container.standing_of(OrderEntry { leaf: app.leaf, app_key, app: id })
    }

    /// Whether an application stands before another one, or the other one stands nowhere.
    pub(super) fn stands_before(&self, app: AppId, other: AppId) -> bool {
        let (own, other) = (self.standing_of(app), self.standing_of(other));
        own.is_some() && other.is_none_or(|other| own < Some(other))
    }

    /// Whether an application stands first, by what a node would give it.
    fn comes_first(&mut self, node: TrackerId, app: AppId) -> bool {
        self.sort_groups(Pool::Container);
        let of_next = self.demand(app).map_or(0, ContainerDemand::slots_of_next);
        let is_placed_right = self.slots_of_another_type(node, app).is_none_or(|slots| slots == of_next);
        is_placed_right && self.orders.container.first().is_some_and(|first| first.app == app)
    }

    /// Offers an application the nodes with room: for each type those of its host rows, of its rack rows, then any, in
    /// order of node number.
    fn serve_app(&mut self, app: AppId, source: &mut impl ContainerSource) -> u32 {
        let Some(demand) = self.demand(app) else { return 0 };
        let requests: Vec<RequestType> = demand.types.keys().copied().collect();
        let mut granted = 0;
        for request in requests {
            let mut search = NodeSearch { app, request, granted: 0, vain: 0, is_over: false };
            self.serve_hosts(&mut search, source);
            // A node that was too far away says nothing of another one on a host with a row.
            search.is_over = !self.is_grantable(app, &request);
            self.serve_racks(&mut search, source);
            self.serve_any(&mut search, source);
            granted += search.granted;
        }
        granted
    }

    fn serve_hosts(&mut self, search: &mut NodeSearch, source: &mut impl ContainerSource) {
        let table = self.demand(search.app).and_then(|demand| demand.types.get(&search.request));
        let hosts = table.into_iter().flat_map(TypeTable::wanted_hosts);
        let hosts = hosts.filter_map(|host| self.topology.host(&host));
        let capability = search.request.capability;
        let nodes: BTreeSet<TrackerId> =
            hosts.flat_map(|host| self.containers.nodes.on_host(host, capability)).collect();
        nodes.into_iter().for_each(|node| self.serve_on(node, search, source));
    }

    fn serve_racks(&mut self, search: &mut NodeSearch, source: &mut impl ContainerSource) {
        let table = self.demand(search.app).and_then(|demand| demand.types.get(&search.request));
        let racks = table.into_iter().flat_map(TypeTable::wanted_racks);
        let racks = racks.filter_map(|rack| self.topology.rack(&rack));
        let capability = search.request.capability;
        let next = |scheduler: &Scheduler, rack: RackId, from: TrackerId| {
            Some((scheduler.containers.nodes.next_in_rack(rack, from, capability)?, rack))
        };
        let mut nodes: BTreeSet<_> = racks.filter_map(|rack| next(self, rack, TrackerId::NONE)).collect();
        while let Some((node, rack)) = nodes.pop_first()
            && !search.is_over
        {
            self.serve_on(node, search, source);
            nodes.extend(next(self, rack, node.next()));
        }
    }

    fn serve_any(&mut self, search: &mut NodeSearch, source: &mut impl ContainerSource) {
        let table = self.demand(search.app).and_then(|demand| demand.types.get(&search.request));
        search.is_over |= table.is_none_or(|table| !table.may_leave_rows());
        let mut from = TrackerId::NONE;
        while !search.is_over
            && let Some(node) = self.containers.nodes.next(from, search.request.capability)
        {
            self.serve_on(node, search, source);
            from = node.next();
        }
    }

    /// Offers a node to an application until it gets nothing more there. A node of which it would get something is offered to
    /// all in their order first, unless it stands before them: others may wait whose room has come free since.
    fn serve_on(&mut self, node: TrackerId, search: &mut NodeSearch, source: &mut impl ContainerSource) {
        let NodeSearch { app, request, granted: before, .. } = *search;
        let is_reserved = self.reservation_on(node).is_some_and(|(other, _)| other != app);
        let mut is_offered_to_all = false;
        while !is_reserved && self.is_grantable(app, &request) {
            if !is_offered_to_all && self.would_grant(node, app) && !self.comes_first(node, app) {
                is_offered_to_all = true;
                search.granted += self.offer_node(node, false, source);
                continue;
            }
            match self.offer_container(node, app, Some(request), source) {
                OfferOutcome::Granted(_) => search.granted += 1,
                OfferOutcome::Delayed(delayed) if delayed == request => {
                    search.is_over = true;
                    return;
                }
                // Where an earlier type is limited, another node may have this one.
                OfferOutcome::Limited(_) if self.is_container_limited(app, &request) => {
                    search.is_over = true;
                    return;
                }
                _ => break,
            }
        }
        search.vain += u32::from(search.granted == before);
        search.is_over = search.vain >= SKIP_BUDGET || !self.is_grantable(app, &request);
    }
}
