//! What passes between the assignment loop and those who turn grants into attempts.

use std::sync::Arc;

use crate::model::{Kind, PerKind};

use super::{AppId, HostId, Level, NodeId};

/// A heartbeat of a node that may take tasks.
#[derive(Clone, Copy, Debug)]
pub struct NodeOffer {
    /// The node.
    pub node: NodeId,
    /// Slots that may be filled now: the smaller of what the tracker says and what the caller's own books say.
    pub free: PerKind<u32>,
}

/// What a heartbeat came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignmentReport {
    /// Tasks granted.
    pub granted: PerKind<u32>,
    /// Apps that were asked and had nothing for this node; at most [`SKIP_BUDGET`](super::SKIP_BUDGET) for each kind.
    pub skipped: u32,
}

/// Picks the task once the scheduler has decided which app gets a slot.
pub trait GrantSource {
    /// Takes one waiting task of `app` for `node`. `level` is the nearest level at which the app has one waiting; the
    /// source may take a task of another level when it has reasons.
    fn take_task(&mut self, app: AppId, kind: Kind, node: NodeId, level: Level) -> GrantResult;
}

/// The answer of a [`GrantSource`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantResult {
    /// A task was taken and runs from now on.
    Task {
        /// The hosts it was requested with.
        hosts: Arc<[HostId]>,
        /// It has run before: 1.2.1 gives out such a map as if it were near, wherever its data are.
        is_rerun: bool,
    },
    /// None of its waiting tasks may run on this node, as when all have failed on this host. The app is left out for
    /// the rest of the heartbeat.
    NoTask,
}
