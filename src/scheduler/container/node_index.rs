//! The nodes that take containers: how many, what is free on all of them, and where the next one with room is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Capability, TrackerId};
use crate::scheduler::{HostId, RackId};

use super::room_index::RoomIndex;

#[derive(Debug, Default)]
pub(in crate::scheduler) struct NodeIndex {
    nodes: BTreeMap<TrackerId, IndexedNode>,
    all: RoomIndex,
    by_rack: BTreeMap<RackId, RoomIndex>,
    by_host: BTreeMap<HostId, BTreeSet<TrackerId>>,
    /// Those in a rack or a group of racks, full ones included.
    in_rack: BTreeSet<(RackId, TrackerId)>,
    /// How many have declared the same.
    sizes: BTreeMap<Capability, u32>,
    memory_mb: u64,
    vcores: u64,
    version: NodesVersion,
}

/// Changes whenever a node comes, goes or moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::scheduler) struct NodesVersion(u64);

#[derive(Clone, Debug)]
struct IndexedNode {
    host: HostId,
    /// Its rack, then the groups of racks above it.
    groups: Arc<[RackId]>,
    declared: Capability,
    free: Capability,
}

impl NodeIndex {
    /// Sets where a node stands, what it has declared and what is free there; `groups` are its rack and the groups of
    /// racks above it. Whether anything but what is free changed.
    pub(super) fn set(
        &mut self,
        node: TrackerId,
        host: HostId,
        groups: &Arc<[RackId]>,
        (declared, free): (Capability, Capability),
    ) -> bool {
        let is_same =
            |before: &IndexedNode| before.host == host && before.groups == *groups && before.declared == declared;
        let was_free = self.nodes.get(&node).filter(|before| is_same(before)).map(|before| before.free);
        match was_free {
            Some(was_free) => self.subtract(was_free),
            None => {
                self.remove(node);
                self.version.0 += 1;
                self.by_host.entry(host).or_default().insert(node);
                self.in_rack.extend(groups.iter().map(|group| (*group, node)));
                *self.sizes.entry(declared).or_default() += 1;
            }
        }
        self.nodes.insert(node, IndexedNode { host, groups: Arc::clone(groups), declared, free });
        self.memory_mb += u64::from(free.memory_mb);
        self.vcores += u64::from(free.vcores);
        self.all.set(node, free);
        for group in groups.iter() {
            self.by_rack.entry(*group).or_default().set(node, free);
        }
        was_free.is_none()
    }

    /// Forgets a node that takes no containers now; whether it was there.
    pub(super) fn remove(&mut self, node: TrackerId) -> bool {
        let Some(IndexedNode { host, groups, declared, free }) = self.nodes.remove(&node) else { return false };
        self.version.0 += 1;
        self.subtract(free);
        if let Some(nodes) = self.sizes.get_mut(&declared) {
            *nodes -= 1;
            if *nodes == 0 {
                self.sizes.remove(&declared);
            }
        }
        self.all.set(node, Capability::default());
        for group in groups.iter() {
            self.in_rack.remove(&(*group, node));
            let Some(of_rack) = self.by_rack.get_mut(group) else { continue };
            of_rack.set(node, Capability::default());
            if of_rack.is_empty() {
                self.by_rack.remove(group);
            }
        }
        if let Some(of_host) = self.by_host.get_mut(&host) {
            of_host.remove(&node);
            if of_host.is_empty() {
                self.by_host.remove(&host);
            }
        }
        true
    }

    pub(super) fn version(&self) -> NodesVersion {
        self.version
    }

    pub(super) fn has_host(&self, host: HostId) -> bool {
        self.by_host.contains_key(&host)
    }

    /// How many nodes have declared the same, by what they have declared.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (Capability, u32)> {
        self.sizes.iter().map(|(declared, nodes)| (*declared, *nodes))
    }

    pub(super) fn place_of(&self, node: TrackerId) -> Option<(HostId, Capability)> {
        self.nodes.get(&node).map(|node| (node.host, node.declared))
    }

    /// Those of a host or a rack, full ones included, by number.
    pub(super) fn named(&self, host: Option<HostId>, rack: Option<RackId>) -> impl Iterator<Item = TrackerId> {
        let on_host = host.and_then(|host| self.by_host.get(&host)).into_iter().flatten().copied();
        let in_rack = rack.map(|rack| self.in_rack.range((rack, TrackerId::NONE)..=(rack, TrackerId::LAST)));
        on_host.chain(in_rack.into_iter().flatten().map(|(_, node)| *node))
    }

    fn subtract(&mut self, free: Capability) {
        self.memory_mb -= u64::from(free.memory_mb);
        self.vcores -= u64::from(free.vcores);
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Memory, MB, and cores that are free on all of them.
    pub(super) fn free(&self) -> (u64, u64) {
        (self.memory_mb, self.vcores)
    }

    /// What is free on a node; none when it takes no containers.
    pub(super) fn free_on(&self, node: TrackerId) -> Option<Capability> {
        self.nodes.get(&node).map(|node| node.free)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = TrackerId> {
        self.nodes.keys().copied()
    }

    pub(super) fn on_host(&self, host: HostId, capability: Capability) -> impl Iterator<Item = TrackerId> {
        let nodes = self.by_host.get(&host).into_iter().flatten().copied();
        nodes.filter(move |node| self.free_on(*node).is_some_and(|free| capability.fits(free)))
    }

    /// The first in a rack from `from` on that has room.
    pub(super) fn next_in_rack(&self, rack: RackId, from: TrackerId, capability: Capability) -> Option<TrackerId> {
        self.by_rack.get(&rack)?.next(from, capability)
    }

    /// The first anywhere from `from` on that has room.
    pub(super) fn next(&self, from: TrackerId, capability: Capability) -> Option<TrackerId> {
        self.all.next(from, capability)
    }

    pub(super) fn at(&self, host: Option<HostId>, rack: Option<RackId>) -> impl Iterator<Item = TrackerId> {
        let is_there = move |(_, node): &(&TrackerId, &IndexedNode)| {
            Some(node.host) == host || rack.is_some_and(|rack| node.groups.contains(&rack))
        };
        self.nodes.iter().filter(is_there).map(|(id, _)| *id)
    }
}
