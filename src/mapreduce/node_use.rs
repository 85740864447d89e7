//! How a job could use a slot of a node, for explanations of why it waits.

use crate::model::{Kind, TrackerId};

use super::job::slowstart_maps;
use super::{Job, NodeRegistry};

/// Whether and why not a slot of a node helps a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeUse {
    /// A slot of it would help.
    Useful,
    /// Its tracker runs only Hadoop Streaming, which this job is not.
    Unsupported,
    /// Too many of the job's attempts failed there.
    Avoided,
    /// Its disk has no room for what a map is expected to write.
    NoRoom,
    /// Every waiting task has failed there.
    FailedThere,
}

// === impl Job: why it waits ===

impl Job {
    /// Whether a slot of a node would help, by [`Self::can_use`], or why not.
    pub fn node_use(&self, kind: Kind, node: TrackerId, nodes: &NodeRegistry) -> NodeUse {
        if self.can_use(kind, node, nodes) {
            NodeUse::Useful
        } else if self.is_unsupported_on(node, nodes) {
            NodeUse::Unsupported
        } else if self.avoids(kind, node, nodes) {
            NodeUse::Avoided
        } else if kind == Kind::Map && !self.has_room_on(node, nodes) {
            NodeUse::NoRoom
        } else {
            NodeUse::FailedThere
        }
    }

    /// Maps that must be done or given up before its reduces may start; none when enough are.
    pub fn maps_before_reduces(&self) -> Option<u32> {
        (!self.are_reduces_due()).then(|| slowstart_maps(&self.spec))
    }
}
