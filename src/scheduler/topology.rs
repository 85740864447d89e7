//! Hosts and racks by number, so that tables and comparisons never touch a name.
//!
//! Invariant: the rack of a [`HostId`] never changes, hence rows that were added for it can be taken away again.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A host in one rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u32);

/// A rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RackId(u32);

/// How near a grant is to the data of its task, nearest first. Hadoop 1.2.1 with `mapred.task.cache.levels` 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// On a host that holds the data.
    Node,
    /// In a rack that holds the data.
    Rack,
    /// Anywhere: off-switch, or a task without preferences.
    Any,
}

/// All hosts and racks ever named; ids are good only for the one that gave them. Grows only, so callers bound what they
/// intern.
#[derive(Debug, Default)]
pub struct Topology {
    hosts: Vec<Host>,
    racks: Vec<Arc<str>>,
    host_by_name: BTreeMap<Arc<str>, HostId>,
    rack_by_name: BTreeMap<Arc<str>, RackId>,
}

#[derive(Debug)]
struct Host {
    name: Arc<str>,
    rack: RackId,
}

// === impl Topology ===

impl Topology {
    /// The id of a host. A new host goes to `rack`; a known one keeps its rack, whatever `rack` says.
    pub fn intern_host(&mut self, host: &str, rack: &str) -> HostId {
        match self.host_by_name.get(host) {
            Some(&id) => id,
            None => self.place_host(host, rack),
        }
    }

    /// Puts a host into another rack and returns its id from now on.
    ///
    /// The old id stays valid, in the old rack: demand that was requested with it keeps meeting that rack. The id is
    /// unchanged when the host is in `rack` already.
    pub fn move_host(&mut self, host: &str, rack: &str) -> HostId {
        match self.host_by_name.get(host) {
            Some(&id) if self.rack_name(self.rack_of(id)) == rack => id,
            _ => self.place_host(host, rack),
        }
    }

    /// The id of a host, when it was ever named.
    pub fn host(&self, name: &str) -> Option<HostId> {
        self.host_by_name.get(name).copied()
    }

    /// How many ids of hosts were given.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether no host was ever named.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The rack of a host.
    pub fn rack_of(&self, host: HostId) -> RackId {
        self.hosts[host.0 as usize].rack
    }

    /// The name of a host, as first given.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.0 as usize].name
    }

    /// The name of a rack, as first given.
    pub fn rack_name(&self, rack: RackId) -> &str {
        &self.racks[rack.0 as usize]
    }

    /// How near `host` is to the nearest of `data`.
    pub fn level(&self, host: HostId, data: &[HostId]) -> Level {
        let rack = self.rack_of(host);
        if data.contains(&host) {
            Level::Node
        } else if data.iter().any(|&other| self.rack_of(other) == rack) {
            Level::Rack
        } else {
            Level::Any
        }
    }

    fn place_host(&mut self, host: &str, rack: &str) -> HostId {
        let rack = self.intern_rack(rack);
        let name: Arc<str> = self.host(host).map_or_else(|| host.into(), |id| self.hosts[id.0 as usize].name.clone());
        let id = HostId(self.hosts.len() as u32);
        self.hosts.push(Host { name: name.clone(), rack });
        self.host_by_name.insert(name, id);
        id
    }

    fn intern_rack(&mut self, rack: &str) -> RackId {
        if let Some(&id) = self.rack_by_name.get(rack) {
            return id;
        }
        let id = RackId(self.racks.len() as u32);
        let name: Arc<str> = rack.into();
        self.racks.push(name.clone());
        self.rack_by_name.insert(name, id);
        id
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
}
