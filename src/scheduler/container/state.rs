//! What the scheduler keeps for containers beside the applications and nodes themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Capability, PerKind, TrackerId};
use crate::scheduler::{AppId, GroupId};

use super::node_index::NodeIndex;
use super::type_table::DEFAULT_LOCALITY_DELAY;

/// Nodes that take containers, and what has changed since containers were last granted.
#[derive(Debug)]
pub(in crate::scheduler) struct GrantingState {
    pub(super) nodes: NodeIndex,
    pub(super) slot: Capability,
    pub(super) locality_delay: u32,
    /// Nodes with more room than before.
    pub(super) freed: BTreeSet<TrackerId>,
    /// Applications that may be granted more than before.
    pub(super) asked: BTreeSet<AppId>,
    pub(super) earmarking: BTreeSet<TrackerId>,
    /// The node whose heartbeat this is, from its offer to containers on, after its tasks, until all has been granted.
    pub(super) beating: Option<TrackerId>,
    /// Whether something was woken since it was offered.
    pub(super) has_woken: bool,
    /// Applications with rows, by the groups that count them.
    pub(super) asking: BTreeSet<(GroupId, AppId)>,
    /// Slots of containers that groups want, as far as they have been worked out since their rows, or nodes, changed.
    pub(super) wants: BTreeMap<GroupId, u32>,
    /// Groups whose rows have changed since.
    pub(super) stale: BTreeSet<GroupId>,
    /// Whether nodes have.
    pub(super) are_all_stale: bool,
    pub(super) housekeeping: WaitingHousekeeping,
}

/// Groups that are remembered one by one until their wants are worked out again.
const MOST_STALE: usize = 20_000;

/// How many tasks wait that the caller launches itself at heartbeats, before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingHousekeeping {
    /// Those that a free slot of either kind serves: setups and cleanups.
    pub(crate) of_either_kind: u32,
    /// Those that need a slot of one kind: task-cleanups.
    pub(crate) of_kind: PerKind<u32>,
}

impl GrantingState {
    pub(in crate::scheduler) fn note_woken(&mut self) {
        self.has_woken = true;
    }

    /// The rows of a group have changed: what it wants is worked out again.
    pub(super) fn forget_want(&mut self, group: GroupId) {
        self.wants.remove(&group);
        self.stale.insert(group);
        if self.stale.len() > MOST_STALE {
            // No market rules that would ask.
            self.stale.clear();
            self.are_all_stale = true;
        }
    }

    /// The nodes have changed: what all groups want is worked out again.
    pub(super) fn forget_wants(&mut self) {
        self.wants.clear();
        self.are_all_stale = true;
    }

    pub(in crate::scheduler) fn asking(&self) -> impl Iterator<Item = &(GroupId, AppId)> {
        self.asking.iter()
    }
}

impl Default for GrantingState {
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
            asking: BTreeSet::new(),
            wants: BTreeMap::new(),
            stale: BTreeSet::new(),
            are_all_stale: false,
            housekeeping: WaitingHousekeeping::default(),
        }
    }
}
