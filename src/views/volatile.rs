//! What is no fact, as the owner said it last.

use std::sync::Arc;

use crate::api::{ReportedGroup, ReportedJob};
use crate::engine::{ChangedList, ClusterSnapshot, LiveJob, QueueSnapshot, TrackerSnapshot, VolatileDelta};
use crate::model::{Credits, FactNumber, JobId, Now, RunState};

use super::shared_map::SharedMap;

/// Everything that deltas have said. Cloning it shares all parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Volatile {
    /// When the last one was made, and the last fact in it.
    pub(super) at: Now,
    pub(super) number: FactNumber,
    /// How many there were.
    pub(super) deltas: u64,
    pub(super) head: Arc<ClusterSnapshot>,
    pub(super) queues: SharedList<QueueSnapshot>,
    pub(super) balances: SharedList<(String, Credits)>,
    pub(super) groups: SharedList<ReportedGroup>,
    /// Jobs as the policy has them, and when they were asked for last, ms of the monotonic clock.
    pub(super) jobs: Arc<Vec<ReportedJob>>,
    pub(super) jobs_mono_ms: u64,
    /// Jobs that run, by id.
    pub(super) live_jobs: SharedList<(JobId, LiveJob)>,
    pub(super) trackers: SharedMap<Arc<str>, ShownTracker>,
}

/// A list whose values are shared.
pub(super) type SharedList<T> = Arc<Vec<Arc<T>>>;

/// A tracker, and when it was seen last, ms of the monotonic clock.
#[derive(Clone, Debug)]
pub(super) struct ShownTracker {
    pub(super) snapshot: Arc<TrackerSnapshot>,
    pub(super) seen_mono_ms: u64,
}

// === impl Volatile ===

impl Volatile {
    /// Takes in what has changed.
    pub(super) fn apply(&mut self, delta: VolatileDelta) {
        self.at = delta.at;
        self.number = delta.wait_for;
        self.deltas += 1;
        self.head = Arc::new(delta.head);
        change(&mut self.queues, delta.queues);
        change(&mut self.balances, delta.balances);
        change(&mut self.groups, delta.groups);
        change(&mut self.live_jobs, delta.live_jobs);
        if let Some(jobs) = delta.jobs {
            self.jobs = Arc::new(jobs);
            self.jobs_mono_ms = delta.at.mono_ms;
        }
        for name in delta.trackers_gone {
            self.trackers.remove(&name);
        }
        for (name, snapshot) in delta.trackers {
            let snapshot = Arc::new(snapshot);
            match self.trackers.get_mut(&name) {
                Some(known) => known.snapshot = snapshot,
                None => self.trackers.insert(name, ShownTracker { snapshot, seen_mono_ms: 0 }),
            }
        }
        for (name, seen_mono_ms) in delta.beats {
            if let Some(known) = self.trackers.get_mut(&name) {
                known.seen_mono_ms = seen_mono_ms;
            }
        }
    }
}

// === impl Volatile: jobs ===

impl Volatile {
    /// What is no fact of a job in this state.
    pub(super) fn live_job(&self, id: JobId, state: RunState) -> LiveJob {
        let found = self.live_jobs.binary_search_by_key(&id, |known| known.0).ok();
        match found.and_then(|place| self.live_jobs.get(place)).filter(|_| state == RunState::Running) {
            Some(known) => known.1.clone(),
            None => LiveJob::without_run(if state == RunState::Running { RunState::Prep } else { state }),
        }
    }
}

fn change<T>(list: &mut SharedList<T>, changed: ChangedList<T>) {
    if changed.set.is_empty() && changed.len == list.len() {
        return;
    }
    let list = Arc::make_mut(list);
    for (place, value) in changed.set {
        match list.get_mut(place) {
            Some(known) => *known = Arc::new(value),
            None => list.push(Arc::new(value)),
        }
    }
    list.truncate(changed.len);
}
