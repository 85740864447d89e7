//! Messages between the two processes, and what is handed over.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ipc::InheritedConnection;
use crate::model::JobId;
use crate::wire::opening::OpeningStage;

/// The version of the hand-over protocol. A process with another one refuses.
pub(super) const VERSION: u32 = 1;

/// The first message of the old process: what it can hand over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub(super) version: u32,
    /// The canonical path of the state folder.
    pub(crate) state_dir: PathBuf,
    pub(crate) rpc: Port,
    pub(crate) http: Port,
}

/// A port that the old process listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Port {
    /// As configured, host and port.
    pub(crate) configured: String,
    pub(crate) bound: SocketAddr,
}

/// What is handed over. The old process keeps the descriptors open too.
#[derive(Debug)]
pub(crate) struct HandoverState {
    pub(crate) rpc: TcpListener,
    pub(crate) http: TcpListener,
    pub(crate) control: Option<UnixListener>,
    pub(crate) trackers: BTreeSet<Arc<str>>,
    /// Job ids without a submission yet, with their users.
    pub(crate) open_ids: Vec<(JobId, Arc<str>)>,
    pub(crate) connections: Vec<InheritedConnection>,
}

/// Messages of the new process, in this order; a refusal ends the hand-over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FromSuccessor {
    /// It cannot take over; nothing has changed yet.
    Refused {
        why: String,
    },
    /// It can read its configuration and the state, and waits for the [`HandoverState`].
    Ready {
        version: u32,
        program_version: String,
    },
    /// It has opened the store and received everything, and waits for permission to serve.
    Restored,
    Serving,
}

/// Messages of the old process after [`FromSuccessor::Restored`] and after [`FromSuccessor::Serving`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToSuccessor {
    Serve,
    /// The service manager knows the new process.
    Acknowledged,
}

/// What is handed over, after [`FromSuccessor::Ready`]. The bytes of the connections follow in order, unread before
/// unsent; then the descriptors: RPC, web, control if there is one, connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    pub(super) has_control: bool,
    pub(super) trackers: Vec<String>,
    /// Job ids without a submission yet, each with its user; absent from earlier programs.
    #[serde(default)]
    pub(super) open_ids: Vec<(String, String)>,
    pub(super) connections: Vec<ConnectionEntry>,
}

/// One connection of an [`Inventory`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConnectionEntry {
    pub(super) introduction: IntroductionEntry,
    /// A heartbeat arrived on it. Absent from earlier programs: then a connection with the trackers' protocol counts.
    #[serde(default)]
    pub(super) has_beaten: Option<bool>,
    /// The trackers that send heartbeats on it; absent from earlier programs.
    #[serde(default)]
    pub(super) trackers: Vec<TrackerEntry>,
    pub(super) unread_bytes: usize,
    pub(super) unsent_bytes: usize,
}

/// A tracker that sends heartbeats on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrackerEntry {
    pub(super) name: String,
    /// No other connection can be its own.
    pub(super) is_sure: bool,
}

/// What the client sent before its calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum IntroductionEntry {
    Opening(OpeningStage),
    Done {
        protocol: String,
        user: String,
        /// The calling user, if it is another; absent from earlier programs, which admitted none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        real_user: Option<String>,
    },
}
