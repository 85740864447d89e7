//! The assignment loop: one heartbeat, slot by slot.
//!
//! Each slot goes to the first app in the order. An app without a task for this node is parked: it leaves the order for
//! the rest of the heartbeat, so that the next app becomes the first.

use crate::model::{Kind, TrackerId};

use super::order::OrderEntry;
use super::{AppId, AssignmentReport, GrantResult, GrantSource, HostId, Level, NodeOffer, Scheduler};

// === impl Scheduler ===

impl Scheduler {
    /// Fills the free slots of a node, maps first. Granted tasks count as running when this returns.
    pub fn assign_slots(&mut self, offer: NodeOffer, source: &mut impl GrantSource) -> AssignmentReport {
        let mut report = AssignmentReport::default();
        for kind in Kind::ALL {
            self.assign_kind(offer.node, kind, offer.free[kind], source, &mut report);
        }
        report
    }

    fn assign_kind(
        &mut self,
        id: TrackerId,
        kind: Kind,
        free: u32,
        source: &mut impl GrantSource,
        report: &mut AssignmentReport,
    ) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.reported[kind] = Some(node.in_use(kind));
        self.policy.on_heartbeat(id, kind, node.in_use(kind), &mut self.violations);
        if free == 0 || self.orders[kind].is_empty() {
            node.withheld[kind] = false;
            return;
        }
        let limits = self.policy.heartbeat_limits(kind, free, node, &self.totals);
        let (host, rack) = (node.host, node.rack);
        let mut resume = node.resume[kind].take();
        let mut parked: Vec<AppId> = Vec::new();
        let mut granted = 0;

        while granted < limits.limit {
            let order = &self.orders[kind];
            let resumed = resume.as_ref().and_then(|from| order.at_or_after(from));
            if resumed.is_none() {
                resume = None;
            }
            let Some(next) = resumed.or_else(|| order.first()) else { break };
            if limits.only_app.is_some_and(|only_app| only_app != next.app) {
                break;
            }
            if parked.len() >= limits.skip_budget as usize {
                self.resume_at(id, kind, resumed.unwrap_or(OrderEntry::FRONT));
                break;
            }
            let Some(app) = self.apps.get(&next.app) else { break };
            let level = app.tables[kind].best_level(host, rack);
            match source.take_task(next.app, kind, id, level) {
                GrantResult::Task { hosts, is_rerun } => {
                    self.grant(next.app, kind, id, &hosts);
                    granted += 1;
                    if limits.stops_at_off_switch && !is_rerun && self.topology.level(host, &hosts) == Level::Any {
                        break;
                    }
                }
                GrantResult::NoTask => {
                    self.dequeue(next.app, kind);
                    parked.push(next.app);
                }
            }
        }

        let withheld = granted == limits.limit && limits.limit < free && !self.orders[kind].is_empty();
        if let Some(node) = self.nodes.get_mut(&id) {
            node.withheld[kind] = withheld;
        }
        self.violations.check(granted <= free, || format!("{granted} tasks are granted for {free} free slots of {id}"));
        report.granted[kind] = granted;
        report.skipped += parked.len() as u32;
        for app in parked {
            self.enqueue(app, kind);
        }
    }

    fn grant(&mut self, app: AppId, kind: Kind, node: TrackerId, hosts: &[HostId]) {
        self.withdraw_request(app, kind, hosts, 1);
        self.add_running(app, kind, node);
    }

    fn resume_at(&mut self, node: TrackerId, kind: Kind, position: OrderEntry) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.resume[kind] = Some(position);
        }
    }
}
