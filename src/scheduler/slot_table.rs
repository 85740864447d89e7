//! The waiting tasks of one job and kind as a request table: a count for each host, each rack and anywhere.
//!
//! Invariant: the row of a host counts the waiting tasks with a copy of their input on it, the row of a rack, or of a
//! group of racks, those with a copy in it (a task counts once for each distinct one), and the row for anywhere all
//! waiting tasks. There are no rows of zero, and no row is a gate: a task may run anywhere.

use crate::model::{Violations, lower, raise};

use super::request_table::{Gate, RequestTable};
use super::{HostId, Level, RackId, Topology};

/// The rows of one job and kind. An update costs O(copies), memory O(hosts + racks).
#[derive(Debug, Default)]
pub(super) struct SlotTable {
    table: RequestTable<HostId, RackId>,
    /// Waiting tasks without hosts.
    unplaced: u32,
    /// Whether one of these is a second attempt, whose task has its input somewhere.
    has_second_attempt: bool,
}

impl SlotTable {
    pub(super) fn waiting(&self) -> u32 {
        self.table.anywhere
    }

    pub(super) fn hosts(&self) -> usize {
        self.table.hosts.len()
    }

    /// Adds `count` tasks with their input on `hosts`; no hosts: no preference.
    pub(super) fn add(&mut self, hosts: &[HostId], count: u32, topology: &Topology, violations: &mut Violations) {
        if count == 0 {
            return;
        }
        raise(&mut self.table.anywhere, count, violations);
        if hosts.is_empty() {
            raise(&mut self.unplaced, count, violations);
        }
        for host in distinct(hosts.iter().copied()) {
            self.table.hosts.raise(host, count, violations);
        }
        for rack in distinct(hosts.iter().flat_map(|&host| topology.near(host)).copied()) {
            self.table.racks.raise(rack, count, violations);
        }
    }

    /// Removes `count` tasks that were added with the same `hosts`.
    pub(super) fn remove(&mut self, hosts: &[HostId], count: u32, topology: &Topology, violations: &mut Violations) {
        lower(&mut self.table.anywhere, count, violations);
        if hosts.is_empty() {
            lower(&mut self.unplaced, count, violations);
        }
        for host in distinct(hosts.iter().copied()) {
            self.table.hosts.lower(host, count, violations);
        }
        for rack in distinct(hosts.iter().flat_map(|&host| topology.near(host)).copied()) {
            self.table.racks.lower(rack, count, violations);
        }
    }

    pub(super) fn set_second_attempt(&mut self, has_second_attempt: bool) {
        self.has_second_attempt = has_second_attempt;
    }

    pub(super) fn has_unplaced(&self) -> bool {
        self.unplaced > u32::from(self.has_second_attempt)
    }

    /// The nearest level at which a task waits for a node on `host`, near which these racks and groups are; [`Level::Any`] when none waits.
    pub(super) fn best_level(&self, host: HostId, near: &[RackId]) -> Level {
        if self.table.hosts.gate(&host) != Gate::Open {
            Level::Node
        } else if near.iter().any(|group| self.table.racks.gate(group) != Gate::Open) {
            Level::Rack
        } else {
            Level::Any
        }
    }
}

/// A split may name a host twice, and two hosts of it may share a rack: each counts once.
fn distinct<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<K> {
    let mut keys: Vec<K> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::topology::{CacheLevels, rack_path};
    use super::*;

    fn topology(hosts: usize, racks: usize) -> (Topology, Vec<HostId>) {
        let mut topology = Topology::default();
        let ids = (0..hosts).map(|i| topology.intern_host(&format!("h{i}"), &format!("/r{}", i % racks))).collect();
        (topology, ids)
    }

    #[test]
    fn a_task_counts_once_for_each_host_and_rack() {
        let (topology, h) = topology(4, 2);
        let mut table = SlotTable::default();
        table.add(&[h[0], h[0], h[2]], 3, &topology, &mut Violations::default());
        assert_eq!(table.waiting(), 3);
        assert_eq!(table.table.hosts.gate(&h[0]), Gate::Wanted(3));
        assert_eq!(table.table.racks.gate(&topology.rack_of(h[0])), Gate::Wanted(3));
        table.remove(&[h[0], h[0], h[2]], 3, &topology, &mut Violations::default());
        assert_eq!(table.waiting(), 0);
        assert_eq!((table.hosts(), table.table.racks.len()), (0, 0));
    }

    #[test]
    fn the_best_level_is_the_nearest_row() {
        let (topology, h) = topology(4, 2);
        let level = |table: &SlotTable, host: HostId| table.best_level(host, topology.near(host));
        let mut table = SlotTable::default();
        table.add(&[h[0]], 1, &topology, &mut Violations::default());
        assert_eq!(level(&table, h[0]), Level::Node);
        assert_eq!(level(&table, h[2]), Level::Rack);
        assert_eq!(level(&table, h[1]), Level::Any);
    }

    proptest! {
        #[test]
        fn rows_equal_a_recount_of_the_tasks(
            tasks in prop::collection::vec((prop::collection::vec(0usize..6, 0..4), any::<bool>()), 0..40)
        ) {
            let (topology, h) = topology(6, 3);
            let mut table = SlotTable::default();
            let sets: Vec<(Vec<HostId>, bool)> =
                tasks.into_iter().map(|(set, stays)| (set.into_iter().map(|i| h[i]).collect(), stays)).collect();
            sets.iter().for_each(|(set, _)| table.add(set, 1, &topology, &mut Violations::default()));
            sets.iter().filter(|(_, stays)| !stays).for_each(|(set, _)| table.remove(set, 1, &topology, &mut Violations::default()));

            let left: Vec<&Vec<HostId>> = sets.iter().filter(|(_, stays)| *stays).map(|(set, _)| set).collect();
            prop_assert_eq!(table.waiting() as usize, left.len());
            for &host in &h {
                let on_host = left.iter().filter(|set| set.contains(&host)).count() as u32;
                prop_assert_eq!(table.table.hosts.gate(&host).wanted(), on_host);
                let rack = topology.rack_of(host);
                let in_rack = left.iter().filter(|set| set.iter().any(|&h| topology.rack_of(h) == rack)).count() as u32;
                prop_assert_eq!(table.table.racks.gate(&rack).wanted(), in_rack);
            }
            prop_assert!(h.iter().all(|host| table.table.hosts.gate(host) != Gate::Closed));
            prop_assert!(h.iter().all(|host| table.table.racks.gate(&topology.rack_of(*host)) != Gate::Closed));
        }

        /// A task waits near a host exactly where a host with its input shares a name of the path that counts.
        #[test]
        fn near_is_what_the_paths_share_within_the_levels(
            levels in 1usize..=5,
            paths in prop::collection::vec("(/[ab]){1,4}", 2..6),
            place in prop::collection::vec(0usize..6, 1..4),
        ) {
            let levels = CacheLevels::new(levels);
            let mut topology = Topology::default();
            topology.set_levels(levels);
            let h: Vec<HostId> = (0..).zip(&paths).map(|(i, rack)| topology.intern_host(&format!("h{i}"), rack)).collect();
            let input: Vec<usize> = place.into_iter().map(|i| i % h.len()).collect();
            let hosts: Vec<HostId> = input.iter().map(|i| h[*i]).collect();
            let mut table = SlotTable::default();
            table.add(&hosts, 2, &topology, &mut Violations::default());
            let near = |path: &str| rack_path(path).take(levels.groups()).map(str::to_owned).collect::<Vec<_>>();
            for (host, path) in h.iter().zip(&paths) {
                let shares = |i: &usize| near(&paths[*i]).iter().any(|name| near(path).contains(name));
                let expected = match (hosts.contains(host), input.iter().any(shares)) {
                    (true, _) => Level::Node,
                    (false, true) => Level::Rack,
                    (false, false) => Level::Any,
                };
                prop_assert_eq!(table.best_level(*host, topology.near(*host)), expected);
                prop_assert_eq!(topology.level(*host, &hosts), expected);
            }
            table.remove(&hosts, 2, &topology, &mut Violations::default());
            prop_assert_eq!((table.hosts(), table.table.racks.len()), (0, 0));
        }
    }
}
