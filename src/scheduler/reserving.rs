//! Reserving nodes for apps, and when reservations end.

use crate::model::{Kind, Now, PerKind, TrackerId};

use super::change::Change;
use super::reservation::{EndedReservation, Reservation};
use super::{AppId, Scheduler};

impl Scheduler {
    /// Removes and returns the reservations that ended since the last call. The caller charges the time that they held
    /// their slots.
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
        let reservation = Reservation { app: id, slots, since_mono_ms: now.mono_ms };
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

    /// Ends what is kept for an app.
    pub(super) fn end_reservations_of_app(&mut self, id: AppId) {
        for kind in Kind::ALL {
            let Some(app) = self.apps.get(&id) else { return };
            let nodes: Vec<TrackerId> = app.reserved_nodes[kind].iter().copied().collect();
            nodes.into_iter().for_each(|node| self.end_reservation(node, kind));
        }
    }
}

fn ended(reservation: Reservation, kind: Kind, node: TrackerId) -> EndedReservation {
    let Reservation { app, slots, since_mono_ms } = reservation;
    EndedReservation { app, kind, node, slots, since_mono_ms }
}
