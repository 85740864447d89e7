//! Granting containers: a node with room is offered to the applications in their order, at its heartbeat and whenever it
//! gets room; an application that asks is offered the nodes with room that its rows name, then others.

use std::collections::BTreeSet;

use crate::model::{Pool, TrackerId};
use crate::scheduler::order::OrderEntry;
use crate::scheduler::verdict::Verdict;
use crate::scheduler::{AppId, RackId, SKIP_BUDGET, Scheduler};

use super::container_table::ContainerTable;
use super::offering::Outcome;
use super::{ContainerSource, RequestType};

/// The offers of one node.
struct Walk {
    is_heartbeat: bool,
    /// Where the walk of all applications resumes; none: by the order.
    resume: Option<OrderEntry>,
    /// Applications that are out of the order until the walk ends.
    passed_over: Vec<AppId>,
    /// Applications that a limit took out of the order.
    parked: u32,
    granted: u32,
}

/// The offers of nodes to one type of an application.
struct Search {
    app: AppId,
    request: RequestType,
    granted: u32,
    /// Nodes that were offered in vain.
    vain: u32,
    /// Whether it may use no more nodes: it wants nothing more, or none as far away now, or has met too many in vain.
    is_over: bool,
}

// === impl Scheduler: granting containers ===

impl Scheduler {
    /// Grants containers on a node at its heartbeat, after its tasks were assigned. Returns how many. Call it once a
    /// heartbeat, since delays and reservations count heartbeats, and [`Self::grant_containers`] after it.
    pub fn grant_containers_on(&mut self, node: TrackerId, source: &mut impl ContainerSource) -> u32 {
        if let Some(bag) = self.bag_mut(node) {
            bag.missed.clear();
        }
        self.containers.freed.remove(&node);
        self.containers.beating = Some(node);
        let granted = self.offer_node(node, true, source);
        self.containers.beating = None;
        granted
    }

    /// Grants what has become possible since the last call: on nodes that got room, and for applications that asked.
    /// Returns how many. Call it after each event that asks for containers, ends one, or removes an application. The cost
    /// does not depend on nodes that have no room or get nothing.
    pub fn grant_containers(&mut self, source: &mut impl ContainerSource) -> u32 {
        let mut granted = 0;
        loop {
            if let Some(node) = self.containers.freed.pop_first() {
                granted += self.offer_node(node, false, source);
            } else if let Some(app) = self.containers.asked.pop_first() {
                granted += self.serve_app(app, source);
            } else {
                return granted;
            }
        }
    }

    fn offer_node(&mut self, node: TrackerId, is_heartbeat: bool, source: &mut impl ContainerSource) -> u32 {
        self.check_container_reservation(node);
        let Some(entry) = self.nodes.get_mut(&node) else { return 0 };
        if entry.bag.as_ref().is_none_or(|bag| !bag.takes_containers) {
            return 0;
        }
        // A reserved node is not offered to applications behind the one that it is reserved for.
        let is_reserved = entry.bag.as_ref().is_some_and(|bag| bag.reserved.is_some());
        let resume = entry.resume.container.take().filter(|_| !is_reserved);
        let mut walk = Walk { is_heartbeat, resume, passed_over: Vec::new(), parked: 0, granted: 0 };
        let earmarks = self.earmarks_on(node).len();
        self.walk_order(node, &mut walk, source);
        walk.passed_over.into_iter().for_each(|app| self.enqueue(app, Pool::Container));
        // What was kept for one that took less is there for those that were passed over before.
        match self.earmarks_on(node).len() < earmarks {
            true => walk.granted + self.offer_node(node, false, source),
            false => walk.granted,
        }
    }

    fn walk_order(&mut self, node: TrackerId, walk: &mut Walk, source: &mut impl ContainerSource) {
        let mut head = None;
        loop {
            self.sort_groups(Pool::Container);
            let order = &self.orders.container;
            let resumed = walk.resume.as_ref().and_then(|from| order.at_or_after(from));
            if resumed.is_none() {
                walk.resume = None;
            }
            let Some(next) = resumed.or_else(|| order.first()) else { break };
            if walk.passed_over.len() + walk.parked as usize >= SKIP_BUDGET as usize {
                if let Some(node) = self.nodes.get_mut(&node) {
                    node.resume.container = Some(resumed.unwrap_or(OrderEntry::FRONT));
                }
                break;
            }
            let is_head = walk.passed_over.is_empty() && resumed.is_none();
            let outcome = self.offer_container(node, next.app, None, source);
            match outcome {
                Outcome::Granted(_) => {
                    walk.granted += 1;
                    continue;
                }
                Outcome::Limited(verdict) if self.park(next.app, verdict) => {
                    walk.parked += 1;
                    continue;
                }
                Outcome::Limited(Verdict::Stop) => break,
                _ => {}
            }
            if is_head && let Outcome::NoRoom(request) = outcome {
                head = Some((next.app, request));
                if walk.is_heartbeat && self.note_starved(node, next.app, request) {
                    break;
                }
            }
            // What is reserved is kept from all that come later.
            let is_reserved = self.reservation_on(node).is_some_and(|(app, _)| app == next.app);
            if is_reserved || !self.has_room(node) {
                break;
            }
            self.dequeue(next.app, Pool::Container);
            walk.passed_over.push(next.app);
        }
        if walk.is_heartbeat
            && let Some(bag) = self.bag_mut(node)
            && bag.starved != head
        {
            bag.starved = None;
        }
    }

    /// Takes what a limit refuses out of the order; whether it is out.
    fn park(&mut self, app: AppId, verdict: Verdict) -> bool {
        match verdict {
            Verdict::ParkApp => {
                self.park_app(app, Pool::Container);
                true
            }
            Verdict::ParkGroup(group) => self.park_group(app, group, Pool::Container),
            _ => false,
        }
    }

    fn has_room(&self, node: TrackerId) -> bool {
        self.free_for_containers(node).is_some_and(|free| free.memory_mb > 0 && free.vcores > 0)
    }

    /// Offers an application the nodes with room: for each type those of its host rows, of its rack rows, then any, in
    /// order of node number.
    fn serve_app(&mut self, app: AppId, source: &mut impl ContainerSource) -> u32 {
        let Some(demand) = self.demand(app) else { return 0 };
        let requests: Vec<RequestType> = demand.types.keys().copied().collect();
        let mut granted = 0;
        for request in requests {
            let mut search = Search { app, request, granted: 0, vain: 0, is_over: false };
            self.serve_hosts(&mut search, source);
            // A node that was too far away says nothing of another one on a host with a row.
            search.is_over = !self.is_grantable(app, &request);
            self.serve_racks(&mut search, source);
            self.serve_any(&mut search, source);
            granted += search.granted;
        }
        granted
    }

    fn serve_hosts(&mut self, search: &mut Search, source: &mut impl ContainerSource) {
        let table = self.demand(search.app).and_then(|demand| demand.types.get(&search.request));
        let hosts = table.into_iter().flat_map(ContainerTable::wanted_hosts);
        let hosts = hosts.filter_map(|host| self.topology.host(&host));
        let capability = search.request.capability;
        let nodes: BTreeSet<TrackerId> =
            hosts.flat_map(|host| self.containers.nodes.on_host(host, capability)).collect();
        nodes.into_iter().for_each(|node| self.serve_on(node, search, source));
    }

    fn serve_racks(&mut self, search: &mut Search, source: &mut impl ContainerSource) {
        let table = self.demand(search.app).and_then(|demand| demand.types.get(&search.request));
        let racks = table.into_iter().flat_map(ContainerTable::wanted_racks);
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

    fn serve_any(&mut self, search: &mut Search, source: &mut impl ContainerSource) {
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

    /// Offers a node to an application until it gets nothing more there.
    fn serve_on(&mut self, node: TrackerId, search: &mut Search, source: &mut impl ContainerSource) {
        let Search { app, request, granted: before, .. } = *search;
        let is_reserved = self.reservation_on(node).is_some_and(|(other, _)| other != app);
        while !is_reserved && self.is_grantable(app, &request) {
            match self.offer_container(node, app, Some(request), source) {
                Outcome::Granted(_) => search.granted += 1,
                Outcome::Delayed(delayed) if delayed == request => {
                    search.is_over = true;
                    return;
                }
                Outcome::Limited(Verdict::ParkApp | Verdict::ParkGroup(_) | Verdict::Stop) => {
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
