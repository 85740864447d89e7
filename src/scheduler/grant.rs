//! The interface between the assignment loop and the code that turns grants into attempts.

use std::sync::Arc;

use crate::model::{Kind, PerKind, TrackerId};

use super::{AppId, HostId, Level};

/// Free slots that a node offers in a heartbeat.
#[derive(Clone, Copy, Debug)]
pub struct NodeOffer {
    /// The node.
    pub node: TrackerId,
    /// Slots that may be filled now: the smaller of the tracker's own count and the caller's.
    pub free: PerKind<u32>,
}

/// What one heartbeat was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignmentReport {
    /// Tasks granted.
    pub granted: PerKind<u32>,
    /// Apps tried without a task for this node; at most [`SKIP_BUDGET`](super::SKIP_BUDGET) for each kind.
    pub skipped: u32,
}

/// Picks the task once the scheduler has decided which app gets a slot.
pub trait GrantSource {
    /// Takes one waiting task of `app` for `node`. `level` is the nearest level at which the app has one waiting; the
    /// source may take a task of another level.
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, level: Level) -> GrantResult;
}

/// The answer of a [`GrantSource`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantResult {
    /// A task was taken and counts as running.
    Task {
        /// The hosts it was requested with.
        hosts: Arc<[HostId]>,
        /// It has run before: 1.2.1 grants such a map as if it were near, wherever its input is.
        is_rerun: bool,
    },
    /// None of its waiting tasks may run on this node, for example when all have failed on this host. The app is
    /// skipped for the rest of the heartbeat.
    NoTask,
}
