//! A tracker's own connection, and what it means when another one uses its name.

use core::net::IpAddr;
use std::sync::Arc;

/// The relation of a tracker to the connection of a heartbeat under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionStatus {
    Own,
    /// The tracker is unknown, or its own connection is closed.
    Absent,
    /// The tracker has another open connection.
    Elsewhere(TrackerConnection),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrackerConnection {
    pub(crate) connection: u64,
    /// Time of the last heartbeat on it, ms of the monotonic clock.
    pub(crate) last_seen_mono_ms: u64,
    /// It was silent for longer than any healthy tracker.
    pub(crate) is_silent: bool,
    /// The connection certainly belongs to the tracker: the tracker registered on it under a name that was free, or
    /// used it for an expiry interval. Otherwise it may be an impostor's: after a restart the first connection is
    /// accepted.
    pub(crate) is_sure: bool,
}

/// Where a heartbeat comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatSender {
    pub(crate) connection: u64,
    /// The address of its peer; none where it is unknown.
    pub(crate) address: Option<IpAddr>,
}

/// A tracker's own connection, handed over by the previous process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedTrackerConnection {
    pub(crate) tracker: Arc<str>,
    /// The number of the connection in this process.
    pub(crate) connection: u64,
    pub(crate) is_sure: bool,
}
