//! The registered trackers, as far as jobs need to know them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind, TrackerId};
use crate::scheduler::{HostId, RackId, Topology};

#[derive(Clone, Debug)]
pub(crate) struct NodeInfo {
    pub(crate) name: Arc<str>,
    pub(crate) host: HostId,
    pub(crate) rack: RackId,
    /// The rack and the groups of racks above it, as far as the levels of locality reach.
    pub(crate) near: Arc<[RackId]>,
    /// `http://<host>:<port>` of its web server.
    pub(crate) http: Arc<str>,
    pub(crate) streaming_only: bool,
    /// Free room in its local directories, bytes; none while it reports none.
    pub(crate) free_disk_bytes: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct NodeRegistry {
    // Never iterated.
    nodes: FxHashMap<TrackerId, NodeInfo>,
    // Never iterated.
    hosts: FxHashMap<HostId, HostNodes>,
    // The registered trackers of each host; never iterated.
    by_host: FxHashMap<HostId, BTreeSet<TrackerId>>,
    offering: PerKind<usize>,
    /// Those of them with slots for more than Hadoop Streaming.
    stock_offering: PerKind<usize>,
    // Kinds of slots of trackers that do not have both; never iterated.
    offers: FxHashMap<TrackerId, PerKind<bool>>,
    unhealthy: BTreeSet<TrackerId>,
    /// Whether every host counts for both kinds, whatever slots it has.
    counts_all_hosts: bool,
    /// What [`Self::in_service`] and [`Self::eligible_hosts`] say has changed since [`Self::take_has_changed`].
    has_changed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct HostNodes {
    trackers: u32,
    offering: PerKind<u32>,
    /// Those of these that run more than Hadoop Streaming.
    stock_offering: PerKind<u32>,
}

/// The hosts that a job can use: all, or only those with trackers that run Java code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EligibleHosts<'a> {
    registry: &'a NodeRegistry,
    stock_only: bool,
}

/// The kinds of slots of a tracker before its first report.
const BOTH: PerKind<bool> = PerKind::new(true, true);

impl NodeRegistry {
    /// A registry in which every host has slots of both kinds, as in 1.2.1: there a task may wait for a host without slots of its kind.
    pub(crate) fn counting_all_hosts() -> Self {
        Self { counts_all_hosts: true, ..Self::default() }
    }

    /// Counts every host, or only those with slots, from now on; `slots` are those of all trackers.
    pub(crate) fn set_counting_all_hosts(
        &mut self,
        counts_all_hosts: bool,
        slots: impl IntoIterator<Item = (TrackerId, PerKind<u32>)>,
    ) {
        if counts_all_hosts == self.counts_all_hosts {
            return;
        }
        self.counts_all_hosts = false;
        for (tracker, slots) in slots {
            self.set_slots(tracker, if counts_all_hosts { PerKind::new(1, 1) } else { slots });
        }
        self.counts_all_hosts = counts_all_hosts;
    }

    /// Whether trackers, their health or their kinds of slots have changed since the last call.
    pub(crate) fn take_has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Adds a tracker, with slots of both kinds until [`Self::set_slots`].
    pub(crate) fn insert(&mut self, tracker: TrackerId, info: NodeInfo) {
        self.remove(tracker);
        self.join_host(info.host, BOTH, info.streaming_only);
        self.by_host.entry(info.host).or_default().insert(tracker);
        self.nodes.insert(tracker, info);
    }

    pub(crate) fn remove(&mut self, tracker: TrackerId) -> Option<NodeInfo> {
        let info = self.nodes.remove(&tracker)?;
        self.unhealthy.remove(&tracker);
        let offers = self.offers.remove(&tracker).unwrap_or(BOTH);
        self.leave_host(info.host, offers, info.streaming_only);
        self.forget_on(info.host, tracker);
        Some(info)
    }

    pub(crate) fn get(&self, tracker: TrackerId) -> Option<&NodeInfo> {
        self.nodes.get(&tracker)
    }

    /// The hosts for a job that runs on all trackers, or on stock ones only.
    pub(crate) fn eligible_hosts(&self, stock_only: bool) -> EligibleHosts<'_> {
        EligibleHosts { registry: self, stock_only }
    }

    /// Sets the slots of a tracker; an unhealthy one has none.
    pub(crate) fn set_slots(&mut self, tracker: TrackerId, slots: PerKind<u32>) {
        let Some(info) = self.nodes.get(&tracker).filter(|_| !self.counts_all_hosts) else { return };
        let (host, streaming_only) = (info.host, info.streaming_only);
        let offers = PerKind::new(slots.map > 0, slots.reduce > 0);
        let before = if offers == BOTH { self.offers.remove(&tracker) } else { self.offers.insert(tracker, offers) };
        if before.unwrap_or(BOTH) == offers {
            return;
        }
        self.join_host(host, offers, streaming_only);
        self.leave_host(host, before.unwrap_or(BOTH), streaming_only);
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn set_free_disk(&mut self, tracker: TrackerId, bytes: Option<u64>) {
        if let Some(info) = self.nodes.get_mut(&tracker) {
            info.free_disk_bytes = bytes;
        }
    }

    pub(crate) fn set_http(&mut self, tracker: TrackerId, http: &str) {
        if let Some(info) = self.nodes.get_mut(&tracker).filter(|info| *info.http != *http) {
            info.http = http.into();
        }
    }

    pub(crate) fn set_healthy(&mut self, tracker: TrackerId, healthy: bool) {
        if healthy {
            self.has_changed |= self.unhealthy.remove(&tracker);
        } else if self.nodes.contains_key(&tracker) {
            self.has_changed |= self.unhealthy.insert(tracker);
        }
    }

    pub(crate) fn in_service(&self) -> usize {
        self.nodes.len() - self.unhealthy.len()
    }

    pub(crate) fn on_host(&self, host: HostId) -> usize {
        self.hosts.get(&host).map_or(0, |host| host.trackers as usize)
    }

    /// Sets the host of a tracker after it moved to another rack and got another id.
    pub(crate) fn move_tracker(&mut self, tracker: TrackerId, host: HostId, topology: &Topology) {
        let Some(info) = self.nodes.get_mut(&tracker) else { return };
        let old = std::mem::replace(&mut info.host, host);
        (info.rack, info.near) = (topology.rack_of(host), topology.shared_near(host));
        let streaming_only = info.streaming_only;
        let offers = self.offers.get(&tracker).copied().unwrap_or(BOTH);
        self.join_host(host, offers, streaming_only);
        self.leave_host(old, offers, streaming_only);
        self.forget_on(old, tracker);
        self.by_host.entry(host).or_default().insert(tracker);
    }

    pub(crate) fn trackers_on(&self, host: HostId) -> impl Iterator<Item = TrackerId> {
        self.by_host.get(&host).into_iter().flatten().copied()
    }

    fn forget_on(&mut self, host: HostId, tracker: TrackerId) {
        if let Some(trackers) = self.by_host.get_mut(&host) {
            trackers.remove(&tracker);
            if trackers.is_empty() {
                self.by_host.remove(&host);
            }
        }
    }

    fn join_host(&mut self, host: HostId, offers: PerKind<bool>, streaming_only: bool) {
        self.has_changed = true;
        let count = self.hosts.entry(host).or_default();
        count.trackers += 1;
        for kind in Kind::ALL.into_iter().filter(|kind| offers[*kind]) {
            count.offering[kind] += 1;
            self.offering[kind] += usize::from(count.offering[kind] == 1);
            if !streaming_only {
                count.stock_offering[kind] += 1;
                self.stock_offering[kind] += usize::from(count.stock_offering[kind] == 1);
            }
        }
    }

    fn leave_host(&mut self, host: HostId, offers: PerKind<bool>, streaming_only: bool) {
        self.has_changed = true;
        let Some(count) = self.hosts.get_mut(&host) else { return };
        for kind in Kind::ALL.into_iter().filter(|kind| offers[*kind]) {
            count.offering[kind] -= 1;
            self.offering[kind] -= usize::from(count.offering[kind] == 0);
            if !streaming_only {
                count.stock_offering[kind] -= 1;
                self.stock_offering[kind] -= usize::from(count.stock_offering[kind] == 0);
            }
        }
        count.trackers -= 1;
        if count.trackers == 0 {
            self.hosts.remove(&host);
        }
    }
}

impl EligibleHosts<'_> {
    pub(crate) fn offering(&self, kind: Kind) -> usize {
        if self.stock_only { self.registry.stock_offering[kind] } else { self.registry.offering[kind] }
    }

    pub(crate) fn offers(&self, host: HostId, kind: Kind) -> bool {
        let Some(host) = self.registry.hosts.get(&host) else { return false };
        let offering = if self.stock_only { host.stock_offering } else { host.offering };
        offering[kind] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::{FifoOptions, Scheduler};

    #[test]
    fn hosts_are_counted_by_the_slots_of_their_nodes() {
        let mut scheduler = Scheduler::fifo(FifoOptions::default());
        let [a, b] = ["a", "b"].map(|host| scheduler.topology_mut().intern_host(host, "/r"));
        let [one, two, three] = [a, a, b].map(|host| scheduler.add_node(host, PerKind::default()));
        let rack = scheduler.topology().rack_of(a);
        let info = |host| NodeInfo {
            name: "t".into(),
            host,
            rack,
            near: Arc::new([rack]),
            http: "".into(),
            streaming_only: false,
            free_disk_bytes: None,
        };
        let mut registry = NodeRegistry::default();
        let offering = |registry: &NodeRegistry| {
            let hosts = registry.eligible_hosts(false);
            (hosts.offering(Kind::Map), hosts.offering(Kind::Reduce))
        };
        let offers = |registry: &NodeRegistry, host, kind| registry.eligible_hosts(false).offers(host, kind);
        registry.insert(one, info(a));
        registry.insert(two, info(a));
        registry.insert(three, info(b));
        assert_eq!(offering(&registry), (2, 2));
        registry.set_slots(one, PerKind::new(1, 0));
        registry.set_slots(three, PerKind::new(1, 0));
        assert_eq!(
            (offering(&registry), offers(&registry, a, Kind::Reduce), offers(&registry, b, Kind::Reduce)),
            ((2, 1), true, false)
        );
        registry.set_slots(two, PerKind::default());
        assert_eq!(offering(&registry), (2, 0));
        registry.move_tracker(three, a, scheduler.topology());
        assert_eq!((offering(&registry), registry.on_host(a)), ((1, 0), 3));
        registry.set_slots(three, PerKind::new(0, 4));
        registry.remove(one);
        assert_eq!(offering(&registry), (0, 1));
        registry.insert(one, info(b));
        assert_eq!((offering(&registry), registry.on_host(b), registry.on_host(a)), ((1, 2), 1, 2));
        let mut all = NodeRegistry::counting_all_hosts();
        all.insert(one, info(a));
        all.set_slots(one, PerKind::default());
        assert_eq!((offering(&all), offers(&all, a, Kind::Reduce)), ((1, 1), true));
    }

    #[test]
    fn hosts_with_stock_trackers_are_counted_apart() {
        let mut scheduler = Scheduler::fifo(FifoOptions::default());
        let [a, b] = ["a", "b"].map(|host| scheduler.topology_mut().intern_host(host, "/r"));
        let rack = scheduler.topology().rack_of(a);
        let [one, two, three] = [a, a, b].map(|host| scheduler.add_node(host, PerKind::default()));
        let info = |host, streaming_only| NodeInfo {
            name: "t".into(),
            host,
            rack,
            near: Arc::new([rack]),
            http: "".into(),
            streaming_only,
            free_disk_bytes: None,
        };
        let mut registry = NodeRegistry::default();
        registry.insert(one, info(a, true));
        registry.insert(two, info(a, false));
        registry.insert(three, info(b, true));
        let maps =
            |registry: &NodeRegistry| [false, true].map(|stock| registry.eligible_hosts(stock).offering(Kind::Map));
        assert_eq!(maps(&registry), [2, 1]);
        assert!(
            registry.eligible_hosts(true).offers(a, Kind::Map) && !registry.eligible_hosts(true).offers(b, Kind::Map)
        );
        registry.set_slots(two, PerKind::new(0, 1));
        assert_eq!((maps(&registry), registry.eligible_hosts(true).offering(Kind::Reduce)), ([2, 0], 1));
        registry.set_slots(two, PerKind::new(1, 1));
        registry.move_tracker(two, b, scheduler.topology());
        assert!(
            !registry.eligible_hosts(true).offers(a, Kind::Map) && registry.eligible_hosts(true).offers(b, Kind::Map)
        );
        registry.remove(two);
        assert_eq!(maps(&registry), [2, 0]);
    }
}
