//! A worker that takes containers, and what it is owed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::ContainerState;
use crate::model::{Capability, ContainerId, TrackerId};

use super::container::Container;

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
    /// Its containers with a launch that it has not said to have, or a kill.
    pub owed: BTreeSet<ContainerId>,
    /// Launches that an answer has carried.
    pub sent: BTreeSet<ContainerId>,
    /// Whether there is a launch or a kill that no answer has carried since its connection began.
    pub has_news: bool,
}

// === impl ContainerWorker ===

impl ContainerWorker {
    /// Updates whether it is owed anything for a container of its: after each change of the container, and of what it has.
    pub fn note_what_is_owed(&mut self, container: &Container) {
        match self.lacks_launch(container) || (container.is_launched() && container.kill.is_some()) {
            true => self.owed.insert(container.id),
            false => self.owed.remove(&container.id),
        };
    }

    /// Whether a container is launched here, and it has not said to have it.
    pub fn lacks_launch(&self, container: &Container) -> bool {
        container.state == ContainerState::Launching && !self.has.contains(&container.id)
    }
}
