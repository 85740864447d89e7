//! A connection between two servers: what the one that lets go of it tells the one that goes on with it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::wire::opening::OpeningStage;

/// A connection that nobody reads or writes at present, with no call in hand.
#[derive(Debug)]
pub(crate) struct Carried {
    /// Its number, here.
    pub(crate) number: u64,
    pub(crate) socket: OwnedFd,
    pub(crate) introduction: Introduction,
    /// A heartbeat has come on it.
    pub(crate) has_beaten: bool,
    /// Those that are heard on it.
    pub(crate) trackers: Vec<CarriedTracker>,
    /// What was read and not taken: the beginning of a frame, or frames that had to wait.
    pub(crate) unread: Vec<u8>,
    /// The end of answers that the client has not taken yet.
    pub(crate) unsent: Vec<u8>,
}

/// A tracker that is heard on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CarriedTracker {
    pub(crate) name: Arc<str>,
    /// See `TrackerConnection::is_sure` of the engine.
    pub(crate) is_sure: bool,
}

/// What a client has said before its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Introduction {
    /// Not all of it yet.
    Opening(OpeningStage),
    /// Who it is and what it speaks.
    Done {
        /// The name of the protocol's class.
        protocol: String,
        user: Arc<str>,
    },
}

// === impl Introduction ===

impl Introduction {
    /// The class name of the protocol that was named, once it was.
    pub(crate) fn protocol(&self) -> Option<&str> {
        match self {
            Self::Opening(_) => None,
            Self::Done { protocol, .. } => Some(protocol),
        }
    }
}
