//! All registered and expected trackers, and their connections.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Kind, Now, PerKind, TrackerId, Violations, lower, raise};
use crate::wire::given_worker_name;

use super::drains::Drains;
use super::presences::Presences;
use super::tracker::Tracker;

/// Trackers by id. A heartbeat looks up its tracker's name once, in [`Self::id_of`]; the cost of everything else that it
/// does here is independent of the number of trackers.
///
/// Busy slots change only by [`Self::set_busy`], so that their sum is right.
#[derive(Debug, Default)]
pub(crate) struct Trackers {
    // Never iterated.
    by_id: FxHashMap<TrackerId, Tracker>,
    // Never iterated.
    ids: FxHashMap<Arc<str>, TrackerId>,
    /// The same, for whatever visits all trackers.
    sorted: BTreeMap<Arc<str>, TrackerId>,
    busy_slots: PerKind<u64>,
    /// Those with each name that workers were given; never iterated.
    by_given_name: FxHashMap<Box<str>, BTreeSet<TrackerId>>,
    pub(crate) fresh: FreshTrackers,
    // Open connections on which heartbeats came; never iterated.
    connections: FxHashSet<u64>,
    pub(crate) presences: Presences,
    pub(crate) drains: Drains,
    /// Hosts in the default rack only because nothing has said yet where they are.
    pub(crate) unresolved_hosts: BTreeSet<Arc<str>>,
    /// Hosts that the log has named because their racks have too few levels.
    pub(crate) shallow_hosts: BTreeSet<Arc<str>>,
    /// When to look for silent trackers next.
    pub(crate) next_expiry_mono_ms: u64,
}

impl Trackers {
    /// No trackers; the store believes these to be there, and has these as drained.
    pub(crate) fn new(next_expiry_mono_ms: u64, presences: Presences, drains: Drains) -> Self {
        Self { next_expiry_mono_ms, presences, drains, ..Self::default() }
    }

    /// Adds a tracker under a name that is free.
    pub(crate) fn insert(&mut self, tracker: Tracker) {
        if let Some(given) = given_worker_name(&tracker.name) {
            self.by_given_name.entry(given.into()).or_default().insert(tracker.id);
        }
        self.ids.insert(tracker.name.clone(), tracker.id);
        self.sorted.insert(tracker.name.clone(), tracker.id);
        self.by_id.insert(tracker.id, tracker);
    }

    /// Removes a tracker; its id is never used again.
    pub(crate) fn remove(&mut self, id: TrackerId, violations: &mut Violations) -> Option<Tracker> {
        self.set_busy(id, PerKind::default(), violations);
        let tracker = self.by_id.remove(&id)?;
        self.fresh.remove(id);
        self.ids.remove(&tracker.name);
        self.sorted.remove(&tracker.name);
        if let Some(given) = given_worker_name(&tracker.name)
            && let Some(ids) = self.by_given_name.get_mut(given)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_given_name.remove(given);
            }
        }
        Some(tracker)
    }

    /// Other connected trackers whose workers were given the same name.
    pub(crate) fn namesakes(&self, id: TrackerId) -> impl Iterator<Item = &Tracker> {
        let given = self.get(id).and_then(|tracker| given_worker_name(&tracker.name));
        let ids = given.and_then(|given| self.by_given_name.get(given)).into_iter().flatten();
        ids.filter(move |other| **other != id)
            .filter_map(|other| self.get(*other))
            .filter(|other| self.is_connected(other))
    }

    pub(crate) fn id_of(&self, name: &str) -> Option<TrackerId> {
        self.ids.get(name).copied()
    }

    pub(crate) fn get(&self, id: TrackerId) -> Option<&Tracker> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: TrackerId) -> Option<&mut Tracker> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Tracker> {
        self.get(self.id_of(name)?)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All trackers, by name. For queries and timers, never for a heartbeat.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tracker> {
        self.iter_after(None)
    }

    /// Trackers with a later name, or all, by name.
    pub(crate) fn iter_after(&self, name: Option<&str>) -> impl Iterator<Item = &Tracker> {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = (name.map_or(Unbounded, Excluded), Unbounded);
        self.sorted.range::<str, _>(range).filter_map(|(_, id)| self.by_id.get(id))
    }

    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut Tracker)) {
        for id in self.sorted.values() {
            if let Some(tracker) = self.by_id.get_mut(id) {
                change(tracker);
            }
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sorted.keys()
    }

    pub(crate) fn busy_slots(&self) -> PerKind<u64> {
        self.busy_slots
    }

    pub(crate) fn set_busy(&mut self, id: TrackerId, busy: PerKind<u32>, violations: &mut Violations) {
        let Some(tracker) = self.by_id.get_mut(&id) else { return };
        let was = std::mem::replace(&mut tracker.busy, busy);
        for kind in Kind::ALL {
            lower(&mut self.busy_slots[kind], was[kind], violations);
            raise(&mut self.busy_slots[kind], busy[kind], violations);
        }
    }

    pub(crate) fn check_busy_slots(&self, violations: &mut Violations) {
        for kind in Kind::ALL {
            let counted: u64 = self.iter().map(|tracker| u64::from(tracker.busy[kind])).sum();
            let kept = self.busy_slots[kind];
            violations
                .check(kept == counted, || format!("trackers report {counted} busy {kind:?} slots, the sum is {kept}"));
        }
    }

    /// Records the connection of a tracker's heartbeat; no effect when it is the tracker's own already.
    pub(crate) fn connect(&mut self, id: TrackerId, sender: HeartbeatSender, now: Now) {
        let HeartbeatSender { connection, address } = sender;
        let Some(tracker) = self.by_id.get_mut(&id) else { return };
        // A connection that was handed over says its address with the next heartbeat.
        tracker.address = tracker.address.or(address);
        if tracker.connection != connection {
            // The previous connection stays in the set until it closes: other trackers may share it.
            self.connections.insert(connection);
            tracker.connection = connection;
            tracker.address = address;
            tracker.connected_mono_ms = now.mono_ms;
            tracker.is_introduced = false;
        }
        if !tracker.has_run {
            self.fresh.insert(id, connection, tracker.address);
        }
    }

    pub(crate) fn mark_run(&mut self, id: TrackerId) {
        if let Some(tracker) = self.by_id.get_mut(&id)
            && !std::mem::replace(&mut tracker.has_run, true)
        {
            self.fresh.remove(id);
        }
    }

    /// Restores the connection of a tracker that a previous process handed over.
    pub(crate) fn inherit_connection(&mut self, id: TrackerId, connection: u64, is_sure: bool, now: Now) {
        let Some(tracker) = self.by_id.get_mut(&id) else { return };
        tracker.connection = connection;
        tracker.connected_mono_ms = now.mono_ms;
        tracker.is_introduced = is_sure;
        self.connections.insert(connection);
    }

    pub(crate) fn close_connection(&mut self, connection: u64) {
        self.connections.remove(&connection);
    }

    pub(crate) fn is_connected(&self, tracker: &Tracker) -> bool {
        self.connections.contains(&tracker.connection)
    }
}

/// The relation of a tracker to the connection of a heartbeat under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionStatus {
    Own,
    /// The tracker is unknown, or its own connection is closed.
    Absent,
    /// The tracker has another open connection.
    Elsewhere(TrackerConnection),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrackerConnection {
    pub(crate) connection: u64,
    /// Time of the last heartbeat on it, ms of the monotonic clock.
    pub(crate) last_seen_mono_ms: u64,
    /// It was silent for longer than any healthy tracker.
    pub(crate) is_silent: bool,
    /// The connection certainly belongs to the tracker: the tracker registered on it under a name that was free, or used it for an expiry
    /// interval. Otherwise it may be an impostor's: after a restart the first connection is accepted.
    pub(crate) is_sure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatSender {
    pub(crate) connection: u64,
    /// The address of its peer; none where it is unknown.
    pub(crate) address: Option<IpAddr>,
}

/// A tracker's own connection, handed over by the previous process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedTrackerConnection {
    pub(crate) tracker: Arc<str>,
    /// The number of the connection in this process.
    pub(crate) connection: u64,
    pub(crate) is_sure: bool,
}

/// Most names that one connection speaks for without any of them having run something. A TaskTracker has a connection of its own; those
/// of one Java process share one, and a TaskTracker that begins again keeps its own under another name.
pub(crate) const NAMES_OF_CONNECTION: usize = 16;

/// Trackers that have never run anything, by where their heartbeats come from: names cost a caller nothing, so these give way first. Older ones have
/// lower ids.
#[derive(Debug, Default)]
pub(crate) struct FreshTrackers {
    by_address: BTreeMap<Option<IpAddr>, BTreeSet<TrackerId>>,
    by_count: BTreeSet<(usize, Option<IpAddr>)>,
    // Never iterated.
    by_connection: FxHashMap<u64, BTreeSet<TrackerId>>,
    // Never iterated.
    places: FxHashMap<TrackerId, (u64, Option<IpAddr>)>,
}

impl FreshTrackers {
    /// A tracker that has run nothing speaks on a connection.
    pub(crate) fn insert(&mut self, id: TrackerId, connection: u64, address: Option<IpAddr>) {
        if self.places.get(&id) == Some(&(connection, address)) {
            return;
        }
        self.remove(id);
        self.places.insert(id, (connection, address));
        self.by_connection.entry(connection).or_default().insert(id);
        self.change(address, |trackers| trackers.insert(id));
    }

    pub(crate) fn remove(&mut self, id: TrackerId) {
        let Some((connection, address)) = self.places.remove(&id) else { return };
        if let Some(trackers) = self.by_connection.get_mut(&connection) {
            trackers.remove(&id);
            if trackers.is_empty() {
                self.by_connection.remove(&connection);
            }
        }
        self.change(address, |trackers| trackers.remove(&id));
    }

    /// Those of the address that has the most, the oldest first.
    pub(crate) fn of_greediest(&self) -> impl Iterator<Item = TrackerId> {
        let greediest = self.by_count.last().and_then(|(_, address)| self.by_address.get(address));
        greediest.into_iter().flatten().copied()
    }

    /// The oldest for which a connection speaks, where it speaks for too many to add another.
    pub(crate) fn beyond(&self, connection: u64) -> Option<TrackerId> {
        let trackers = self.by_connection.get(&connection)?;
        if trackers.len() < NAMES_OF_CONNECTION { None } else { trackers.first().copied() }
    }

    fn change(&mut self, address: Option<IpAddr>, change: impl FnOnce(&mut BTreeSet<TrackerId>) -> bool) {
        let trackers = self.by_address.entry(address).or_default();
        self.by_count.remove(&(trackers.len(), address));
        change(trackers);
        match trackers.len() {
            0 => drop(self.by_address.remove(&address)),
            count => drop(self.by_count.insert((count, address))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_with_the_most_is_known_at_any_time() {
        let mut fresh = FreshTrackers::default();
        let address = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        let id = TrackerId::new;
        for number in 0..5 {
            fresh.insert(id(number), number.into(), address(if number < 3 { 1 } else { 2 }));
        }
        assert_eq!(fresh.of_greediest().collect::<Vec<_>>(), [id(0), id(1), id(2)]);
        fresh.remove(id(0));
        fresh.insert(id(1), 9, address(2));
        assert_eq!(fresh.of_greediest().collect::<Vec<_>>(), [id(1), id(3), id(4)]);
        (1..5).for_each(|number| fresh.remove(id(number)));
        assert!(fresh.of_greediest().next().is_none() && fresh.by_count.is_empty() && fresh.by_connection.is_empty());
    }
}
