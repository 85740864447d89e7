//! Hosts and racks by number, so that tables and comparisons never use names.
//!
//! A rack is a path, `/building/row/rack`; what its path names above it, `/building/row` and `/building`, are groups of
//! racks, and have ids like racks. How many levels count is fixed before the first host is named ([`CacheLevels`]).
//!
//! Invariant: the rack of a [`HostId`] never changes, hence rows that were added for it can be removed again.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Violations, lower, raise};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RackId(u32);

/// How near a grant is to the data of its task, nearest first (1.2.1 `obtainNewNodeLocalMapTask`,
/// `obtainNewNodeOrRackLocalMapTask`, `obtainNewMapTask`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// On a host that holds the data.
    Node,
    /// In a rack that holds the data, or in a group of racks that does, as far as [`CacheLevels`] reach.
    Rack,
    /// Anywhere: off-switch, or a task without preferences.
    Any,
}

/// Levels of locality (`mapred.task.cache.levels`), from 1 to 8: 1 host, 2 host and rack, more: groups of racks too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLevels(usize);

impl CacheLevels {
    pub(crate) const MAX: usize = 8;

    /// So many, at least one.
    #[must_use]
    pub(crate) fn new(levels: usize) -> Self {
        Self(levels.clamp(1, Self::MAX))
    }

    /// Whether hosts of a rack have all levels (1.2.1 `JobTracker.addHostToNodeMapping`); one that has not is far from
    /// what its path does not reach.
    #[must_use]
    pub(crate) fn are_in(self, rack: &str) -> bool {
        rack.split('/').filter(|name| !name.is_empty()).count() >= self.groups()
    }

    #[must_use]
    pub(crate) fn groups(self) -> usize {
        self.0 - 1
    }
}

impl Default for CacheLevels {
    fn default() -> Self {
        Self(2)
    }
}

impl std::fmt::Display for CacheLevels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The path of a rack, then those above it, nearest first; not the root.
pub(crate) fn rack_path(rack: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(rack), |path| path.rsplit_once('/').map(|(above, _)| above))
        .filter(|path| !path.is_empty())
}

/// The hosts and racks in use; ids are valid only for the topology that assigned them.
///
/// A host stays until each [`hold`](Self::hold) on it is released; one that was never held stays. A host where a node
/// stood is remembered for a while after that, so that a returning tracker finds what jobs have recorded of it. An id
/// is not reused before all others were, so an old id never names another host.
#[derive(Debug, Default)]
pub struct Topology {
    // Looked up, never iterated.
    hosts: FxHashMap<HostId, TopologyHost>,
    racks: FxHashMap<RackId, Rack>,
    host_by_name: BTreeMap<Arc<str>, HostId>,
    rack_by_name: BTreeMap<Arc<str>, RackId>,
    /// Former hosts of nodes without holders, by order of their last release.
    idle: BTreeMap<u64, HostId>,
    last_host: u32,
    last_rack: u32,
    last_idle: u64,
    levels: CacheLevels,
    pub(super) violations: Violations,
}

#[derive(Debug)]
struct TopologyHost {
    name: Arc<str>,
    rack: RackId,
    /// Its rack and the groups above it, nearest first, as far as the levels reach; at least its rack.
    groups: Arc<[RackId]>,
    holders: u32,
    had_node: bool,
    idle: Option<u64>,
}

#[derive(Debug)]
struct Rack {
    name: Arc<str>,
    /// Hosts in it, or in the racks below it.
    hosts: u32,
}

/// Most former hosts of nodes that are remembered.
const MAX_IDLE_HOSTS: usize = 10_000;
/// The rack of an unknown host; no node is in it.
const NO_RACK: RackId = RackId(0);

impl Topology {
    /// Sets the levels of locality, before any host is named.
    pub(crate) fn set_levels(&mut self, levels: CacheLevels) {
        self.violations
            .check(self.hosts.is_empty(), || "levels of locality are set before any host is named".to_owned());
        self.levels = levels;
    }

    pub(crate) fn levels(&self) -> CacheLevels {
        self.levels
    }

    /// The id of a host. A new host goes to `rack`; a known one keeps its rack.
    pub fn intern_host(&mut self, host: &str, rack: &str) -> HostId {
        match self.host_by_name.get(host) {
            Some(&id) => id,
            None => self.place_host(host, rack),
        }
    }

    /// Moves a host to another rack and returns its new id.
    ///
    /// The old id stays valid, in the old rack, while it is held: requests made with it still match that rack. The id
    /// is unchanged when the host is in `rack` already.
    pub(crate) fn move_host(&mut self, host: &str, rack: &str) -> HostId {
        match self.host_by_name.get(host) {
            Some(&id) if self.rack_name(self.rack_of(id)) == rack => id,
            _ => self.place_host(host, rack),
        }
    }

    pub(crate) fn hold(&mut self, host: HostId) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        raise(&mut known.holders, 1_u32, &mut self.violations);
        if let Some(place) = known.idle.take() {
            self.idle.remove(&place);
        }
    }

    pub(crate) fn hold_for_node(&mut self, host: HostId) {
        self.hold(host);
        if let Some(known) = self.hosts.get_mut(&host) {
            known.had_node = true;
        }
    }

    pub(crate) fn release(&mut self, host: HostId) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        lower(&mut known.holders, 1_u32, &mut self.violations);
        if known.holders > 0 {
            return;
        }
        if known.had_node && self.host_by_name.get(&known.name) == Some(&host) {
            self.last_idle += 1;
            if let Some(before) = known.idle.replace(self.last_idle) {
                self.idle.remove(&before);
            }
            self.idle.insert(self.last_idle, host);
            if self.idle.len() > MAX_IDLE_HOSTS
                && let Some((_, oldest)) = self.idle.pop_first()
            {
                self.forget(oldest);
            }
        } else {
            self.forget(host);
        }
    }

    pub(crate) fn host(&self, name: &str) -> Option<HostId> {
        self.host_by_name.get(name).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub(crate) fn rack_of(&self, host: HostId) -> RackId {
        self.hosts.get(&host).map_or(NO_RACK, |host| host.rack)
    }

    /// The rack of a host and the groups of racks above it, nearest first, as far as the levels reach.
    pub(crate) fn near(&self, host: HostId) -> &[RackId] {
        let groups: &[RackId] = self.hosts.get(&host).map_or(&[], |host| &host.groups);
        &groups[..groups.len().min(self.levels.groups())]
    }

    pub(crate) fn shared_near(&self, host: HostId) -> Arc<[RackId]> {
        match self.levels.groups() {
            0 => Arc::new([]),
            _ => self.groups(host),
        }
    }

    /// The same, and its rack even where only hosts count as near.
    pub(super) fn groups(&self, host: HostId) -> Arc<[RackId]> {
        let groups = self.hosts.get(&host).map(|host| Arc::clone(&host.groups));
        groups.unwrap_or_else(|| Arc::new([]))
    }

    /// The id of a rack or group, when a host is known in it.
    pub(crate) fn rack(&self, name: &str) -> Option<RackId> {
        self.rack_by_name.get(name).copied()
    }

    /// The name of a host, as first given; empty when unknown.
    pub(crate) fn host_name(&self, host: HostId) -> &str {
        self.hosts.get(&host).map_or("", |host| &host.name)
    }

    pub(crate) fn rack_name(&self, rack: RackId) -> &str {
        self.racks.get(&rack).map_or("", |rack| &rack.name)
    }

    #[cfg(test)]
    pub(crate) fn level(&self, host: HostId, data: &[HostId]) -> Level {
        let near = self.near(host);
        if data.contains(&host) {
            Level::Node
        } else if data.iter().any(|&other| self.near(other).iter().any(|group| near.contains(group))) {
            Level::Rack
        } else {
            Level::Any
        }
    }

    fn place_host(&mut self, host: &str, rack: &str) -> HostId {
        let (rack, groups) = self.intern_rack(rack);
        let before = self.host(host);
        let known = before.and_then(|id| self.hosts.get(&id));
        let had_node = known.is_some_and(|host| host.had_node);
        let name: Arc<str> = known.map_or_else(|| host.into(), |host| host.name.clone());
        let mut id = HostId(self.last_host.wrapping_add(1));
        while self.hosts.contains_key(&id) {
            id = HostId(id.0.wrapping_add(1));
        }
        self.last_host = id.0;
        self.hosts.insert(id, TopologyHost { name: name.clone(), rack, groups, holders: 0, had_node, idle: None });
        self.host_by_name.insert(name, id);
        if let Some(before) = before.filter(|before| self.hosts.get(before).is_some_and(|host| host.holders == 0)) {
            self.forget(before);
        }
        id
    }

    /// The rack of that name with the groups above it, counting one more host in each.
    fn intern_rack(&mut self, rack: &str) -> (RackId, Arc<[RackId]>) {
        let most = self.levels.groups().max(1);
        let groups: Arc<[RackId]> = rack_path(rack).take(most).map(|name| self.intern_group(name)).collect();
        (groups.first().copied().unwrap_or(NO_RACK), groups)
    }

    fn intern_group(&mut self, rack: &str) -> RackId {
        if let Some((id, known)) = self.rack_by_name.get(rack).and_then(|id| Some((*id, self.racks.get_mut(id)?))) {
            known.hosts += 1;
            return id;
        }
        let mut id = RackId(self.last_rack.wrapping_add(1));
        while id == NO_RACK || self.racks.contains_key(&id) {
            id = RackId(id.0.wrapping_add(1));
        }
        self.last_rack = id.0;
        let name: Arc<str> = rack.into();
        self.racks.insert(id, Rack { name: name.clone(), hosts: 1 });
        self.rack_by_name.insert(name, id);
        id
    }

    fn forget(&mut self, id: HostId) {
        let Some(host) = self.hosts.remove(&id) else { return };
        if let Some(place) = host.idle {
            self.idle.remove(&place);
        }
        if self.host_by_name.get(&host.name) == Some(&id) {
            self.host_by_name.remove(&host.name);
        }
        host.groups.iter().for_each(|group| self.leave_group(*group));
    }

    fn leave_group(&mut self, id: RackId) {
        let Some(rack) = self.racks.get_mut(&id) else { return };
        lower(&mut rack.hosts, 1_u32, &mut self.violations);
        if rack.hosts == 0
            && let Some(rack) = self.racks.remove(&id)
        {
            self.rack_by_name.remove(&rack.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_host_keeps_its_rack() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        assert_eq!(topology.intern_host("a", "/r2"), a);
        assert_eq!(topology.rack_name(topology.rack_of(a)), "/r1");
        assert_eq!(topology.host("b"), None);
    }

    #[test]
    fn a_moved_host_leaves_its_old_id_in_the_old_rack() {
        let mut topology = Topology::default();
        let old = topology.intern_host("a", "/r1");
        topology.hold(old);
        assert_eq!(topology.move_host("a", "/r1"), old);
        let new = topology.move_host("a", "/r2");
        assert_ne!(new, old);
        assert_eq!(topology.host("a"), Some(new));
        assert_eq!(topology.host_name(old), topology.host_name(new));
        assert_eq!(topology.rack_name(topology.rack_of(old)), "/r1");
        assert_eq!(topology.rack_name(topology.rack_of(new)), "/r2");
    }

    #[test]
    fn the_nearest_copy_decides_the_level() {
        let mut topology = Topology::default();
        let a = topology.intern_host("a", "/r1");
        let b = topology.intern_host("b", "/r1");
        let c = topology.intern_host("c", "/r2");
        assert_eq!(topology.level(a, &[c, b, a]), Level::Node);
        assert_eq!(topology.level(a, &[c, b]), Level::Rack);
        assert_eq!(topology.level(a, &[c]), Level::Any);
        assert_eq!(topology.level(a, &[]), Level::Any);
    }

    #[test]
    fn hosts_and_racks_go_with_their_last_holder() {
        let mut topology = Topology::default();
        let made_up: Vec<HostId> =
            (0..1_000).map(|host| topology.intern_host(&format!("h{host}"), &format!("/r{host}"))).collect();
        made_up.iter().for_each(|host| topology.hold(*host));
        topology.hold(made_up[7]);
        made_up.iter().for_each(|host| topology.release(*host));
        assert_eq!((topology.len(), topology.racks.len(), topology.rack_by_name.len()), (1, 1, 1));
        assert_eq!((topology.host_name(made_up[7]), topology.host_name(made_up[8])), ("h7", ""));
        topology.release(made_up[7]);
        assert!(topology.is_empty() && topology.racks.is_empty() && topology.host_by_name.is_empty());
        assert_eq!(topology.level(made_up[1], &[]), Level::Any);
        assert!(!made_up.contains(&topology.intern_host("h1", "/r")), "its id may still be in use");
    }

    #[test]
    fn where_a_node_has_stood_is_remembered_for_a_while() {
        let mut topology = Topology::default();
        let first = topology.intern_host("first", "/r");
        for _ in 0..3 {
            topology.hold_for_node(first);
            topology.release(first);
        }
        assert_eq!((topology.host("first"), topology.idle.len()), (Some(first), 1));
        for host in 0..2 * MAX_IDLE_HOSTS {
            let host = topology.intern_host(&format!("h{host}"), "/r");
            topology.hold_for_node(host);
            topology.release(host);
        }
        assert_eq!((topology.host("first"), topology.len()), (None, MAX_IDLE_HOSTS));
    }

    #[test]
    fn a_moved_host_without_holders_leaves_nothing_behind() {
        let mut topology = Topology::default();
        let old = topology.intern_host("a", "/r1");
        topology.hold_for_node(old);
        let new = topology.move_host("a", "/r2");
        topology.hold_for_node(new);
        topology.release(old);
        assert_eq!((topology.len(), topology.host("a"), topology.racks.len()), (1, Some(new), 1));
    }

    #[test]
    fn groups_of_racks_come_and_go_with_their_hosts() {
        let mut topology = Topology::default();
        topology.set_levels(CacheLevels::new(3));
        let [a, b, c] =
            [("a", "/x/y/r1"), ("b", "/x/y/r2"), ("c", "/x/z/r3")].map(|(host, rack)| topology.intern_host(host, rack));
        let names = |host| topology.near(host).iter().map(|group| topology.rack_name(*group)).collect::<Vec<_>>();
        assert_eq!(names(a), ["/x/y/r1", "/x/y"], "the third level; /x is the fourth");
        assert_eq!((topology.level(a, &[b]), topology.level(a, &[c])), (Level::Rack, Level::Any));
        let short = topology.intern_host("d", "/default-rack");
        assert_eq!(topology.near(short).len(), 1);
        assert!(!topology.levels().are_in("/default-rack") && topology.levels().are_in("/x/y"));
        [a, b, c, short].into_iter().for_each(|host| topology.hold(host));
        topology.release(b);
        assert!(topology.rack("/x/y").is_some(), "a is there still");
        [a, c, short].into_iter().for_each(|host| topology.release(host));
        assert!(topology.racks.is_empty() && topology.rack_by_name.is_empty());
    }
}
