//! The assignment loop: one heartbeat, slot by slot.
//!
//! Each slot goes to the first app in the order that may have it. An app without a task for this node, or whose tasks need more slots than
//! are left, is passed over: it leaves the order for the rest of the heartbeat, so that the next app becomes the first.

use crate::model::{Kind, PerKind, TrackerId};

use super::change::{AskedApp, Change, GrantedTask};
use super::node::Node;
use super::order::OrderEntry;
use super::policy::{Heartbeat, HeartbeatLimits, Verdict};
use super::{
    AppId, AssignmentReport, Distance, GrantResult, GrantSource, HostId, Level, NodeOffer, Scheduler, TaskOrigin,
};

struct AppSearch {
    limits: HeartbeatLimits,
    /// Where the walk of all apps resumes; none: by the order.
    resume: Option<OrderEntry>,
    /// Apps that are out of the order until the heartbeat ends.
    passed_over: Vec<AppId>,
    skipped: u32,
}

impl Scheduler {
    /// Fills the free slots of a node. Granted tasks count as running when this returns.
    pub fn assign_slots(&mut self, offer: NodeOffer, source: &mut impl GrantSource) -> AssignmentReport {
        let NodeOffer { node: id, now, .. } = offer;
        let room = self.room_for_tasks(id);
        let Some(node) = self.nodes.get_mut(&id) else { return AssignmentReport::default() };
        let free = within(offer.free, room);
        let offer = NodeOffer { free, ..offer };
        let in_use = PerKind::new(node.in_use(Kind::Map), node.in_use(Kind::Reduce));
        node.reported = Some((in_use, now));
        self.notify(&Change::HeartbeatStarted { node: id, in_use, now });
        let mut heartbeat = Heartbeat::new(id, now, free);
        let mut searches = PerKind::new(self.start_search(Kind::Map, &offer), self.start_search(Kind::Reduce, &offer));
        for kind in Kind::ALL {
            heartbeat.is_open[kind] = searches[kind].as_ref().is_some_and(|search| search.limits.limit > 0);
        }
        while let Some(kind) = self.policy.next_kind(&heartbeat).filter(|&kind| heartbeat.is_open[kind]) {
            let Some(search) = &mut searches[kind] else { break };
            let granted = self.fill_slot(kind, &mut heartbeat, search, source);
            heartbeat.is_open[kind] = granted && can_grant_more(kind, &heartbeat, &search.limits);
        }

        let mut report = AssignmentReport { granted: heartbeat.granted, ..AssignmentReport::default() };
        for kind in Kind::ALL {
            if kind == Kind::Map {
                report.leaves_maps_free = free.map > heartbeat.granted_slots.map;
            }
            let Some(search) = std::mem::take(&mut searches[kind]) else { continue };
            report.skipped += search.skipped;
            self.end_search(kind, &offer, &heartbeat, search);
        }
        self.notify(&Change::HeartbeatEnded);
        report
    }

    /// None when no slot is free or no app waits.
    fn start_search(&mut self, kind: Kind, offer: &NodeOffer) -> Option<AppSearch> {
        let node = self.nodes.get_mut(&offer.node)?;
        let has_candidates = !self.orders[kind].is_empty() || node.reserved[kind].is_some();
        if offer.free[kind] == 0 || !has_candidates {
            node.withheld[kind] = false;
            if offer.free[kind] > 0 {
                self.sort_groups(kind.into());
            }
            return None;
        }
        let limits = self.policy.heartbeat_limits(kind, offer.free[kind], node, &self.totals);
        let resume = node.resume[kind].take();
        Some(AppSearch { limits, resume, passed_over: Vec::new(), skipped: 0 })
    }

    fn end_search(&mut self, kind: Kind, offer: &NodeOffer, heartbeat: &Heartbeat, search: AppSearch) {
        let (free, granted, limit) = (offer.free[kind], heartbeat.granted[kind], search.limits.limit);
        let withheld = granted == limit && limit < free && !self.orders[kind].is_empty();
        if let Some(node) = self.nodes.get_mut(&offer.node) {
            node.withheld[kind] = withheld;
        }
        let slots = heartbeat.granted_slots[kind];
        self.violations
            .check(slots <= free, || format!("{slots} slots are granted of {free} free slots of {}", offer.node));
        search.passed_over.into_iter().for_each(|app| self.enqueue(app, kind.into()));
    }

    /// Grants one task to the first app that may have it; false when the search is over.
    fn fill_slot(
        &mut self,
        kind: Kind,
        heartbeat: &mut Heartbeat,
        search: &mut AppSearch,
        source: &mut impl GrantSource,
    ) -> bool {
        if self.policy.asks_for_each_slot() {
            search.passed_over.drain(..).for_each(|app| self.enqueue(app, kind.into()));
        }
        self.sort_groups(kind.into());
        if let Some(granted) = self.fill_reserved_slot(kind, heartbeat, source) {
            return granted;
        }
        loop {
            let order = &self.orders[kind];
            let resumed = search.resume.as_ref().and_then(|from| order.at_or_after(from));
            if resumed.is_none() {
                search.resume = None;
            }
            let Some(next) = resumed.or_else(|| order.first()) else { return false };
            if search.limits.only_app.is_some_and(|only_app| only_app != next.app) {
                return false;
            }
            if search.skipped >= search.limits.skip_budget {
                if let Some(node) = self.nodes.get_mut(&heartbeat.node) {
                    node.resume[kind] = Some(resumed.unwrap_or(OrderEntry::FRONT));
                }
                return false;
            }
            match self.review(next.app, kind, heartbeat) {
                Verdict::Ask(farthest) => {
                    if self.ask_for_task(next.app, kind, farthest, heartbeat, source) {
                        return true;
                    }
                }
                Verdict::NotOnThisNode => {}
                Verdict::ParkApp => {
                    self.park_app(next.app, kind.into());
                    continue;
                }
                Verdict::ParkGroup(group) => {
                    if self.park_group(next.app, group, kind.into()) {
                        continue;
                    }
                }
                Verdict::Reserve => {
                    self.reserve(heartbeat.node, kind, next.app, heartbeat.free[kind], heartbeat.now);
                    return false;
                }
                Verdict::Stop => return false,
            }
            self.dequeue(next.app, kind.into());
            search.passed_over.push(next.app);
            search.skipped += 1;
        }
    }

    /// Offers a slot of a reserved node to the app that it is reserved for; none when it is not reserved, else whether a task was granted.
    fn fill_reserved_slot(
        &mut self,
        kind: Kind,
        heartbeat: &mut Heartbeat,
        source: &mut impl GrantSource,
    ) -> Option<bool> {
        let id = self.nodes.get(&heartbeat.node)?.reserved[kind]?.app;
        let app = self.apps.get(&id)?;
        if !self.policy.can_use_reservation(app, kind, heartbeat) {
            self.reserve(heartbeat.node, kind, id, heartbeat.free[kind], heartbeat.now);
            return Some(false);
        }
        self.end_reservation(heartbeat.node, kind);
        Some(self.ask_for_task(id, kind, Level::Any, heartbeat, source))
    }

    fn review(&self, id: AppId, kind: Kind, heartbeat: &Heartbeat) -> Verdict {
        let Some(app) = self.apps.get(&id) else { return Verdict::Stop };
        self.policy.review(app, kind, heartbeat, &self.view())
    }

    fn ask_for_task(
        &mut self,
        id: AppId,
        kind: Kind,
        farthest: Level,
        heartbeat: &mut Heartbeat,
        source: &mut impl GrantSource,
    ) -> bool {
        let (Some(app), Some(&Node { host, .. })) = (self.apps.get(&id), self.nodes.get(&heartbeat.node)) else {
            return false;
        };
        if app.slots_per_task(kind) > heartbeat.free[kind] {
            return false;
        }
        let distance = Distance { nearest: app.tables[kind].best_level(host, self.topology.near(host)), farthest };
        let granted = match source.take_task(id, kind, heartbeat.node, distance) {
            GrantResult::Task { hosts, level, origin, slots } => {
                match origin {
                    TaskOrigin::Speculative => self.set_second_attempt(id, kind, false),
                    _ => self.count_pending_down(id, kind),
                }
                self.grant(id, kind, heartbeat.node, slots, &hosts);
                let task = GrantedTask { level, origin, slots };
                let room = self.room_for_tasks(heartbeat.node);
                count_grant(kind, heartbeat, &task, room);
                Some(task)
            }
            GrantResult::NoTask => None,
        };
        self.notify(&Change::Asked(AskedApp { app: id, kind, node: heartbeat.node, farthest, granted }));
        granted.is_some()
    }

    fn grant(&mut self, app: AppId, kind: Kind, node: TrackerId, slots: u32, hosts: &[HostId]) {
        self.end_earmark(node, app, kind.into());
        self.withdraw_request(app, kind, hosts, 1);
        self.add_running(app, kind, node, slots);
    }
}

/// Free slots, no more of either kind than the bag of the node has room for.
fn within(free: PerKind<u32>, room: Option<PerKind<u32>>) -> PerKind<u32> {
    room.map_or(free, |room| PerKind::new(free.map.min(room.map), free.reduce.min(room.reduce)))
}

/// Counts a task; `room`: what the bag of the node has room for after it.
fn count_grant(kind: Kind, heartbeat: &mut Heartbeat, task: &GrantedTask, room: Option<PerKind<u32>>) {
    heartbeat.granted[kind] += 1;
    heartbeat.granted_slots[kind] = heartbeat.granted_slots[kind].saturating_add(task.slots);
    heartbeat.free[kind] = heartbeat.free[kind].saturating_sub(task.slots);
    if room.is_some() {
        heartbeat.free = within(heartbeat.free, room);
        Kind::ALL.into_iter().for_each(|kind| heartbeat.is_open[kind] &= heartbeat.free[kind] > 0);
    }
    let since = &mut heartbeat.since_off_switch[kind];
    *since = match *since {
        Some(tasks) => Some(tasks + 1),
        None => task.is_off_switch().then_some(0),
    };
}

fn can_grant_more(kind: Kind, heartbeat: &Heartbeat, limits: &HeartbeatLimits) -> bool {
    let has_after_off_switch = match (heartbeat.since_off_switch[kind], limits.after_off_switch) {
        (Some(since), Some(most)) => since < most,
        _ => true,
    };
    heartbeat.free[kind] > 0 && heartbeat.granted[kind] < limits.limit && has_after_off_switch
}
