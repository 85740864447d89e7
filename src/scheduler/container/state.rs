//! What the scheduler keeps for containers beside the applications and nodes themselves.

use std::collections::BTreeSet;

use crate::model::{Capability, PerKind, TrackerId};
use crate::scheduler::AppId;

use super::container_table::DEFAULT_LOCALITY_DELAY;
use super::node_index::NodeIndex;

/// Nodes that take containers, and what has changed since containers were last granted.
#[derive(Debug)]
pub(in crate::scheduler) struct ContainerState {
    pub(super) nodes: NodeIndex,
    /// Memory and cores of one slot.
    pub(in crate::scheduler) slot: Capability,
    pub(super) locality_delay: u32,
    /// Nodes with more room than before.
    pub(super) freed: BTreeSet<TrackerId>,
    /// Applications that may be granted more than before.
    pub(super) asked: BTreeSet<AppId>,
    /// Nodes with room that is earmarked.
    pub(super) earmarking: BTreeSet<TrackerId>,
    /// The node whose heartbeat this is, from its offer to containers on, after its tasks, until all has been granted.
    pub(super) beating: Option<TrackerId>,
    /// Whether something was woken since it was offered.
    pub(in crate::scheduler) has_woken: bool,
    /// Setups, cleanups and task-cleanups that wait.
    pub(super) housekeeping: WaitingHousekeeping,
}

/// How many tasks wait that the caller launches itself at heartbeats, before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingHousekeeping {
    /// Those that a free slot of either kind serves: setups and cleanups.
    pub of_either_kind: u32,
    /// Those that need a slot of one kind: task-cleanups.
    pub of_kind: PerKind<u32>,
}

// === impl ContainerState ===

impl Default for ContainerState {
    fn default() -> Self {
        Self {
            nodes: NodeIndex::default(),
            slot: Capability::new(1_024, 1),
            locality_delay: DEFAULT_LOCALITY_DELAY,
            freed: BTreeSet::new(),
            asked: BTreeSet::new(),
            earmarking: BTreeSet::new(),
            beating: None,
            has_woken: false,
            housekeeping: WaitingHousekeeping::default(),
        }
    }
}
