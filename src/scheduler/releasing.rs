//! Slots reserved for apps, and slots being released. Preemption starts from the latter, so that it takes nothing for slots
//! that come free already.

use crate::model::{Kind, Now, PerKind, TrackerId, lower, raise};

use super::change::Change;
use super::fair::starvation::PoolClaims;
use super::node::{EndedReservation, SlotReservation};
use super::{Allocation, AppId, GroupId, Scheduler, SlotClaim};

impl Scheduler {
    /// Counts the slots of an attempt as being released: its end is decided.
    pub(crate) fn mark_releasing(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        raise(&mut app.releasing[kind], slots, &mut self.violations);
        self.groups.update_path(app.home, |group| raise(&mut group.releasing[kind], slots, &mut self.violations));
        if let Some(node) = self.nodes.get_mut(&node) {
            raise(&mut node.releasing[kind], slots, &mut self.violations);
        }
    }

    /// Reverts [`Self::mark_releasing`]: the decision was cancelled, or the attempt is gone; then call this before
    /// [`Self::remove_running`].
    pub(crate) fn unmark_releasing(&mut self, id: AppId, kind: Kind, node: TrackerId, slots: u32) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        lower(&mut app.releasing[kind], slots, &mut self.violations);
        self.groups.update_path(app.home, |group| lower(&mut group.releasing[kind], slots, &mut self.violations));
        if let Some(node) = self.nodes.get_mut(&node) {
            lower(&mut node.releasing[kind], slots, &mut self.violations);
        }
    }

    /// A task-cleanup takes a slot, charged to no app and no group, and soon releases it.
    pub(crate) fn start_task_cleanup(&mut self, node: TrackerId, kind: Kind) {
        self.occupy_slots(node, kind, 1);
        if let Some(node) = self.nodes.get_mut(&node) {
            raise(&mut node.releasing[kind], 1_u32, &mut self.violations);
        }
    }

    pub(crate) fn end_task_cleanup(&mut self, node: TrackerId, kind: Kind) {
        self.release_slots(node, kind, 1);
        if let Some(node) = self.nodes.get_mut(&node) {
            lower(&mut node.releasing[kind], 1_u32, &mut self.violations);
        }
    }

    pub(crate) fn retained(&self, group: GroupId) -> PerKind<u32> {
        self.groups.retained(group).slots()
    }

    /// Slots of a node that are free or being released; zero for an unknown node.
    pub(crate) fn incoming(&self, node: TrackerId) -> PerKind<u32> {
        let incoming = |kind: Kind| {
            self.nodes.get(&node).map_or(0, |node| {
                let retained = node.in_use(kind).saturating_sub(node.releasing[kind]);
                node.slots[kind].saturating_sub(retained)
            })
        };
        PerKind::new(incoming(Kind::Map), incoming(Kind::Reduce))
    }

    pub(crate) fn claim(&self, group: GroupId) -> SlotClaim {
        self.policy.claim(group)
    }

    pub(crate) fn pool_claims(&self, kind: Kind, now: Now) -> PoolClaims {
        self.policy.pool_claims(kind, now, &self.view())
    }

    /// The group whose sums count an app; its own one, or one in it.
    pub(crate) fn home_of(&self, app: AppId) -> Option<GroupId> {
        self.apps.get(&app).map(|app| app.home)
    }

    /// What a group has bought; nothing unless the policy is the market.
    pub(crate) fn allocation(&self, group: GroupId) -> Allocation {
        self.policy.allocation(group)
    }

    /// Removes and returns the reservations that ended since the last call. The caller charges the time that they held their slots.
    pub(crate) fn take_ended_reservations(&mut self) -> Vec<EndedReservation> {
        std::mem::take(&mut self.ended_reservations)
    }

    pub(crate) fn take_ended_reservations_of(&mut self, id: AppId) -> Vec<EndedReservation> {
        self.ended_reservations.extract_if(.., |ended| ended.app == id).collect()
    }

    pub(crate) fn reserved_nodes(&self, id: AppId) -> PerKind<u32> {
        let count = |kind: Kind| self.apps.get(&id).map_or(0, |app| app.reserved_nodes[kind].len() as u32);
        PerKind::new(count(Kind::Map), count(Kind::Reduce))
    }

    /// Keeps `slots` of a node for an app, instead of what was kept there before.
    pub(super) fn reserve(&mut self, node: TrackerId, kind: Kind, id: AppId, slots: u32, now: Now) {
        let before = self.nodes.get(&node).and_then(|node| node.reserved[kind]);
        if before.is_some_and(|before| before.app == id && before.slots == slots) {
            return;
        }
        if before.is_some_and(|before| before.app != id) {
            self.end_reservation(node, kind);
        }
        let (Some(entry), Some(app)) = (self.nodes.get_mut(&node), self.apps.get_mut(&id)) else { return };
        let reservation = SlotReservation { app: id, slots, since_mono_ms: now.mono_ms };
        if let Some(before) = entry.reserved[kind].replace(reservation) {
            // Other free slots than before: charged apart.
            self.ended_reservations.push(ended(before, kind, node));
        }
        if app.reserved_nodes[kind].insert(node) {
            self.notify(&Change::Reserved { app: id, kind });
        }
    }

    pub(super) fn end_reservation(&mut self, node: TrackerId, kind: Kind) {
        let taken = self.nodes.get_mut(&node).and_then(|node| node.reserved[kind].take());
        let Some(reservation) = taken else { return };
        self.ended_reservations.push(ended(reservation, kind, node));
        let id = reservation.app;
        if let Some(app) = self.apps.get_mut(&id) {
            app.reserved_nodes[kind].remove(&node);
            self.wake_after_release(id, kind.into());
            self.notify(&Change::ReservationEnded { app: id, kind });
        }
    }

    /// Ends what is kept on a node that left or may not run tasks now.
    pub(super) fn end_reservations_of_node(&mut self, node: TrackerId) {
        Kind::ALL.into_iter().for_each(|kind| self.end_reservation(node, kind));
    }

    pub(super) fn end_reservations_of_app(&mut self, id: AppId) {
        for kind in Kind::ALL {
            let Some(app) = self.apps.get(&id) else { return };
            let nodes: Vec<TrackerId> = app.reserved_nodes[kind].iter().copied().collect();
            nodes.into_iter().for_each(|node| self.end_reservation(node, kind));
        }
    }
}

fn ended(reservation: SlotReservation, kind: Kind, node: TrackerId) -> EndedReservation {
    let SlotReservation { app, slots, since_mono_ms } = reservation;
    EndedReservation { app, kind, node, slots, since_mono_ms }
}

#[cfg(test)]
mod tests {
    use crate::scheduler::AppSpec;

    use super::*;

    #[test]
    fn a_slot_being_released_is_incoming_and_not_retained() {
        let mut scheduler = Scheduler::dynamic();
        let group = scheduler.open_group("q");
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(4, 1));
        let app = AppId::new(1);
        scheduler.add_app(AppSpec::plain(app, group)).unwrap();
        (0..3).for_each(|_| scheduler.add_running(app, Kind::Map, node, 1));
        assert_eq!((scheduler.retained(group).map, scheduler.incoming(node)), (3, PerKind::new(1, 1)));
        scheduler.mark_releasing(app, Kind::Map, node, 1);
        scheduler.mark_releasing(app, Kind::Map, node, 1);
        assert_eq!((scheduler.retained(group).map, scheduler.incoming(node).map), (1, 3));
        scheduler.unmark_releasing(app, Kind::Map, node, 1);
        assert_eq!((scheduler.retained(group).map, scheduler.incoming(node).map), (2, 2));
        scheduler.unmark_releasing(app, Kind::Map, node, 1);
        scheduler.remove_running(app, Kind::Map, node, 1);
        assert_eq!((scheduler.retained(group).map, scheduler.incoming(node).map), (2, 2));
    }

    #[test]
    fn a_task_cleanup_releases_its_slot_soon_and_a_setup_may_not() {
        let mut scheduler = Scheduler::dynamic();
        let host = scheduler.topology_mut().intern_host("h", "/r");
        let node = scheduler.add_node(host, PerKind::new(2, 0));
        scheduler.start_task_cleanup(node, Kind::Map);
        assert_eq!((scheduler.incoming(node).map, scheduler.totals().occupied.map), (2, 1));
        scheduler.occupy_slots(node, Kind::Map, 1);
        assert_eq!(scheduler.incoming(node).map, 1);
        scheduler.end_task_cleanup(node, Kind::Map);
        assert_eq!((scheduler.incoming(node).map, scheduler.totals().occupied.map), (1, 1));
    }
}
