//! Which waiting map a node gets: failed ones first, then by distance, then in split order (1.2.1
//! `JobInProgress.findNewMapTask`).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::scheduler::{HostId, Level, RackId};

/// The waiting maps of a job.
///
/// Invariant: a waiting map stands in the list of each of its hosts and racks; what else stands there has been given
/// away through another list and is passed over when met.
#[derive(Debug, Default)]
pub(super) struct PendingMaps {
    waiting: BTreeSet<u32>,
    failed: BTreeSet<(Reverse<u32>, u32)>,
    // Last first. Never iterated as maps.
    by_host: FxHashMap<HostId, Vec<u32>>,
    by_rack: FxHashMap<RackId, Vec<u32>>,
}

/// The rack of each host that holds input.
pub(super) type Racks = FxHashMap<HostId, RackId>;

/// How many maps that may not run on a host are passed over before the search gives up.
const SEARCH_LIMIT: usize = 100;

// === impl PendingMaps ===

impl PendingMaps {
    /// All maps wait: `places` gives the hosts of each, in split order.
    pub(super) fn new(places: &[Arc<[HostId]>], racks: &Racks) -> Self {
        let mut pending = Self::default();
        for (map, hosts) in places.iter().enumerate().rev() {
            pending.list(map as u32, hosts, racks);
        }
        pending.waiting = (0..places.len() as u32).collect();
        pending
    }

    /// A map waits again, after `failures` failures.
    pub(super) fn put_back(&mut self, map: u32, failures: u32, hosts: &[HostId], racks: &Racks) {
        if self.waiting.insert(map) {
            self.list(map, hosts, racks);
        }
        if failures > 0 {
            self.failed.insert((Reverse(failures), map));
        }
    }

    /// Takes the map that suits a node best; `level` is the nearest at which one is known to wait.
    pub(super) fn take(
        &mut self,
        level: Level,
        host: HostId,
        rack: RackId,
        may_run: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let failed = self.failed.iter().take(SEARCH_LIMIT).find(|(_, map)| may_run(*map)).copied();
        let map = match failed {
            Some((_, map)) => Some(map),
            None => {
                let near = (level == Level::Node)
                    .then(|| take_from(self.by_host.get_mut(&host), &self.waiting, &may_run))
                    .flatten();
                let near = near.or_else(|| {
                    (level != Level::Any)
                        .then(|| take_from(self.by_rack.get_mut(&rack), &self.waiting, &may_run))
                        .flatten()
                });
                near.or_else(|| self.waiting.iter().take(SEARCH_LIMIT).find(|map| may_run(**map)).copied())
            }
        }?;
        self.remove(map);
        Some(map)
    }

    /// A map waits no longer.
    pub(super) fn remove(&mut self, map: u32) -> bool {
        let was_waiting = self.waiting.remove(&map);
        if was_waiting && !self.failed.is_empty() {
            self.failed.retain(|(_, failed)| *failed != map);
        }
        was_waiting
    }

    fn list(&mut self, map: u32, hosts: &[HostId], racks: &Racks) {
        for (index, host) in hosts.iter().enumerate() {
            self.by_host.entry(*host).or_default().push(map);
            let Some(rack) = racks.get(host) else { continue };
            if !hosts[..index].iter().any(|other| racks.get(other) == Some(rack)) {
                self.by_rack.entry(*rack).or_default().push(map);
            }
        }
    }
}

/// Takes the first map of a list that waits and may run; drops those met that do not wait.
fn take_from(list: Option<&mut Vec<u32>>, waiting: &BTreeSet<u32>, may_run: impl Fn(u32) -> bool) -> Option<u32> {
    let list = list?;
    while list.last().is_some_and(|map| !waiting.contains(map)) {
        list.pop();
    }
    let found = list.iter().rev().take(SEARCH_LIMIT).position(|map| waiting.contains(map) && may_run(*map))?;
    Some(list.remove(list.len() - 1 - found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Topology;

    #[test]
    fn failed_first_then_near_then_in_order() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let b = topology.intern_host("b", "/r2");
        let racks: Racks = [(a, topology.rack_of(a)), (b, topology.rack_of(b))].into_iter().collect();
        let places: [Arc<[HostId]>; 4] = [[b].into(), [a].into(), [a, b].into(), [].into()];
        let mut pending = PendingMaps::new(&places, &racks);
        let take = |pending: &mut PendingMaps, level| pending.take(level, a, topology.rack_of(a), |_| true);
        assert_eq!(take(&mut pending, Level::Node), Some(1));
        pending.put_back(1, 1, &[a], &racks);
        assert_eq!(pending.take(Level::Node, a, topology.rack_of(a), |map| map != 1), Some(2), "never where it failed");
        assert_eq!(take(&mut pending, Level::Any), Some(1), "failed ones come first");
        assert_eq!(take(&mut pending, Level::Any), Some(0));
        assert_eq!(take(&mut pending, Level::Any), Some(3));
        assert_eq!(take(&mut pending, Level::Any), None);
    }

    #[test]
    fn a_map_that_comes_back_is_found_near_its_data_again() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let racks: Racks = [(a, topology.rack_of(a))].into_iter().collect();
        let places: [Arc<[HostId]>; 2] = [[a].into(), [a].into()];
        let mut pending = PendingMaps::new(&places, &racks);
        let any = pending.take(Level::Any, a, topology.rack_of(a), |_| true);
        assert_eq!(any, Some(0));
        pending.put_back(0, 0, &[a], &racks);
        let near: Vec<_> = std::iter::from_fn(|| pending.take(Level::Node, a, topology.rack_of(a), |_| true)).collect();
        assert_eq!(near, [0, 1]);
    }
}
