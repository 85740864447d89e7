//! Granting containers: a node with room is offered to the applications in their order, at its heartbeat and whenever it
//! gets room.

use crate::model::{Pool, TrackerId};
use crate::scheduler::order::OrderEntry;
use crate::scheduler::verdict::Verdict;
use crate::scheduler::{AppId, SKIP_BUDGET, Scheduler};

use super::ContainerSource;
use super::offering::Outcome;

/// The offers of one node.
struct Walk {
    is_heartbeat: bool,
    /// Where the walk of all applications resumes; none: by the order.
    resume: Option<OrderEntry>,
    /// Applications that are out of the order until the walk ends.
    passed_over: Vec<AppId>,
    /// Applications that a limit took out of the order, since the last grant: it may have let them return.
    parked: u32,
    /// Those of them that limits may let have another type on another node.
    parked_here: Vec<AppId>,
    granted: u32,
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
        (self.containers.offered, self.containers.has_woken) = (Some(node), false);
        granted
    }

    /// Grants what has become possible since the last call: on nodes that got room, and for applications that asked.
    /// Returns how many. Call it after each event that asks for containers, ends one, or removes an application. The cost
    /// does not depend on nodes that have no room or get nothing.
    pub fn grant_containers(&mut self, source: &mut impl ContainerSource) -> u32 {
        let mut granted = self.offer_again(source);
        loop {
            if let Some(node) = self.containers.freed.pop_first() {
                granted += self.offer_node(node, false, source);
            } else if !self.containers.asked.is_empty() {
                granted += self.serve_asking(source);
            } else {
                return granted;
            }
        }
    }

    /// Offers the node that had its heartbeat to what a limit has let go since.
    fn offer_again(&mut self, source: &mut impl ContainerSource) -> u32 {
        let offered = self.containers.offered.take().filter(|_| std::mem::take(&mut self.containers.has_woken));
        let Some(node) = offered else { return 0 };
        self.containers.beating = Some(node);
        let granted = self.offer_node(node, false, source);
        self.containers.beating = None;
        granted
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
        let mut walk =
            Walk { is_heartbeat, resume, passed_over: Vec::new(), parked: 0, parked_here: Vec::new(), granted: 0 };
        let earmarks = self.earmarks_on(node).len();
        self.walk_order(node, &mut walk, source);
        walk.passed_over.into_iter().for_each(|app| self.enqueue(app, Pool::Container));
        walk.parked_here.into_iter().for_each(|app| self.wake_app(app, Pool::Container));
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
                    walk.parked = 0;
                    continue;
                }
                Outcome::Limited(verdict) if self.park(next.app, verdict) => {
                    walk.parked += 1;
                    if verdict == Verdict::ParkApp && self.has_permitted_type(next.app) {
                        walk.parked_here.push(next.app);
                    }
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
}
