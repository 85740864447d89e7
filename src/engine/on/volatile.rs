//! What is no fact, for the views: the walk over it goes in slices, and says only what has changed since the walk before.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{ReportedGroup, ReportedJob};
use crate::engine::core::Engine;
use crate::engine::state::Tracker;
use crate::model::{Credits, FactNumber, JobId, Now};

use super::explain::Explained;
use super::report_scheduler::JOBS_REPORTED;
use super::snapshot::{ClusterSnapshot, JOBS_SHOWN, LiveJob, QueueSnapshot, TrackerSnapshot};
use super::watched::{WatchWalk, Watched, WatchedState};

/// Trackers in a slice: a heartbeat waits for one slice at most, which takes less than half a millisecond.
const TRACKERS: usize = 500;
/// Queues, balances or groups in a slice.
const QUEUES: usize = 200;
/// Deadlines in a slice.
const DEADLINES: usize = 500;
/// Jobs, or applications, in a slice.
const JOBS: usize = 50;

/// What is no fact, as far as it has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolatileDelta {
    pub(crate) at: Now,
    /// All facts up to this one are in it: it must not be shown before that is durable.
    pub(crate) wait_for: FactNumber,
    /// All that is no list, and what is stuck. Its other lists are empty, and its report leaves out all jobs that are not over.
    pub(crate) head: ClusterSnapshot,
    pub(crate) queues: ChangedList<QueueSnapshot>,
    pub(crate) balances: ChangedList<(String, Credits)>,
    pub(crate) groups: ChangedList<ReportedGroup>,
    /// The newest jobs that are not over, as the policy has them; none: they were not asked for.
    pub(crate) jobs: Option<Vec<ReportedJob>>,
    /// Jobs that run, by id.
    pub(crate) live_jobs: ChangedList<(JobId, LiveJob)>,
    /// Explanations of the jobs that were asked for, which name other queues; none of a job that is not known.
    pub(crate) explained: Vec<(JobId, Option<Explained>)>,
    /// What is no fact of the jobs and tasks that were asked for; none of one that is not known.
    pub(crate) watched: Vec<(Watched, Option<WatchedState>)>,
    /// Trackers that are new or have changed. When they were seen last is in `beats`.
    pub(crate) trackers: Vec<(Arc<str>, TrackerSnapshot)>,
    pub(crate) trackers_gone: Vec<Arc<str>>,
    /// When trackers were seen last, ms of the monotonic clock.
    pub(crate) beats: Vec<(Arc<str>, u64)>,
}

/// A list as far as it has changed.
#[derive(Clone, Debug)]
pub(crate) struct ChangedList<T> {
    pub(crate) len: usize,
    /// Values at these places.
    pub(crate) set: Vec<(usize, T)>,
}

/// A walk in slices, and what it said last.
#[derive(Debug, Default)]
pub(crate) struct VolatileWalk {
    stage: WalkStage,
    delta: VolatileDelta,
    to_explain: Vec<JobId>,
    watch: WatchWalk,
    queues: Vec<QueueSnapshot>,
    balances: Vec<(String, Credits)>,
    groups: Vec<ReportedGroup>,
    live_jobs: Vec<(JobId, LiveJob)>,
    trackers: BTreeMap<Arc<str>, KnownTracker>,
    walks: u64,
}

#[derive(Debug)]
struct KnownTracker {
    /// The walk that has met it last.
    walk: u64,
    shown: TrackerSnapshot,
    seen_mono_ms: u64,
}

/// What the next slice visits, from where on.
#[derive(Clone, Debug, Default)]
enum WalkStage {
    #[default]
    Head,
    Queues(usize),
    Balances(usize),
    Groups(usize),
    Jobs(usize),
    Applications(usize),
    Deadlines(usize),
    LiveJobs(Option<JobId>),
    /// One job in a slice.
    Explained,
    Watched,
    Trackers(Option<Arc<str>>),
}

impl<T> Default for ChangedList<T> {
    fn default() -> Self {
        Self { len: 0, set: Vec::new() }
    }
}

impl<T: Clone + PartialEq> ChangedList<T> {
    /// Adds the next values, as far as they are new; returns whether they were as many as were asked for.
    fn extend(&mut self, known: &mut Vec<T>, values: Vec<T>, asked: usize) -> bool {
        let is_full = values.len() >= asked;
        for value in values {
            match known.get_mut(self.len) {
                Some(known) if *known == value => {}
                Some(known) => {
                    known.clone_from(&value);
                    self.set.push((self.len, value));
                }
                None => {
                    known.push(value.clone());
                    self.set.push((self.len, value));
                }
            }
            self.len += 1;
        }
        if !is_full {
            known.truncate(self.len);
        }
        is_full
    }
}

impl VolatileWalk {
    /// The walk that begins next explains these jobs, and says what is no fact of these jobs and tasks.
    pub(crate) fn say(&mut self, explained: Vec<JobId>, watched: Vec<Watched>) {
        self.to_explain = explained;
        self.watch.to_say = watched;
    }
}

impl Engine {
    /// Makes one slice of a walk; the delta once the walk is complete. `with_jobs`: whether jobs are asked for, as the policy
    /// has them.
    pub(crate) fn walk_volatile(&self, walk: &mut VolatileWalk, with_jobs: bool, now: Now) -> Option<VolatileDelta> {
        let delta = &mut walk.delta;
        walk.stage = match std::mem::take(&mut walk.stage) {
            WalkStage::Head => {
                walk.walks += 1;
                *delta = VolatileDelta { at: now, head: self.snapshot_head(now), ..VolatileDelta::default() };
                delta.jobs = with_jobs.then(Vec::new);
                WalkStage::Queues(0)
            }
            WalkStage::Queues(from) => {
                let found = self.queue_snapshots(from, QUEUES);
                match delta.queues.extend(&mut walk.queues, found, QUEUES) {
                    true => WalkStage::Queues(delta.queues.len),
                    false => WalkStage::Balances(0),
                }
            }
            WalkStage::Balances(from) => {
                let found = self.balances(from, QUEUES);
                match delta.balances.extend(&mut walk.balances, found, QUEUES) {
                    true => WalkStage::Balances(delta.balances.len),
                    false => WalkStage::Groups(0),
                }
            }
            WalkStage::Groups(from) => {
                let found = self.report_groups(from, QUEUES, now);
                match delta.groups.extend(&mut walk.groups, found, QUEUES) {
                    true => WalkStage::Groups(delta.groups.len),
                    false => WalkStage::Jobs(0),
                }
            }
            WalkStage::Jobs(from) => {
                let most = if delta.jobs.is_some() { JOBS_REPORTED } else { JOBS_SHOWN };
                let found = self.look_at_jobs(from, JOBS.min(most - from), delta.jobs.is_some(), now);
                delta.head.stuck.extend(found.stuck);
                if let Some(jobs) = &mut delta.jobs {
                    jobs.extend(found.reported);
                }
                let next = from + found.jobs;
                if found.jobs == JOBS && next < most { WalkStage::Jobs(next) } else { WalkStage::Applications(0) }
            }
            WalkStage::Applications(from) => {
                let (stuck, has_more) = self.stuck_applications(from, JOBS);
                delta.head.stuck.extend(stuck);
                if has_more { WalkStage::Applications(from + JOBS) } else { WalkStage::Deadlines(0) }
            }
            WalkStage::Deadlines(from) => {
                let counted = delta.head.deadlines.unwrap_or_default();
                let (counted, has_more) = self.deadlines_from(from, DEADLINES, counted);
                delta.head.deadlines = counted;
                if has_more { WalkStage::Deadlines(from + DEADLINES) } else { WalkStage::LiveJobs(None) }
            }
            WalkStage::LiveJobs(after) => {
                let found = self.live_jobs_after(after);
                let last = found.last().map(|(id, _)| *id);
                match delta.live_jobs.extend(&mut walk.live_jobs, found, JOBS) {
                    true => WalkStage::LiveJobs(last),
                    false => WalkStage::Explained,
                }
            }
            WalkStage::Explained => match walk.to_explain.pop() {
                Some(job) => {
                    delta.explained.push((job, self.explain(job, true, now).value));
                    WalkStage::Explained
                }
                None => WalkStage::Watched,
            },
            WalkStage::Watched => match self.walk_watched(&mut walk.watch, &mut delta.watched) {
                true => WalkStage::Watched,
                false => WalkStage::Trackers(None),
            },
            WalkStage::Trackers(after) => match self.walk_trackers(walk, after, now) {
                Some(last) => WalkStage::Trackers(Some(last)),
                None => return Some(self.end_walk(walk)),
            },
        };
        None
    }

    /// The next jobs that run, by id.
    fn live_jobs_after(&self, after: Option<JobId>) -> Vec<(JobId, LiveJob)> {
        let next = self.jobs.live.running_after(after).filter_map(|id| self.jobs.get(id));
        next.take(JOBS).map(|job| (job.id, self.live_job(job))).collect()
    }

    /// Visits the next trackers; the last one's name, if there are more.
    fn walk_trackers(&self, walk: &mut VolatileWalk, after: Option<Arc<str>>, now: Now) -> Option<Arc<str>> {
        let mut last = None;
        for tracker in self.trackers.iter_after(after.as_deref()).take(TRACKERS) {
            match walk.trackers.get_mut(&tracker.name) {
                Some(known) => {
                    known.walk = walk.walks;
                    if known.seen_mono_ms != tracker.last_seen_mono_ms {
                        known.seen_mono_ms = tracker.last_seen_mono_ms;
                        walk.delta.beats.push((tracker.name.clone(), tracker.last_seen_mono_ms));
                    }
                    if !self.is_shown_as(tracker, &known.shown, now) {
                        known.shown = self.lasting_snapshot(tracker, now);
                        walk.delta.trackers.push((tracker.name.clone(), known.shown.clone()));
                    }
                }
                None => {
                    let shown = self.lasting_snapshot(tracker, now);
                    let seen_mono_ms = tracker.last_seen_mono_ms;
                    walk.delta.trackers.push((tracker.name.clone(), shown.clone()));
                    walk.delta.beats.push((tracker.name.clone(), seen_mono_ms));
                    walk.trackers.insert(tracker.name.clone(), KnownTracker { walk: walk.walks, shown, seen_mono_ms });
                }
            }
            last = Some(tracker.name.clone());
        }
        last
    }

    /// The snapshot of a tracker without how long it is silent.
    fn lasting_snapshot(&self, tracker: &Tracker, now: Now) -> TrackerSnapshot {
        TrackerSnapshot { silent_ms: 0, ..self.tracker_snapshot(tracker, now) }
    }

    /// Whether a tracker looks as it was shown: cheaper than to make its snapshot again.
    fn is_shown_as(&self, tracker: &Tracker, shown: &TrackerSnapshot, now: Now) -> bool {
        let is_graylisted = self.host_faults.reason(&tracker.host).is_some();
        if is_graylisted || shown.graylisted {
            return *shown == self.lasting_snapshot(tracker, now);
        }
        let rack = self.cluster.nodes.get(tracker.id).map(|info| info.rack);
        let rack = rack.map_or("", |rack| self.cluster.scheduler.topology().rack_name(rack));
        shown.slots == tracker.shown_slots()
            && shown.running == tracker.busy
            && shown.is_silent == self.is_silent(tracker, now)
            && shown.is_draining == tracker.is_drained
            && shown.healthy == tracker.healthy
            && shown.http_port == tracker.http_port
            && shown.complaints == tracker.complaint
            && shown.rack == rack
            && *shown.host == *tracker.host
            && shown.listed_slots == tracker.reported_slots
            && shown.reported == tracker.reported
            && shown.task_windows == tracker.task_windows.counts(now.mono_ms)
    }

    fn end_walk(&self, walk: &mut VolatileWalk) -> VolatileDelta {
        walk.stage = WalkStage::Head;
        let walks = walk.walks;
        let gone = walk.trackers.extract_if(.., |_, known| known.walk != walks).map(|(name, _)| name);
        walk.delta.trackers_gone = gone.collect();
        walk.delta.wait_for = self.outbox.last_fact();
        std::mem::take(&mut walk.delta)
    }
}
