//! A connection between two servers: what the one that lets go of it tells the one that goes on with it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::wire::opening::OpeningStage;

/// A connection that nobody reads or writes at present, with no call in hand.
#[derive(Debug)]
pub(in crate::server) struct Carried {
    /// Its number, here.
    pub(in crate::server) number: u64,
    pub(in crate::server) socket: OwnedFd,
    pub(in crate::server) introduction: Introduction,
    /// A heartbeat has come on it.
    pub(in crate::server) has_beaten: bool,
    /// Those that are heard on it.
    pub(in crate::server) trackers: Vec<CarriedTracker>,
    /// What was read and not taken: the beginning of a frame, or frames that had to wait.
    pub(in crate::server) unread: Vec<u8>,
    /// The end of answers that the client has not taken yet.
    pub(in crate::server) unsent: Vec<u8>,
}

/// A tracker that is heard on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) struct CarriedTracker {
    pub(in crate::server) name: Arc<str>,
    /// See [`OwnConnection::is_sure`](crate::engine::OwnConnection::is_sure).
    pub(in crate::server) is_sure: bool,
}

/// What a client has said before its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) enum Introduction {
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
    pub(in crate::server) fn protocol(&self) -> Option<&str> {
        match self {
            Self::Opening(_) => None,
            Self::Done { protocol, .. } => Some(protocol),
        }
    }
}
