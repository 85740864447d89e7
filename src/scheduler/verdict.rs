//! What a policy says before an app is asked for a task.

use super::{GroupId, Level};

/// Whether an app may be asked for a task for a node.
///
/// What a limit refuses is *parked*: it leaves the order, so that later heartbeats do not meet it again, and returns by
/// itself when its usage drops, or when an app below it starts to wait. On any other change that lifts the limit the
/// policy has to wake it ([`Reaction`](super::change::Reaction)): limits, users, slots of the cluster. What only this
/// node refuses is passed over until the heartbeat ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ask it for a task whose input is at most so far away.
    Ask(Level),
    /// This node lacks something that the app needs: pass it over.
    NotOnThisNode,
    /// A limit of the app: park it.
    ParkApp,
    /// A limit of a group on its path: park the group with all below it. A user who reached a limit in a queue is such
    /// a group, where users have leaves of their own.
    ParkGroup(GroupId),
    /// Reserve all free slots of the node for the app, and fill no other of this kind.
    Reserve,
    /// Fill no more slots of this kind in this heartbeat.
    Stop,
}
