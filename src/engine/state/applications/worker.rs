//! A worker that takes containers, and what it is owed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{Capability, ContainerId, TrackerId};

/// A worker that has sent a whole list of its containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerWorker {
    /// Its tracker.
    pub tracker: TrackerId,
    /// A random number of its process.
    pub incarnation: u64,
    /// `host:web port`.
    pub node: Arc<str>,
    /// Its host.
    pub host: Arc<str>,
    /// Its rack.
    pub rack: Arc<str>,
    /// Memory and cores of all that it runs.
    pub capability: Capability,
    /// Why it takes no container; none: it does.
    pub complaint: Option<String>,
    /// Containers that it says it has.
    pub has: BTreeSet<ContainerId>,
    /// Launches that an answer has carried.
    pub sent: BTreeSet<ContainerId>,
    /// Whether there is a launch or a kill that no answer has carried since its connection began.
    pub has_news: bool,
}
