//! What is no fact, as the owner said it last.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::api::{Explanation, ReportedGroup, ReportedJob};
use crate::engine::{ChangedList, ClusterSnapshot, Explained, LiveJob, QueueSnapshot, TrackerSnapshot, VolatileDelta};
use crate::model::{Credits, FactNumber, JobId, Now, RunState};

use super::shared_map::SharedMap;

/// So long an explanation is kept that is made no more, ms.
const EXPLAINED_MS: u64 = 60_000;

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
    pub(super) explained: Arc<BTreeMap<JobId, LastExplanation>>,
    pub(super) trackers: SharedMap<Arc<str>, ShownTracker>,
}

/// Why a job has no more slots, as the owner said it last.
#[derive(Clone, Debug)]
pub struct LastExplanation {
    /// None: the owner knows no such job.
    explained: Option<Arc<UnfinishedExplanation>>,
    /// When it was made, ms of the monotonic clock, and the last fact in it.
    pub(super) made_mono_ms: u64,
    pub(super) number: FactNumber,
}

/// An explanation that the first reader finishes.
#[derive(Debug)]
struct UnfinishedExplanation {
    explained: Explained,
    whole: OnceLock<Explanation>,
}

pub(super) type SharedList<T> = Arc<Vec<Arc<T>>>;

/// A tracker, and when it was seen last, ms of the monotonic clock.
#[derive(Clone, Debug)]
pub(super) struct ShownTracker {
    pub(super) snapshot: Arc<TrackerSnapshot>,
    pub(super) seen_mono_ms: u64,
}

impl LastExplanation {
    #[cfg(test)]
    pub(crate) fn of(explained: Option<Explained>) -> Self {
        Self::new(explained, 0, FactNumber(0))
    }

    fn new(explained: Option<Explained>, made_mono_ms: u64, number: FactNumber) -> Self {
        let unfinished = |explained| Arc::new(UnfinishedExplanation { explained, whole: OnceLock::new() });
        Self { explained: explained.map(unfinished), made_mono_ms, number }
    }

    /// The whole of it, with the names of other queues; none: the owner knows no such job. For the first reader it takes as long
    /// as about eighty allocations: call it where that may be.
    pub(crate) fn finish(&self) -> Option<&Explanation> {
        let UnfinishedExplanation { explained, whole } = self.explained.as_deref()?;
        Some(whole.get_or_init(|| explained.clone().finish()))
    }
}

impl Volatile {
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
        self.explain(delta.explained);
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

impl Volatile {
    fn explain(&mut self, explained: Vec<(JobId, Option<Explained>)>) {
        let (made_mono_ms, number) = (self.at.mono_ms, self.number);
        let is_old = |last: &LastExplanation| made_mono_ms.saturating_sub(last.made_mono_ms) >= EXPLAINED_MS;
        if explained.is_empty() && !self.explained.values().any(is_old) {
            return;
        }
        let known = Arc::make_mut(&mut self.explained);
        known.retain(|_, last| !is_old(last));
        let last = |explained| LastExplanation::new(explained, made_mono_ms, number);
        known.extend(explained.into_iter().map(|(job, explained)| (job, last(explained))));
    }
}

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
