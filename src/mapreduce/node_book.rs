//! What jobs need to know of the nodes their attempts run on.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::scheduler::{HostId, NodeId, RackId};

/// A tracker, as jobs see it.
#[derive(Clone, Debug)]
pub struct NodeFace {
    /// Its name.
    pub name: Arc<str>,
    /// Its host.
    pub host: HostId,
    /// The rack of its host.
    pub rack: RackId,
    /// `http://<host>:<port>` of its web server.
    pub http: Arc<str>,
    /// Free room in its local directories, bytes; none while it does not tell.
    pub free_disk_bytes: Option<u64>,
}

/// All nodes that are registered, by id.
#[derive(Debug, Default)]
pub struct NodeBook {
    // Never iterated.
    nodes: FxHashMap<NodeId, NodeFace>,
    // How many registered nodes stand on each host; never iterated.
    hosts: FxHashMap<HostId, u32>,
    /// Nodes that report themselves unhealthy.
    unhealthy: BTreeSet<NodeId>,
}

// === impl NodeBook ===

impl NodeBook {
    /// Enters a node.
    pub fn insert(&mut self, node: NodeId, face: NodeFace) {
        *self.hosts.entry(face.host).or_default() += 1;
        if let Some(old) = self.nodes.insert(node, face) {
            self.leave_host(old.host);
        }
    }

    /// Strikes a node out.
    pub fn remove(&mut self, node: NodeId) -> Option<NodeFace> {
        let face = self.nodes.remove(&node)?;
        self.unhealthy.remove(&node);
        self.leave_host(face.host);
        Some(face)
    }

    /// A node that is registered.
    pub fn get(&self, node: NodeId) -> Option<&NodeFace> {
        self.nodes.get(&node)
    }

    /// Number of different hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node is registered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Notes how much room a node has left, as far as it tells.
    pub fn set_free_disk(&mut self, node: NodeId, bytes: Option<u64>) {
        if let Some(face) = self.nodes.get_mut(&node) {
            face.free_disk_bytes = bytes;
        }
    }

    /// Notes where the web server of a node is.
    pub fn set_http(&mut self, node: NodeId, http: &str) {
        if let Some(face) = self.nodes.get_mut(&node).filter(|face| *face.http != *http) {
            face.http = http.into();
        }
    }

    /// Notes what a node says of its health.
    pub fn set_healthy(&mut self, node: NodeId, healthy: bool) {
        if healthy {
            self.unhealthy.remove(&node);
        } else if self.nodes.contains_key(&node) {
            self.unhealthy.insert(node);
        }
    }

    /// Number of nodes that take work: those that are not unhealthy.
    pub fn in_service(&self) -> usize {
        self.nodes.len() - self.unhealthy.len()
    }

    /// Number of nodes on a host.
    pub fn on_host(&self, host: HostId) -> usize {
        self.hosts.get(&host).map_or(0, |count| *count as usize)
    }

    /// The host of a node has moved to another rack, and has another id there.
    pub fn place(&mut self, node: NodeId, host: HostId, rack: RackId) {
        let Some(face) = self.nodes.get_mut(&node) else { return };
        let old = std::mem::replace(&mut face.host, host);
        face.rack = rack;
        *self.hosts.entry(host).or_default() += 1;
        self.leave_host(old);
    }

    fn leave_host(&mut self, host: HostId) {
        if let Some(count) = self.hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&host);
            }
        }
    }
}
