//! A connection in transit between two servers.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::wire::opening::OpeningStage;

/// A connection without a reader, a writer or an unanswered call.
#[derive(Debug)]
pub(crate) struct InheritedConnection {
    /// Its number at the old server.
    pub(crate) number: u64,
    pub(crate) socket: OwnedFd,
    pub(crate) introduction: Introduction,
    pub(crate) has_sent_heartbeat: bool,
    /// The trackers that send heartbeats on it.
    pub(crate) trackers: Vec<InheritedTracker>,
    /// Received and not decoded: part of a frame, or frames that had to wait.
    pub(crate) unread: Vec<u8>,
    /// The rest of answers that the client has not read.
    pub(crate) unsent: Vec<u8>,
}

/// A tracker that sends heartbeats on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InheritedTracker {
    pub(crate) name: Arc<str>,
    /// See `TrackerConnection::is_sure` of the engine.
    pub(crate) is_sure: bool,
}

/// What a client sent before its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Introduction {
    Opening(OpeningStage),
    /// Complete: user and protocol are known.
    Done {
        protocol: String,
        user: Arc<str>,
        /// The calling user, if it is another.
        real_user: Option<Arc<str>>,
    },
}

impl Introduction {
    pub(crate) fn protocol(&self) -> Option<&str> {
        match self {
            Self::Opening(_) => None,
            Self::Done { protocol, .. } => Some(protocol),
        }
    }
}
