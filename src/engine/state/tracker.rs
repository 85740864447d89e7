//! The state of a registered tracker.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, FactNumber, JobId, Kind, Now, PerKind, TrackerId};
use crate::wire::TaskStatus;

use super::task_windows::TaskWindows;

#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) id: TrackerId,
    pub(crate) name: Arc<str>,
    pub(crate) host: Arc<str>,
    pub(crate) http_port: i32,
    /// Slots that count: none while it is unhealthy or drained.
    pub(crate) slots: PerKind<u32>,
    pub(crate) reported_slots: PerKind<u32>,
    /// Slots in use by its last report.
    pub(crate) busy: PerKind<u32>,
    /// Attempts that a stock tracker ran by its last report, with their slots, without task-cleanups.
    pub(crate) at_work: BTreeMap<AttemptId, u32>,
    /// Slots that are free by its last report and whose attempts were killed since the one before.
    pub(crate) killed_slots: PerKind<u32>,
    pub(crate) healthy: bool,
    pub(crate) is_drained: bool,
    /// It accepts no tasks although it has free slots.
    pub(crate) refuses_work: bool,
    /// The report of its health script; empty while it is healthy.
    pub(crate) complaint: String,
    /// The SHA-256 of the secret of its worker's beats, hex digits, as its heartbeats say it.
    pub(crate) beat_digest: Option<Arc<str>>,
    pub(crate) connection: u64,
    /// Where `connection` comes from; none before the first heartbeat since a restart.
    pub(crate) address: Option<IpAddr>,
    pub(crate) connected_mono_ms: u64,
    /// It registered on `connection` under a name that was free.
    pub(crate) is_introduced: bool,
    /// It has run something, or said so.
    pub(crate) has_run: bool,
    pub(crate) last_seen_mono_ms: u64,
    pub(crate) response_id: i16,
    pub(crate) last_answer: LastAnswer,
    /// The store has an answer with launches for it.
    pub(crate) has_launch_answer: bool,
    /// The progress of its recovery after a restart.
    pub(crate) recovery: TrackerRecovery,
    /// The fact that the last answer waits for.
    pub(crate) answer_waits_for: FactNumber,
    /// Attempts that run there or whose map output is kept there.
    pub(crate) attempts: BTreeSet<AttemptId>,
    /// Attempts that it runs and this JobTracker has not launched; it has been ordered to drop them.
    pub(crate) unknown_attempts: BTreeSet<AttemptId>,
    /// It claims more slots than the limit, which has been logged.
    pub(crate) claims_too_many_slots: bool,
    /// Its next answer orders it to reread the completion events of some jobs from the first.
    pub(crate) rereads_events: bool,
    /// Attempts to kill that it will not report by itself.
    pub(crate) kill_tasks: Vec<AttemptId>,
    /// Completed jobs whose KILL_JOB it has not acknowledged.
    pub(crate) kill_jobs: BTreeSet<JobId>,
    /// Those of `kill_jobs` in the last answer.
    pub(crate) kill_jobs_sent: Vec<JobId>,
    pub(crate) task_windows: Box<TaskWindows>,
    /// What its last report says of its tasks and directories, for display.
    pub(crate) reported: ReportedCounts,
}

/// What a tracker's last report says of its tasks and directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedCounts {
    pub(crate) attempts: u32,
    pub(crate) running: PerKind<u32>,
    /// Tasks that failed on it since it started.
    pub(crate) task_failures: i32,
    pub(crate) dir_failures: i32,
    /// When its health script last ran, epoch ms; 0: never.
    pub(crate) health_ms: i64,
}

/// The last answer, resent if it was lost.
#[derive(Clone, Debug)]
pub(crate) enum LastAnswer {
    /// Nothing to do; the interval, ms.
    Idle(i32),
    Encoded(Arc<[u8]>),
}

/// The progress of a tracker's recovery after a restart of the daemon.
///
/// While the daemon is down, a tracker repeats one unchanged report until it is answered. So its first report may be as
/// old as the outage; the second is fresh.
#[derive(Clone, Debug, Default)]
pub(crate) enum TrackerRecovery {
    /// Recovered, or registered since the restart.
    #[default]
    Complete,
    /// No heartbeat yet: it has attempts, or a pending KILL_JOB.
    Expected(Option<LaunchAnswer>),
    ReportedOnce,
}

/// The last answer with launches for a tracker, which may not have received it.
#[derive(Clone, Debug)]
pub(crate) struct LaunchAnswer {
    pub(crate) response_id: i16,
    pub(crate) body: Arc<[u8]>,
}

/// How fresh the report of a tracker is after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFreshness {
    /// No restart in between: the report is fresh.
    NotRecovering,
    /// The first report after the restart: may be as old as the outage.
    MaybeStale,
    /// The first report known to be fresh.
    FirstFresh,
}

impl Tracker {
    /// The slots that are shown: a drained one keeps those that it reports.
    pub(crate) fn shown_slots(&self) -> PerKind<u32> {
        if self.is_drained { self.reported_slots } else { self.slots }
    }

    /// A tracker that has sent no heartbeat: without slots.
    pub(crate) fn new(id: TrackerId, name: Arc<str>, host: Arc<str>, recovery: TrackerRecovery) -> Self {
        Self {
            id,
            name,
            host,
            http_port: 0,
            slots: PerKind::default(),
            reported_slots: PerKind::default(),
            busy: PerKind::default(),
            at_work: BTreeMap::new(),
            killed_slots: PerKind::default(),
            healthy: true,
            is_drained: false,
            refuses_work: false,
            complaint: String::new(),
            beat_digest: None,
            connection: 0,
            address: None,
            connected_mono_ms: 0,
            is_introduced: false,
            has_run: false,
            last_seen_mono_ms: 0,
            response_id: 0,
            last_answer: LastAnswer::Idle(0),
            has_launch_answer: matches!(recovery, TrackerRecovery::Expected(Some(_))),
            recovery,
            answer_waits_for: FactNumber::default(),
            attempts: BTreeSet::new(),
            unknown_attempts: BTreeSet::new(),
            claims_too_many_slots: false,
            rereads_events: false,
            kill_tasks: Vec::new(),
            kill_jobs: BTreeSet::new(),
            kill_jobs_sent: Vec::new(),
            task_windows: Box::default(),
            reported: ReportedCounts::default(),
        }
    }

    pub(crate) fn free(&self) -> PerKind<u32> {
        PerKind::new(self.slots.map.saturating_sub(self.busy.map), self.slots.reduce.saturating_sub(self.busy.reduce))
    }

    /// Free slots that it may get tasks for now: not those in which a killed attempt may still end.
    pub(crate) fn offered(&self) -> PerKind<u32> {
        let (free, killed) = (self.free(), self.killed_slots);
        PerKind::new(free.map.saturating_sub(killed.map), free.reduce.saturating_sub(killed.reduce))
    }

    pub(crate) fn is_sure(&self, expiry_ms: u64, now: Now) -> bool {
        self.is_introduced || now.mono_ms.saturating_sub(self.connected_mono_ms) >= expiry_ms
    }

    /// The attempts of a job that run there or whose map output is kept there.
    pub(crate) fn attempts_of(&self, job: JobId) -> impl Iterator<Item = AttemptId> {
        let first = job.task(Kind::Map, i32::MIN).attempt(i32::MIN);
        let last = job.task(Kind::Reduce, i32::MAX).attempt(i32::MAX);
        self.attempts.range(first..=last).copied()
    }
}

impl ReportFreshness {
    /// The reported attempts, where missing ones matter; otherwise empty.
    pub(crate) fn reported_attempts(self, reports: &[TaskStatus]) -> BTreeSet<AttemptId> {
        match self {
            ReportFreshness::FirstFresh => reports.iter().map(|report| report.attempt).collect(),
            ReportFreshness::NotRecovering | ReportFreshness::MaybeStale => BTreeSet::new(),
        }
    }
}
