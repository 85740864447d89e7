//! The assignment loop: one heartbeat, slot by slot.
//!
//! Each slot goes to the first app in the order. An app that has nothing for this node is parked: out of the order for
//! the rest of the heartbeat, so that the next in line is again the first.

use crate::model::Kind;

use super::order::Position;
use super::{AppId, Beat, BeatReport, GrantSource, HostId, Level, NodeId, Scheduler, Taken};

/// How many apps a heartbeat may ask in vain, for each kind. When it is used up the node's next heartbeats go through
/// all apps in an order that stands still, each going on where the last stopped: so an app behind any number of refusing
/// ones is asked in the end.
pub const SKIP_BUDGET: u32 = 100;

// === impl Scheduler ===

impl Scheduler {
    /// Fills the free slots of a node, maps first. Granted tasks count as running when this returns.
    pub fn assign(&mut self, beat: Beat, source: &mut impl GrantSource) -> BeatReport {
        let mut report = BeatReport::default();
        for kind in Kind::ALL {
            self.assign_kind(beat.node, kind, beat.free[kind], source, &mut report);
        }
        report
    }

    fn assign_kind(
        &mut self,
        id: NodeId,
        kind: Kind,
        free: u32,
        source: &mut impl GrantSource,
        report: &mut BeatReport,
    ) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        node.report(kind, &mut self.totals);
        if free == 0 || self.orders[kind].is_empty() {
            node.held_back[kind] = false;
            return;
        }
        let shape = self.policy.shape(kind, free, node, &self.totals);
        let (host, rack) = (node.host, node.rack);
        let mut resume = node.resume[kind].take();
        let mut parked: Vec<AppId> = Vec::new();
        let mut granted = 0;

        while granted < shape.limit {
            let order = &self.orders[kind];
            let resumed = resume.as_ref().and_then(|from| order.at_or_after(from));
            if resumed.is_none() {
                resume = None;
            }
            let Some(next) = resumed.or_else(|| order.first()) else { break };
            if shape.only.is_some_and(|only| only != next.app) {
                break;
            }
            if parked.len() >= shape.skip_budget as usize {
                self.resume_at(id, kind, resumed.unwrap_or(Position::FRONT));
                break;
            }
            let Some(app) = self.apps.get(&next.app) else { break };
            let level = app.tables[kind].best_level(host, rack);
            match source.take(next.app, kind, id, level) {
                Taken::Task { hosts, again } => {
                    self.grant(next.app, kind, id, &hosts);
                    granted += 1;
                    if shape.off_switch_ends && !again && self.topology.level(host, &hosts) == Level::Any {
                        break;
                    }
                }
                Taken::Nothing => {
                    self.take_out(next.app, kind);
                    parked.push(next.app);
                }
            }
        }

        let held_back = granted == shape.limit && shape.limit < free && !self.orders[kind].is_empty();
        if let Some(node) = self.nodes.get_mut(&id) {
            node.held_back[kind] = held_back;
        }
        report.granted[kind] = granted;
        report.skipped += parked.len() as u32;
        for app in parked {
            self.put_in(app, kind);
        }
    }

    fn grant(&mut self, app: AppId, kind: Kind, node: NodeId, hosts: &[HostId]) {
        self.withdraw(app, kind, hosts, 1);
        self.started(app, kind, node);
    }

    fn resume_at(&mut self, node: NodeId, kind: Kind, position: Position) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.resume[kind] = Some(position);
        }
    }
}
