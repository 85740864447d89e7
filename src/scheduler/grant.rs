//! The interface between the assignment loop and the code that turns grants into attempts.

use std::sync::Arc;

use crate::model::{Kind, Now, PerKind, TrackerId};

use super::{AppId, HostId, Level};

#[derive(Clone, Copy, Debug)]
pub struct NodeOffer {
    pub node: TrackerId,
    /// Slots that may be filled now: the smaller of the tracker's own count and the caller's.
    pub free: PerKind<u32>,
    pub now: Now,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignmentReport {
    pub granted: PerKind<u32>,
    /// Apps without a task for the slots that were left; at most [`SKIP_BUDGET`](super::SKIP_BUDGET) for each kind.
    pub skipped: u32,
    /// Whether map slots of the node stay free that it has offered.
    pub leaves_maps_free: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The nearest level at which the app has a task waiting.
    pub nearest: Level,
    /// The farthest level that may be given. A task that has run before may be given at any distance, a speculative one
    /// only where this is [`Level::Any`].
    pub farthest: Level,
}

/// Picks the task once the scheduler has decided which app gets a slot.
pub trait GrantSource {
    /// Takes one waiting task of `app` for `node`, at any level up to the farthest.
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantResult {
    Task {
        /// The hosts it was requested with.
        hosts: Arc<[HostId]>,
        /// How far the node is from the task's input, whatever the origin.
        level: Level,
        origin: TaskOrigin,
        slots: u32,
    },
    /// None of its waiting tasks may run on this node, for example when all have failed on this host, or all are farther than allowed.
    NoTask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskOrigin {
    /// It has not run before.
    Fresh,
    /// It has run before, and no attempt of it runs now.
    Rerun,
    /// An attempt of it runs now, too slowly.
    Speculative,
}
