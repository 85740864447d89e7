//! Read access to the engine's state for tests and the simulator's invariants. Never reaches clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::{HousekeepingQueue, Jobs, NodeRegistry};
use crate::model::{ApplicationId, JobId, Now, PerKind, TrackerId};
use crate::scheduler::{AppId, Scheduler};

use super::Engine;

/// A read-only view of the engine's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inspection<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// A read-only view of the state.
    pub(crate) fn inspect(&self) -> Inspection<'_> {
        Inspection { engine: self }
    }
}

impl<'a> Inspection<'a> {
    pub(crate) fn jobs(self) -> &'a Jobs {
        self.engine.jobs.all()
    }

    /// Whether a timer at this time runs a round of preemption, unless it is in safe mode.
    pub(crate) fn is_preemption_due(self, now: Now) -> bool {
        self.engine.rounds.is_preemption_due(self.engine.config.policy.is_market(), now)
    }

    /// Demand, usage and allocations.
    pub(crate) fn scheduler(self) -> &'a Scheduler {
        &self.engine.cluster.scheduler
    }

    pub(crate) fn nodes(self) -> &'a NodeRegistry {
        &self.engine.cluster.nodes
    }

    /// Jobs that wait for setup, cleanup or task-cleanup.
    pub(crate) fn housekeeping(self) -> &'a HousekeepingQueue {
        &self.engine.cluster.housekeeping
    }

    /// Unfinished jobs by queue; no entry for queues without any.
    pub(crate) fn live_jobs(self) -> &'a BTreeMap<String, BTreeSet<JobId>> {
        self.engine.jobs.live.by_queue()
    }

    /// Longest time between TERM and KILL of a container that is preempted, ms: one interval, in which who bought its room
    /// waits for it.
    pub(crate) fn preemption_grace_ms(self) -> u64 {
        let most_ms = self.engine.applications.settings.max_kill_grace_ms;
        self.engine.config.policy.market_interval_ms().map_or(most_ms, |interval_ms| most_ms.min(interval_ms))
    }

    pub(crate) fn tracker_id_of(self, name: &str) -> Option<TrackerId> {
        self.engine.trackers.id_of(name)
    }

    /// Hosts in the default rack only because nothing has said yet where they are.
    pub(crate) fn unresolved_hosts(self) -> &'a BTreeSet<Arc<str>> {
        &self.engine.trackers.unresolved_hosts
    }

    pub(crate) fn app_of(self, application: ApplicationId) -> Option<AppId> {
        self.engine.applications.app(application)
    }

    pub(crate) fn trackers(self) -> impl Iterator<Item = TrackerId> + 'a {
        self.engine.trackers.iter().map(|tracker| tracker.id)
    }

    pub(crate) fn trackers_at_work(self, now: Now) -> impl Iterator<Item = (TrackerId, PerKind<u32>)> + 'a {
        let at_work = self.engine.trackers.iter().filter(move |tracker| self.engine.can_take_work(tracker, now));
        at_work.map(|tracker| (tracker.id, tracker.slots))
    }

    /// Number of completed jobs with trackers that have not acknowledged KILL_JOB.
    pub(crate) fn pending_kill_jobs(self) -> usize {
        self.engine.jobs.finished.pending_kill_jobs().len()
    }
}
