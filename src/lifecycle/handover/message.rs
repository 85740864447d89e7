//! What the two processes say to each other.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::wire::opening::OpeningStage;

/// The version of what is handed over and how. A process that speaks another refuses.
pub(super) const VERSION: u32 = 1;

/// The first word of the old process: what there will be to take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lifecycle) struct Offer {
    pub(super) version: u32,
    /// The folder of the state, without links.
    pub(in crate::lifecycle) state_dir: PathBuf,
    pub(in crate::lifecycle) rpc: Port,
    pub(in crate::lifecycle) http: Port,
}

/// A port that is listened on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lifecycle) struct Port {
    /// As the configuration has it, host and port.
    pub(in crate::lifecycle) configured: String,
    /// What came of it.
    pub(in crate::lifecycle) bound: SocketAddr,
}

/// What the new process says, one after another; a refusal ends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FromSuccessor {
    /// It cannot or will not go on; nothing has happened yet.
    Refused { why: String },
    /// It can read its configuration and the state, and waits for the [`Estate`].
    Ready { version: u32, program_version: String },
    /// It has the store open and everything in its hands, and waits for the word.
    Restored,
    /// It serves.
    Serving,
}

/// What the old process says after [`FromSuccessor::Restored`] and after [`FromSuccessor::Serving`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ToSuccessor {
    /// Serve.
    Go,
    /// The supervisor knows who serves now.
    Farewell,
}

/// What is handed over, after [`FromSuccessor::Ready`]. All bytes of connections follow in their order, unread before
/// unsent; then the descriptors: RPC, web, control if there is one, connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inventory {
    pub(super) has_control: bool,
    /// The names of those that serve.
    pub(super) trackers: Vec<String>,
    /// Job ids that wait for their submission, each with its user; earlier programs name none.
    #[serde(default)]
    pub(super) open_ids: Vec<(String, String)>,
    pub(super) connections: Vec<ConnectionEntry>,
}

/// One connection of an [`Inventory`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConnectionEntry {
    pub(super) introduction: IntroductionEntry,
    /// A heartbeat has come on it. Earlier programs do not say: then whoever names the trackers' protocol counts as one.
    #[serde(default)]
    pub(super) has_beaten: Option<bool>,
    /// Those that are heard on it; earlier programs name none.
    #[serde(default)]
    pub(super) trackers: Vec<TrackerEntry>,
    pub(super) unread_bytes: usize,
    pub(super) unsent_bytes: usize,
}

/// A tracker that is heard on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrackerEntry {
    pub(super) name: String,
    /// No other connection can be its own.
    pub(super) is_sure: bool,
}

/// What the client has said before its calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum IntroductionEntry {
    /// Not all of it.
    Opening(OpeningStage),
    /// All.
    Done { protocol: String, user: String },
}
