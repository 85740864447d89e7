//! The connections of trackers.
//!
//! A tracker's own connection is that of its last heartbeat, while it is open. The edge decides whether another
//! connection may replace it before it sends a heartbeat to the engine.

use std::sync::Arc;

use crate::model::Now;

use super::Reply;
use super::engine::{Engine, Wait};

/// The relation of a tracker to the connection of a heartbeat under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// The connection is the tracker's own.
    Own,
    /// The tracker is unknown, or its own connection is closed.
    Absent,
    /// The tracker has another open connection.
    Elsewhere(TrackerConnection),
}

/// The open connection of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackerConnection {
    /// Its number.
    pub connection: u64,
    /// Time of the last heartbeat on it, ms of the monotonic clock.
    pub last_seen_mono_ms: u64,
    /// It was silent for longer than any healthy tracker.
    pub is_silent: bool,
    /// The connection certainly belongs to the tracker: the tracker registered on it under a name that was free, or
    /// used it for an expiry interval. Otherwise it may be an impostor's: after a restart the first connection is
    /// accepted.
    pub is_sure: bool,
}

/// A tracker's own connection, handed over by the previous process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedTrackerConnection {
    /// The tracker's name.
    pub tracker: Arc<str>,
    /// The number of the connection in this process.
    pub connection: u64,
    /// See [`TrackerConnection::is_sure`].
    pub is_sure: bool,
}

// === impl Engine: connections of trackers ===

impl Engine {
    /// The relation of the tracker of that name to a connection.
    pub fn connection_status(&self, tracker: &str, connection: u64, now: Now) -> ConnectionStatus {
        let Some(tracker) = self.trackers.get(tracker) else { return ConnectionStatus::Absent };
        if tracker.connection == connection {
            return ConnectionStatus::Own;
        }
        if !self.connections.contains(&tracker.connection) {
            return ConnectionStatus::Absent;
        }
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        ConnectionStatus::Elsewhere(TrackerConnection {
            connection: tracker.connection,
            last_seen_mono_ms: tracker.last_seen_mono_ms,
            is_silent: silent_ms > self.longest_silence_ms(),
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// The host of a registered tracker; none for an unknown one.
    pub fn host_of_tracker(&self, tracker: &str) -> Option<Arc<str>> {
        self.trackers.get(tracker).map(|tracker| tracker.host.clone())
    }

    /// The longest heartbeat interval, ms.
    pub fn longest_interval_ms(&self) -> u64 {
        u64::try_from(self.config.heartbeat.interval_ms(self.trackers.len(), true)).unwrap_or(0)
    }

    /// All open connections of trackers, to hand over to another process.
    pub fn tracker_connections(&self, now: Now) -> impl Iterator<Item = InheritedTrackerConnection> {
        let open = self.trackers.values().filter(|tracker| self.connections.contains(&tracker.connection));
        open.map(move |tracker| InheritedTrackerConnection {
            tracker: tracker.name.clone(),
            connection: tracker.connection,
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// Restores the connections of registered trackers; unknown ones must register again anyway.
    pub(super) fn on_connections_inherited(
        &mut self,
        connections: Vec<InheritedTrackerConnection>,
        now: Now,
    ) -> (Reply, Wait) {
        for InheritedTrackerConnection { tracker, connection, is_sure } in connections {
            if let Some(tracker) = self.trackers.get_mut(&tracker) {
                tracker.connection = connection;
                tracker.connected_mono_ms = now.mono_ms;
                tracker.is_introduced = is_sure;
                self.connections.insert(connection);
            }
        }
        (Reply::Done, Wait::Nothing)
    }
}
