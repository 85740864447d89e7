//! The connection that each tracker is served on.
//!
//! A tracker's own connection is the one that its last heartbeat came on, as long as it is open. Whether another one may
//! take its place is found out by the edge before a heartbeat comes here.

use std::sync::Arc;

use crate::model::Now;

use super::Reply;
use super::engine::{Engine, Wait};

/// How a tracker stands to a connection that a heartbeat in its name has come on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// It is the tracker's own connection.
    Own,
    /// The tracker is not known, or its own connection is closed.
    Absent,
    /// The tracker's own connection is another one, which is open.
    Elsewhere(OwnConnection),
}

/// The open connection of a tracker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnConnection {
    /// Its number.
    pub connection: u64,
    /// When the last heartbeat came on it, ms of the monotonic clock.
    pub last_seen_mono_ms: u64,
    /// It was silent for longer than a tracker that is well.
    pub is_silent: bool,
    /// No other connection is the tracker's: the tracker registered on it under a name that was free, or it is undisputed
    /// for an expiry interval. Else both may be, since after a restart the first to come was believed.
    pub is_sure: bool,
}

/// A tracker's own connection as an earlier process knew it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedSpeaker {
    /// The tracker's name.
    pub tracker: Arc<str>,
    /// The number of the connection, here.
    pub connection: u64,
    /// See [`OwnConnection::is_sure`].
    pub is_sure: bool,
}

// === impl Engine: speakers ===

impl Engine {
    /// How the tracker of that name stands to a connection.
    pub fn speaker(&self, tracker: &str, connection: u64, now: Now) -> Speaker {
        let Some(tracker) = self.trackers.get(tracker) else { return Speaker::Absent };
        if tracker.connection == connection {
            return Speaker::Own;
        }
        if !self.connections.contains(&tracker.connection) {
            return Speaker::Absent;
        }
        let silent_ms = now.mono_ms.saturating_sub(tracker.last_seen_mono_ms);
        Speaker::Elsewhere(OwnConnection {
            connection: tracker.connection,
            last_seen_mono_ms: tracker.last_seen_mono_ms,
            is_silent: silent_ms > self.longest_silence_ms(),
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// The host that a tracker is registered from; none when it is not known.
    pub fn host_of_tracker(&self, tracker: &str) -> Option<Arc<str>> {
        self.trackers.get(tracker).map(|tracker| tracker.host.clone())
    }

    /// The longest pause between two heartbeats that a tracker was given, ms.
    pub fn longest_interval_ms(&self) -> u64 {
        u64::try_from(self.config.heartbeat.interval_ms(self.trackers.len(), true)).unwrap_or(0)
    }

    /// All open connections of trackers, to hand over to another process.
    pub fn speakers(&self, now: Now) -> impl Iterator<Item = CarriedSpeaker> {
        let open = self.trackers.values().filter(|tracker| self.connections.contains(&tracker.connection));
        open.map(move |tracker| CarriedSpeaker {
            tracker: tracker.name.clone(),
            connection: tracker.connection,
            is_sure: tracker.is_sure(self.config.tracker_expiry_ms, now),
        })
    }

    /// Trackers of an earlier process keep their connections. Those that are not known any more must register again anyway.
    pub(super) fn speakers_carried(&mut self, speakers: Vec<CarriedSpeaker>, now: Now) -> (Reply, Wait) {
        for CarriedSpeaker { tracker, connection, is_sure } in speakers {
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
