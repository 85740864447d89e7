//! All registered and expected trackers, and their connections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Kind, Now, PerKind};

use super::tracker::Tracker;

/// Trackers by name. Busy slots change only by [`Self::set_busy`], so that their sum is right.
#[derive(Debug, Default)]
pub struct Trackers {
    by_name: BTreeMap<Arc<str>, Tracker>,
    busy_slots: PerKind<u64>,
    /// Open connections on which heartbeats came.
    connections: BTreeSet<u64>,
    /// When to look for silent trackers next.
    pub next_expiry_mono_ms: u64,
}

// === impl Trackers ===

impl Trackers {
    /// No trackers.
    pub fn new(next_expiry_mono_ms: u64) -> Self {
        Self { next_expiry_mono_ms, ..Self::default() }
    }

    pub fn insert(&mut self, tracker: Tracker) {
        self.by_name.insert(tracker.name.clone(), tracker);
    }

    pub fn remove(&mut self, name: &str) -> Option<Tracker> {
        self.set_busy(name, PerKind::default());
        self.by_name.remove(name)
    }

    pub fn get(&self, name: &str) -> Option<&Tracker> {
        self.by_name.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tracker> {
        self.by_name.get_mut(name)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// All trackers, by name. For queries and timers, never for a heartbeat.
    pub fn iter(&self) -> impl Iterator<Item = &Tracker> {
        self.by_name.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Tracker> {
        self.by_name.values_mut()
    }

    /// Trackers with a later name, or all, by name.
    pub fn iter_after(&self, name: Option<&str>) -> impl Iterator<Item = &Tracker> {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = (name.map_or(Unbounded, Excluded), Unbounded);
        self.by_name.range::<str, _>(range).map(|(_, tracker)| tracker)
    }

    /// The names of all trackers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_name.keys()
    }
}

// === impl Trackers: slots in use ===

impl Trackers {
    /// Slots in use by the last reports of all trackers.
    pub fn busy_slots(&self) -> PerKind<u64> {
        self.busy_slots
    }

    /// Sets the slots in use by the last report of a tracker.
    pub fn set_busy(&mut self, name: &str, busy: PerKind<u32>) {
        let Some(tracker) = self.by_name.get_mut(name) else { return };
        let was = std::mem::replace(&mut tracker.busy, busy);
        for kind in Kind::ALL {
            let sum = &mut self.busy_slots[kind];
            *sum = (*sum + u64::from(busy[kind])).saturating_sub(u64::from(was[kind]));
        }
    }
}

// === impl Trackers: connections ===

impl Trackers {
    /// Records the connection of a tracker's heartbeat; no effect when it is the tracker's own already.
    pub fn connect(&mut self, name: &str, connection: u64, now: Now) {
        let Some(tracker) = self.by_name.get_mut(name) else { return };
        if tracker.connection != connection {
            // The previous connection stays in the set until it closes: other trackers may share it.
            self.connections.insert(connection);
            tracker.connection = connection;
            tracker.connected_mono_ms = now.mono_ms;
            tracker.is_introduced = false;
        }
    }

    /// Restores the connection of a tracker that a previous process handed over.
    pub fn inherit_connection(&mut self, name: &str, connection: u64, is_sure: bool, now: Now) {
        let Some(tracker) = self.by_name.get_mut(name) else { return };
        tracker.connection = connection;
        tracker.connected_mono_ms = now.mono_ms;
        tracker.is_introduced = is_sure;
        self.connections.insert(connection);
    }

    pub fn close_connection(&mut self, connection: u64) {
        self.connections.remove(&connection);
    }

    /// Whether the connection of the tracker's last heartbeat is open.
    pub fn is_connected(&self, tracker: &Tracker) -> bool {
        self.connections.contains(&tracker.connection)
    }
}
