//! Granting containers: a node with room is offered to the applications in their order, at its heartbeat and whenever it gets room.

use std::collections::BTreeMap;

use crate::model::{Pool, TrackerId};
use crate::scheduler::order::OrderEntry;
use crate::scheduler::policy::{OfferedContainer, Verdict};
use crate::scheduler::{AppId, SKIP_BUDGET, Scheduler};

use super::demand::ContainerDemand;
use super::offering::OfferOutcome;
use super::{ContainerSource, RequestType};

/// The offers of one node.
#[derive(Default)]
struct NodeWalk {
    is_heartbeat: bool,
    /// Where the walk of all applications resumes; none: by the order.
    resume: Option<OrderEntry>,
    /// Applications that are out of the order until the walk ends.
    passed_over: Vec<AppId>,
    /// Applications that a limit took out of the order, since the last grant: it may have let them return.
    parked: u32,
    /// Those of them that limits may let have another type on another node.
    parked_here: Vec<AppId>,
    /// Applications that stand by the slots of what this node would give them, not of their first types.
    placed: BTreeMap<AppId, u32>,
    granted: u32,
}

impl Scheduler {
    /// Grants containers on a node at its heartbeat, after its tasks were assigned. Returns how many. Call it once a
    /// heartbeat, since delays and reservations count heartbeats, and [`Self::grant_containers`] after it.
    pub(crate) fn grant_containers_on(&mut self, node: TrackerId, source: &mut impl ContainerSource) -> u32 {
        if let Some(bag) = self.bag_mut(node) {
            bag.missed.clear();
        }
        self.containers.freed.remove(&node);
        self.containers.beating = Some(node);
        let granted = self.offer_node(node, true, source);
        self.containers.has_woken = false;
        granted
    }

    /// Grants what has become possible since the last call: on nodes that got room, and for applications that asked.
    /// Returns how many. Call it after each event that asks for containers, ends one, or removes an application. The cost
    /// does not depend on nodes that have no room or get nothing.
    pub(crate) fn grant_containers(&mut self, source: &mut impl ContainerSource) -> u32 {
        let mut granted = self.offer_again(source);
        loop {
            if let Some(node) = self.containers.freed.pop_first() {
                granted += self.offer_node(node, false, source);
            } else if !self.containers.asked.is_empty() {
                granted += self.serve_asking(source);
            } else {
                self.containers.beating = None;
                return granted;
            }
        }
    }

    /// Offers the node that had its heartbeat to what a limit has let go since.
    fn offer_again(&mut self, source: &mut impl ContainerSource) -> u32 {
        let has_woken = std::mem::take(&mut self.containers.has_woken);
        let beating = self.containers.beating.filter(|_| has_woken);
        beating.map_or(0, |node| self.offer_node(node, false, source))
    }

    /// Offers a node to all applications in their order.
    pub(super) fn offer_node(&mut self, node: TrackerId, is_heartbeat: bool, source: &mut impl ContainerSource) -> u32 {
        self.check_container_reservation(node);
        let Some(entry) = self.nodes.get_mut(&node) else { return 0 };
        if entry.bag.as_ref().is_none_or(|bag| !bag.takes_containers) {
            return 0;
        }
        // A reserved node is not offered to applications behind the one that it is reserved for.
        let is_reserved = entry.bag.as_ref().is_some_and(|bag| bag.reserved.is_some());
        let resume = entry.resume.container.take().filter(|_| !is_reserved);
        let mut walk = NodeWalk { is_heartbeat, resume, ..NodeWalk::default() };
        let earmarks = self.earmarks_on(node).len();
        self.walk_order(node, &mut walk, source);
        walk.passed_over.into_iter().for_each(|app| self.enqueue(app, Pool::Container));
        walk.parked_here.into_iter().for_each(|app| self.wake_app(app, Pool::Container));
        walk.placed.into_keys().for_each(|app| self.update_slots_of_next(app, Pool::Container));
        // What was kept for one that took less is there for those that were passed over before.
        match self.earmarks_on(node).len() < earmarks {
            true => walk.granted + self.offer_node(node, false, source),
            false => walk.granted,
        }
    }

    fn walk_order(&mut self, node: TrackerId, walk: &mut NodeWalk, source: &mut impl ContainerSource) {
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
            if resumed.is_none() && self.place_by_offer(node, next.app, walk) {
                continue;
            }
            let is_head = walk.passed_over.is_empty() && resumed.is_none();
            let outcome = self.offer_container(node, next.app, None, source);
            match outcome {
                OfferOutcome::Granted(_) => {
                    walk.granted += 1;
                    walk.parked = 0;
                    walk.placed.remove(&next.app);
                    continue;
                }
                OfferOutcome::Limited(verdict) if self.park(next.app, verdict) => {
                    walk.parked += 1;
                    if verdict == Verdict::ParkApp && self.has_permitted_type(next.app) {
                        walk.parked_here.push(next.app);
                    }
                    continue;
                }
                OfferOutcome::Limited(Verdict::Stop) => break,
                _ => {}
            }
            if is_head && let OfferOutcome::NoRoom(request) = outcome {
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

    /// Places an application by the slots of what a node would give it: its first type may be of no use there. Whether it
    /// stood by others, and may have another place now.
    fn place_by_offer(&mut self, node: TrackerId, app: AppId, walk: &mut NodeWalk) -> bool {
        let Some(slots) = self.slots_of_another_type(node, app) else { return false };
        let of_next = || self.demand(app).map_or(0, ContainerDemand::slots_of_next);
        if walk.placed.get(&app).copied().unwrap_or_else(of_next) == slots {
            return false;
        }
        walk.placed.insert(app, slots);
        self.place_by_slots(app, Pool::Container, slots);
        true
    }

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

    pub(super) fn review_container(&self, id: AppId, node: TrackerId, request: &RequestType) -> Verdict {
        let (app, node) = (self.apps.get(&id), self.nodes.get(&node));
        let Some((app, node)) = app.zip(node) else { return Verdict::NotOnThisNode };
        let slot = self.containers.slot;
        let offered = OfferedContainer::new(request.capability.slots(slot), node.blocked_by(request.capability, slot));
        self.policy.review_container(app, &offered, &self.view())
    }

    /// Whether a limit of the policy keeps an application from a container of a type, on every node.
    pub(crate) fn is_container_limited(&self, id: AppId, request: &RequestType) -> bool {
        let Some(app) = self.apps.get(&id) else { return false };
        let offered = OfferedContainer::new(request.capability.slots(self.containers.slot), 0);
        !matches!(self.policy.review_container(app, &offered, &self.view()), Verdict::Ask(_))
    }

    /// Whether limits let an application have some type that could be granted, on nodes that its rows allow.
    pub(super) fn has_permitted_type(&self, id: AppId) -> bool {
        let is_permitted = |(request, _): &(RequestType, u32)| !self.is_container_limited(id, request);
        self.grantable_containers(id).iter().any(is_permitted)
    }
}
