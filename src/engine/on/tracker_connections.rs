//! The connections of trackers.
//!
//! A tracker's own connection is that of its last heartbeat, while it is open. The edge decides whether another
//! connection may replace it before it sends a heartbeat to the engine.

use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{ConnectionStatus, InheritedTrackerConnection, TrackerConnection};
use crate::model::Now;

impl Engine {
    /// The relation of the tracker of that name to a connection.
    pub(crate) fn connection_status(&self, tracker: &str, connection: u64, now: Now) -> ConnectionStatus {
        let Some(tracker) = self.trackers.named(tracker) else { return ConnectionStatus::Absent };
        if tracker.connection == connection {
            return ConnectionStatus::Own;
        }
        if !self.trackers.is_connected(tracker) {
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
    pub(crate) fn host_of_tracker(&self, tracker: &str) -> Option<Arc<str>> {
        self.trackers.named(tracker).map(|tracker| tracker.host.clone())
    }

    /// All open connections of trackers, to hand over to another process.
    pub(crate) fn tracker_connections(&self, now: Now) -> impl Iterator<Item = InheritedTrackerConnection> {
        let open = self.trackers.iter().filter(|tracker| self.trackers.is_connected(tracker));
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
            if let Some(id) = self.trackers.id_of(&tracker) {
                self.trackers.inherit_connection(id, connection, is_sure, now);
            }
        }
        (Reply::Done, Wait::Nothing)
    }
}
