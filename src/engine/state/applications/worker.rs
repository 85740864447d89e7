//! A worker that takes containers, and what it is owed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::ContextId;
use crate::api::applications::ContainerState;
use crate::model::{AttemptId, Capability, ContainerId, TrackerId};

use super::container::Container;
use super::measured_use::MeasuredUses;

/// A worker that has sent a whole list of its containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerWorker {
    pub(crate) tracker: TrackerId,
    /// A random number of its process.
    pub(crate) incarnation: u64,
    /// `host:web port`.
    pub(crate) node: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) rack: Arc<str>,
    pub(crate) capability: Capability,
    /// Why it takes no container; none: it does.
    pub(crate) complaint: Option<String>,
    /// How long it rests after a container that it could not start for its own sake.
    pub(crate) rest: WorkerRest,
    pub(crate) has: BTreeSet<ContainerId>,
    /// Its containers with a launch that it has not said to have, or a kill.
    pub(crate) owed: BTreeSet<ContainerId>,
    pub(crate) sent: BTreeSet<ContainerId>,
    pub(crate) container_use: MeasuredUses<ContainerId>,
    pub(crate) attempt_use: MeasuredUses<AttemptId>,
    /// Whether it has reported what cannot be, which is logged once.
    pub(crate) has_lied: bool,
    pub(crate) keeps_contexts: bool,
    /// Contexts that it has said to keep, or that a container needs which it has said to have.
    pub(crate) contexts: BTreeSet<ContextId>,
    /// Contexts that it keeps and that no container needs any more, until an answer says so.
    pub(crate) dropped_contexts: BTreeSet<ContextId>,
    /// The last container in a portion of what it is owed; none: a portion begins with the first.
    pub(crate) portion_ended_at: Option<ContainerId>,
    /// Whether there is a launch or a kill that no answer has carried since its connection began.
    pub(crate) has_news: bool,
}

/// The pause of a worker that cannot start what it gets: tries of the same work are apart in time, however many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkerRest {
    until_mono_ms: u64,
    last_ms: u64,
}

/// First pause, ms; each further one without a start in between is twice as long.
const FIRST_REST_MS: u64 = 100;
const MAX_REST_MS: u64 = 60_000;

impl WorkerRest {
    /// It could not start a container. What was granted before the pause changes nothing.
    pub(crate) fn on_failed_start(&mut self, now_mono_ms: u64) {
        if !self.is_over(now_mono_ms) {
            return;
        }
        self.last_ms = (self.last_ms * 2).clamp(FIRST_REST_MS, MAX_REST_MS);
        self.until_mono_ms = now_mono_ms.saturating_add(self.last_ms);
    }

    pub(crate) fn on_start(&mut self) {
        self.last_ms = 0;
    }

    pub(crate) fn is_over(&self, now_mono_ms: u64) -> bool {
        self.until_mono_ms <= now_mono_ms
    }
}

impl ContainerWorker {
    /// Updates whether it is owed anything for a container of its: after each change of the container, and of what it has.
    pub(crate) fn note_what_is_owed(&mut self, container: &Container) {
        match self.lacks_launch(container) || (container.is_launched() && container.kill.is_some()) {
            true => self.owed.insert(container.id),
            false => self.owed.remove(&container.id),
        };
    }

    /// Whether a container is launched here, and it has not said to have it.
    pub(crate) fn lacks_launch(&self, container: &Container) -> bool {
        container.state == ContainerState::Launching && !self.has.contains(&container.id)
    }
}
