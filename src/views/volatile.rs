//! What is no fact, as the owner said it last.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::api::{Explanation, ReportedGroup, ReportedJob};
use crate::engine::{
    ChangedList, ClusterSnapshot, Explained, LiveJob, QueueSnapshot, TrackerSnapshot, VolatileDelta, Watched,
    WatchedState,
};
use crate::model::{Credits, FactNumber, JobId, Now, RunState};

use super::shared_map::SharedMap;

/// So long is kept what the owner does not say any more, ms.
const KEPT_MS: u64 = 60_000;

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
    /// What is no fact of jobs and tasks that are looked at.
    pub(super) watched: Arc<BTreeMap<Watched, LastSaid<WatchedState>>>,
    pub(super) trackers: SharedMap<Arc<str>, ShownTracker>,
}

/// What the owner said last of a job or a task that is read.
#[derive(Clone, Debug)]
pub struct LastSaid<T> {
    /// None: the owner knows no such one.
    pub(super) value: Option<Arc<T>>,
    /// When it was made, ms of the monotonic clock, and the last fact in it.
    pub(super) made_mono_ms: u64,
    pub(super) number: FactNumber,
}

/// Why a job has no more slots, as the owner said it last.
pub(crate) type LastExplanation = LastSaid<UnfinishedExplanation>;

/// An explanation that the first reader finishes.
#[derive(Clone, Debug)]
pub struct UnfinishedExplanation {
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
        let value = explained.map(|explained| Arc::new(UnfinishedExplanation::new(explained)));
        Self { value, made_mono_ms: 0, number: FactNumber(0) }
    }

    /// The whole of it, with the names of other queues; none: the owner knows no such job. For the first reader it takes as long
    /// as about eighty allocations: call it where that may be.
    pub(crate) fn finish(&self) -> Option<&Explanation> {
        let UnfinishedExplanation { explained, whole } = self.value.as_deref()?;
        Some(whole.get_or_init(|| explained.clone().finish()))
    }
}

impl UnfinishedExplanation {
    fn new(explained: Explained) -> Self {
        Self { explained, whole: OnceLock::new() }
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
        let explained = delta.explained.into_iter();
        let unfinished = explained.map(|(job, explained)| (job, explained.map(UnfinishedExplanation::new)));
        keep_said(&mut self.explained, unfinished, delta.at.mono_ms, delta.wait_for);
        let watched = delta.watched.into_iter().map(|(watched, mut state)| {
            state.iter_mut().for_each(|state| state.attempts.sort_by_key(|attempt| attempt.id));
            (watched, state)
        });
        keep_said(&mut self.watched, watched, delta.at.mono_ms, delta.wait_for);
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

    /// What is no fact of a job in this state.
    pub(super) fn live_job(&self, id: JobId, state: RunState) -> LiveJob {
        let found = self.live_jobs.binary_search_by_key(&id, |known| known.0).ok();
        match found.and_then(|place| self.live_jobs.get(place)).filter(|_| state == RunState::Running) {
            Some(known) => known.1.clone(),
            None => LiveJob::without_run(if state == RunState::Running { RunState::Prep } else { state }),
        }
    }
}

/// Adds what the owner said just now, and drops what it has not said for long.
fn keep_said<K: Ord + Copy, T>(
    known: &mut Arc<BTreeMap<K, LastSaid<T>>>,
    said: impl ExactSizeIterator<Item = (K, Option<T>)>,
    made_mono_ms: u64,
    number: FactNumber,
) where
    LastSaid<T>: Clone,
{
    let is_old = |last: &LastSaid<T>| made_mono_ms.saturating_sub(last.made_mono_ms) >= KEPT_MS;
    if said.len() == 0 && !known.values().any(is_old) {
        return;
    }
    let known = Arc::make_mut(known);
    known.retain(|_, last| !is_old(last));
    known.extend(said.map(|(key, value)| (key, LastSaid { value: value.map(Arc::new), made_mono_ms, number })));
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
