//! Slots that come free: attempts that have been told to end, or are about to be, and the cleaning up after them. What
//! preemption takes is counted from here, so that nothing is taken for slots that are on their way already.

use crate::model::{Kind, PerKind};

use super::count::{lower, raise};
use super::{Allocation, AppId, GroupId, NodeId, Scheduler};

// === impl Scheduler: slots that come free ===

impl Scheduler {
    /// An attempt of an app that holds a slot is going to end, by a decision that was made.
    pub fn leaves(&mut self, id: AppId, kind: Kind, node: NodeId) {
        let Some(app) = self.apps.get(&id) else { return };
        if let Some(group) = self.groups.get_mut(app.spec.group) {
            raise(&mut group.leaving[kind], 1);
        }
        if let Some(node) = self.nodes.get_mut(&node) {
            raise(&mut node.leaving[kind], 1);
        }
    }

    /// The decision is taken back; or the attempt is gone, which is told before it is said to have
    /// [ended](Self::ended).
    pub fn leaves_no_more(&mut self, id: AppId, kind: Kind, node: NodeId) {
        let Some(app) = self.apps.get(&id) else { return };
        if let Some(group) = self.groups.get_mut(app.spec.group) {
            lower(&mut group.leaving[kind], 1);
        }
        if let Some(node) = self.nodes.get_mut(&node) {
            lower(&mut node.leaving[kind], 1);
        }
    }

    /// The cleaning up after an attempt takes a slot, for which no app and no group is charged, and soon gives it back.
    pub fn clean_up(&mut self, node: NodeId, kind: Kind) {
        self.occupy(node, kind, 1);
        if let Some(node) = self.nodes.get_mut(&node) {
            raise(&mut node.leaving[kind], 1);
        }
    }

    /// The cleaning up is over.
    pub fn cleaned_up(&mut self, node: NodeId, kind: Kind) {
        self.release(node, kind, 1);
        if let Some(node) = self.nodes.get_mut(&node) {
            lower(&mut node.leaving[kind], 1);
        }
    }

    /// Slots that a group holds and keeps.
    pub fn kept(&self, group: GroupId) -> PerKind<u32> {
        self.groups.kept(group)
    }

    /// Slots of a node that are free or come free; none of a node that is not there.
    pub fn coming(&self, node: NodeId) -> PerKind<u32> {
        let coming = |kind: Kind| {
            self.nodes.get(&node).map_or(0, |node| {
                let kept = node.in_use(kind).saturating_sub(node.leaving[kind]);
                node.slots[kind].saturating_sub(kept)
            })
        };
        PerKind::new(coming(Kind::Map), coming(Kind::Reduce))
    }

    /// What a group has bought. Nothing but under the market.
    pub fn allocation(&self, group: GroupId) -> Allocation {
        self.policy.allocation(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::AppSpec;

    #[test]
    fn what_leaves_is_coming_and_not_kept() {
        let mut scheduler = Scheduler::dynamic();
        let group = scheduler.open_group("q");
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(4, 1));
        let app = AppId::new(1);
        scheduler.add_app(AppSpec { id: app, group, priority: 2, start_ms: 0, order: 0 }).unwrap();
        (0..3).for_each(|_| scheduler.started(app, Kind::Map, node));
        assert_eq!((scheduler.kept(group).map, scheduler.coming(node)), (3, PerKind::new(1, 1)));
        scheduler.leaves(app, Kind::Map, node);
        scheduler.leaves(app, Kind::Map, node);
        assert_eq!((scheduler.kept(group).map, scheduler.coming(node).map), (1, 3));
        scheduler.leaves_no_more(app, Kind::Map, node);
        assert_eq!((scheduler.kept(group).map, scheduler.coming(node).map), (2, 2));
        scheduler.leaves_no_more(app, Kind::Map, node);
        scheduler.ended(app, Kind::Map, node);
        assert_eq!((scheduler.kept(group).map, scheduler.coming(node).map), (2, 2));
    }

    #[test]
    fn cleaning_up_holds_a_slot_that_comes_back_and_a_setup_one_that_may_not() {
        let mut scheduler = Scheduler::dynamic();
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(2, 0));
        scheduler.clean_up(node, Kind::Map);
        assert_eq!((scheduler.coming(node).map, scheduler.totals().occupied.map), (2, 1));
        scheduler.occupy(node, Kind::Map, 1);
        assert_eq!(scheduler.coming(node).map, 1);
        scheduler.cleaned_up(node, Kind::Map);
        assert_eq!((scheduler.coming(node).map, scheduler.totals().occupied.map), (1, 1));
    }
}
