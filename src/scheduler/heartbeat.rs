//! One heartbeat as the policy sees it: what the node offered, and what was granted so far.

use crate::model::{Now, PerKind, TrackerId};

/// A heartbeat during the assignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeat {
    pub(super) node: TrackerId,
    pub(super) now: Now,
    /// Slots not filled yet.
    pub(super) free: PerKind<u32>,
    pub(super) granted: PerKind<u32>,
    pub(super) granted_slots: PerKind<u32>,
    /// Tasks granted since the first off-switch one, itself not counted; none before it.
    pub(super) since_off_switch: PerKind<Option<u32>>,
    /// Whether another task of the kind may be granted.
    pub(super) is_open: PerKind<bool>,
}

impl Heartbeat {
    pub(super) fn new(node: TrackerId, now: Now, free: PerKind<u32>) -> Self {
        Self {
            node,
            now,
            free,
            granted: PerKind::default(),
            granted_slots: PerKind::default(),
            since_off_switch: PerKind::default(),
            is_open: PerKind::default(),
        }
    }
}
