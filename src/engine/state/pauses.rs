//! Jobs that are held and queues that are paused: nothing of them starts until they are released or resumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::PendingReason;
use crate::model::JobId;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseTarget {
    Job(JobId),
    /// All jobs and applications of a queue, which is paused.
    Queue(Arc<str>),
}

/// A job that is held, or a queue that is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub(crate) target: PauseTarget,
    pub(crate) user: Arc<str>,
    /// Since when, epoch ms.
    pub(crate) since_ms: i64,
}

impl Pause {
    pub(crate) fn reason(&self) -> PendingReason {
        let (by, since_ms) = (self.user.to_string(), self.since_ms);
        match &self.target {
            PauseTarget::Job(_) => PendingReason::Held { by, since_ms },
            PauseTarget::Queue(queue) => PendingReason::QueuePaused { queue: queue.to_string(), by, since_ms },
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Pauses {
    by_target: BTreeMap<PauseTarget, Pause>,
}

/// Most pauses: those of queues that are gone stay until they are resumed.
pub(crate) const MAX_PAUSES: usize = 100_000;

impl Pauses {
    pub(crate) fn restored(pauses: Vec<Pause>) -> Self {
        Self { by_target: pauses.into_iter().map(|pause| (pause.target.clone(), pause)).collect() }
    }

    /// Adds one; the caller has checked that there is room and none of this target.
    pub(crate) fn add(&mut self, pause: Pause) {
        self.by_target.insert(pause.target.clone(), pause);
    }

    pub(crate) fn remove(&mut self, target: &PauseTarget) -> bool {
        self.by_target.remove(target).is_some()
    }

    pub(crate) fn get(&self, target: &PauseTarget) -> Option<&Pause> {
        self.by_target.get(target)
    }

    /// What keeps work of a queue from starting: the hold of the job, if it is one's, or the pause of the queue.
    pub(crate) fn of(&self, job: Option<JobId>, queue: &str) -> Option<&Pause> {
        if self.by_target.is_empty() {
            return None;
        }
        let held = job.and_then(|job| self.get(&PauseTarget::Job(job)));
        held.or_else(|| self.get(&PauseTarget::Queue(queue.into())))
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pause> {
        self.by_target.values()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.by_target.len() >= MAX_PAUSES
    }
}
