//! Trackers that have never run anything: names cost a caller nothing, so these give way first.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::model::TrackerId;

/// Most names that one connection speaks for without any of them having run something. A TaskTracker has a connection of its own; those
/// of one Java process share one, and a TaskTracker that begins again keeps its own under another name.
pub(crate) const NAMES_OF_CONNECTION: usize = 16;

/// Trackers that have never run anything, by where their heartbeats come from. Older trackers have lower ids.
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

    /// It has run something, or is gone.
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
