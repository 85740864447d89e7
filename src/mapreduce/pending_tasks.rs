//! The order in which a tracker gets waiting tasks: returned ones first, then by distance, then in split order, last
//! those without preferred hosts (1.2.1 `JobInProgress.findNewMapTask`, `findNewReduceTask`).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::scheduler::{Distance, HostId, Level, RackId};

/// The waiting maps or reduces of a job.
///
/// Invariant: a fresh task is in the list of each of its hosts, their racks and the groups of these; other entries of a list were taken through
/// another list and are dropped when met. So a task is taken in constant time, except for failed ones that may not run
/// on the tracker.
#[derive(Debug, Default)]
pub(super) struct PendingTasks {
    /// Tasks that have not failed; they may run anywhere.
    fresh: BTreeSet<u32>,
    /// Fresh maps without preferred hosts; they come after maps that are far from their input.
    without_hosts: BTreeSet<u32>,
    /// Failed tasks, and maps that return for another reason, most failures first; a task does not run again where it failed.
    returned: BTreeSet<(Reverse<u32>, u32)>,
    are_maps: bool,
    // In reverse order. The maps are never iterated.
    by_host: FxHashMap<HostId, Vec<u32>>,
    by_rack: FxHashMap<RackId, Vec<u32>>,
}

/// The rack of each host that holds input, and the groups of racks above it.
pub(super) type Racks = FxHashMap<HostId, Arc<[RackId]>>;

/// Most returned tasks that the search skips before it takes a fresh one.
const SEARCH_LIMIT: usize = 100;

impl PendingTasks {
    /// All maps wait; `preferred_hosts` of each in split order.
    pub(super) fn maps(preferred_hosts: &[Arc<[HostId]>], racks: &Racks) -> Self {
        let count = u32::try_from(preferred_hosts.len()).unwrap_or(u32::MAX);
        let mut pending = Self { are_maps: true, ..Self::default() };
        for (map, hosts) in (0..count).zip(preferred_hosts).rev() {
            if hosts.is_empty() {
                pending.without_hosts.insert(map);
            } else {
                pending.fresh.insert(map);
                pending.list(map, hosts, racks);
            }
        }
        pending
    }

    /// `count` reduces wait; they have no preferred hosts.
    pub(super) fn reduces(count: u32) -> Self {
        Self { fresh: (0..count).collect(), ..Self::default() }
    }

    pub(super) fn discard(&mut self, task: u32) {
        self.fresh.remove(&task);
        self.without_hosts.remove(&task);
    }

    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.without_hosts.len() + self.returned.len()
    }

    /// Whether [`Self::take`] would find one.
    pub(super) fn has_runnable(&self, may_run: impl Fn(u32) -> bool) -> bool {
        let mut returned = self.returned.iter().take(SEARCH_LIMIT);
        !self.fresh.is_empty() || !self.without_hosts.is_empty() || returned.any(|(_, task)| may_run(*task))
    }

    pub(super) fn requeue(&mut self, task: u32, failures: u32) {
        if failures > 0 || self.are_maps {
            self.returned.insert((Reverse(failures), task));
        } else {
            self.fresh.insert(task);
        }
    }

    /// Takes the best task for a tracker on `host`, near which these racks and groups are; `may_run` filters returned
    /// ones, which may be taken at any distance.
    pub(super) fn take(
        &mut self,
        distance: Distance,
        host: HostId,
        groups: &[RackId],
        may_run: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let returned = self.returned.iter().take(SEARCH_LIMIT).find(|(_, task)| may_run(*task)).copied();
        if let Some(returned) = returned {
            self.returned.remove(&returned);
            return Some(returned.1);
        }
        let Distance { nearest, farthest } = distance;
        let mut near = None;
        if nearest == Level::Node {
            near = next_of(self.by_host.get_mut(&host), &self.fresh);
        }
        if near.is_none() && nearest != Level::Any && farthest != Level::Node {
            near = groups.iter().find_map(|group| next_of(self.by_rack.get_mut(group), &self.fresh));
        }
        if near.is_none() && farthest != Level::Any {
            return None;
        }
        match near.or_else(|| self.fresh.first().copied()) {
            Some(task) => {
                self.fresh.remove(&task);
                Some(task)
            }
            None => self.without_hosts.pop_first(),
        }
    }

    fn list(&mut self, map: u32, hosts: &[HostId], racks: &Racks) {
        for (index, host) in hosts.iter().enumerate() {
            self.by_host.entry(*host).or_default().push(map);
            let Some(groups) = racks.get(host) else { continue };
            let has = |other: &HostId, group| racks.get(other).is_some_and(|groups| groups.contains(group));
            for group in groups.iter().filter(|group| !hosts[..index].iter().any(|other| has(other, group))) {
                self.by_rack.entry(*group).or_default().push(map);
            }
        }
    }
}

/// Takes the first fresh task of a list; drops those before it.
fn next_of(list: Option<&mut Vec<u32>>, fresh: &BTreeSet<u32>) -> Option<u32> {
    let list = list?;
    std::iter::from_fn(|| list.pop()).find(|task| fresh.contains(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{CacheLevels, Topology};

    /// Up to any distance.
    fn from(nearest: Level) -> Distance {
        Distance { nearest, farthest: Level::Any }
    }

    #[test]
    fn failed_first_then_near_then_in_order() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let b = topology.intern_host("b", "/r2");
        let racks: Racks = [(a, topology.shared_near(a)), (b, topology.shared_near(b))].into_iter().collect();
        let preferred_hosts: [Arc<[HostId]>; 4] = [[b].into(), [a].into(), [a, b].into(), [].into()];
        let mut pending = PendingTasks::maps(&preferred_hosts, &racks);
        let take = |pending: &mut PendingTasks, level| pending.take(from(level), a, topology.near(a), |_| true);
        assert_eq!(take(&mut pending, Level::Node), Some(1));
        pending.requeue(1, 1);
        assert_eq!(
            pending.take(from(Level::Node), a, topology.near(a), |map| map != 1),
            Some(2),
            "never where it failed"
        );
        assert_eq!(pending.len(), 3);
        assert_eq!(take(&mut pending, Level::Any), Some(1), "failed ones come first");
        assert_eq!(take(&mut pending, Level::Any), Some(0));
        assert_eq!(take(&mut pending, Level::Any), Some(3));
        assert_eq!(take(&mut pending, Level::Any), None);
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn a_returned_map_goes_first_wherever_its_input_is() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let b = topology.intern_host("b", "/r2");
        let racks: Racks = [(a, topology.shared_near(a)), (b, topology.shared_near(b))].into_iter().collect();
        let preferred_hosts: [Arc<[HostId]>; 2] = [[a].into(), [b].into()];
        let mut pending = PendingTasks::maps(&preferred_hosts, &racks);
        assert_eq!(pending.take(from(Level::Node), b, topology.near(b), |_| true), Some(1));
        pending.requeue(1, 0);
        let rest: Vec<_> =
            std::iter::from_fn(|| pending.take(from(Level::Node), a, topology.near(a), |_| true)).collect();
        assert_eq!(rest, [1, 0]);
    }

    #[test]
    fn a_map_far_from_its_data_goes_before_one_without() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let b = topology.intern_host("b", "/r2");
        let racks: Racks = [(a, topology.shared_near(a))].into_iter().collect();
        let preferred_hosts: [Arc<[HostId]>; 2] = [[].into(), [a].into()];
        let mut pending = PendingTasks::maps(&preferred_hosts, &racks);
        let far: Vec<_> =
            std::iter::from_fn(|| pending.take(from(Level::Any), b, topology.near(b), |_| true)).collect();
        assert_eq!(far, [1, 0]);
    }

    #[test]
    fn a_reduce_that_was_killed_waits_in_its_order() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let mut pending = PendingTasks::reduces(3);
        let take = |pending: &mut PendingTasks| pending.take(from(Level::Any), a, topology.near(a), |_| true);
        assert_eq!((take(&mut pending), take(&mut pending)), (Some(0), Some(1)));
        pending.requeue(1, 0);
        assert_eq!((take(&mut pending), take(&mut pending)), (Some(1), Some(2)));
    }

    #[test]
    fn many_that_failed_here_hide_none_that_may_run() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let count = SEARCH_LIMIT as u32 + 50;
        let mut pending = PendingTasks::reduces(count + 1);
        let rack = topology.near(a);
        for reduce in 0..count {
            assert_eq!(pending.take(from(Level::Any), a, rack, |_| true), Some(reduce));
        }
        (0..count).for_each(|reduce| pending.requeue(reduce, 1));
        assert_eq!(pending.take(from(Level::Any), a, rack, |_| false), Some(count));
        assert_eq!(pending.take(from(Level::Any), a, rack, |_| false), None);
    }

    #[test]
    fn a_task_is_no_farther_than_allowed_unless_it_has_failed() {
        let mut topology = Topology::default();
        let [here, beside, far] =
            [("a", "/r1"), ("b", "/r1"), ("c", "/r2")].map(|(host, rack)| topology.intern_host(host, rack));
        let racks: Racks = [here, beside, far].into_iter().map(|host| (host, topology.shared_near(host))).collect();
        let preferred_hosts: [Arc<[HostId]>; 4] = [[far].into(), [beside].into(), [here].into(), [].into()];
        let mut pending = PendingTasks::maps(&preferred_hosts, &racks);
        let rack = topology.near(here);
        let mut take = |nearest, farthest| pending.take(Distance { nearest, farthest }, here, rack, |_| true);
        assert_eq!([take(Level::Node, Level::Node), take(Level::Rack, Level::Node)], [Some(2), None]);
        assert_eq!([take(Level::Rack, Level::Rack), take(Level::Any, Level::Rack)], [Some(1), None]);
        pending.requeue(2, 1);
        let mut take = |nearest, farthest| pending.take(Distance { nearest, farthest }, here, rack, |_| true);
        assert_eq!([take(Level::Any, Level::Node), take(Level::Any, Level::Node)], [Some(2), None]);
        assert_eq!([(); 3].map(|()| take(Level::Any, Level::Any)), [Some(0), Some(3), None]);
    }

    #[test]
    fn a_group_of_racks_is_nearer_than_another_group() {
        let mut topology = Topology::default();
        topology.set_levels(CacheLevels::new(3));
        let [here, beside, group, far] = [("a", "/x/r1"), ("b", "/x/r1"), ("c", "/x/r2"), ("d", "/y/r3")]
            .map(|(host, rack)| topology.intern_host(host, rack));
        let racks: Racks =
            [here, beside, group, far].into_iter().map(|host| (host, topology.shared_near(host))).collect();
        let preferred_hosts: [Arc<[HostId]>; 4] = [[far].into(), [far, group].into(), [beside].into(), [].into()];
        let mut pending = PendingTasks::maps(&preferred_hosts, &racks);
        let mut take =
            |farthest| pending.take(Distance { nearest: Level::Node, farthest }, here, topology.near(here), |_| true);
        assert_eq!([take(Level::Node), take(Level::Rack), take(Level::Rack)], [None, Some(2), Some(1)]);
        assert_eq!([take(Level::Rack), take(Level::Any), take(Level::Any)], [None, Some(0), Some(3)]);
    }
}
