//! The snapshot that the start page and the metrics show; a copy, so that a slow reader blocks nothing.

use crate::api::SchedulerReport;
use crate::engine::state::{ApplicationTallies, AttemptCounts, MeasuredUse, ReportedCounts, WindowCounts};
use crate::market::{ContainerUse, SlotHolder};
use crate::model::{Credits, JobId, Kind, PerKind, Priority, RunState};

/// Most jobs in a snapshot.
pub(crate) const JOBS_SHOWN: usize = 500;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSnapshot {
    /// Name of the scheduling policy, for display.
    pub scheduler: String,
    /// When the daemon started, epoch ms.
    pub start_ms: i64,
    /// When the snapshot was made, epoch ms.
    pub at_ms: i64,
    /// The part of all job ids of this run.
    pub identifier: String,
    /// Whether the engine is in safe mode.
    pub is_in_safe_mode: bool,
    /// Attempts that run, by the last reports of their trackers.
    pub attempts: PerKind<u64>,
    /// What became of attempts and jobs since the daemon started.
    pub attempt_counts: AttemptCounts,
    /// Hosts whose trackers must not register (`mapred.hosts.exclude`).
    pub excluded_hosts: Vec<String>,
    /// Slots of all trackers in service.
    pub slots: PerKind<u32>,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub waiting: PerKind<u64>,
    pub preparing_jobs: u64,
    pub running_jobs: u64,
    /// Jobs in memory, live or finished.
    pub known_jobs: u64,
    /// Jobs accepted since the daemon started.
    pub jobs_accepted: u64,
    /// Jobs ended since the daemon started: succeeded, failed, killed.
    pub jobs_ended: [u64; 3],
    /// Attempts launched since the daemon started.
    pub attempts_launched: u64,
    /// Attempts preempted since the daemon started.
    pub attempts_preempted: u64,
    /// Heartbeats processed since the daemon started.
    pub heartbeats: u64,
    /// Applications and their containers; none where there are none.
    pub containers: Option<ContainersSnapshot>,
    /// Price of the market at the last tick, as exact decimal; none unless a market rules.
    pub price: Option<String>,
    /// Deadline orders that stand, by how they stood at the last tick: new since then, on time, at risk, spent; none unless a market rules.
    pub orders: Option<[u64; 4]>,
    /// Jobs with a deadline that are not over: on time, at risk, late; none unless the policy keeps deadlines.
    pub deadlines: Option<[u64; 3]>,
    /// Accounts and what moved; none without a market.
    pub money: Option<MoneySnapshot>,
    /// The ruling policy with its groups and unfinished jobs.
    pub report: SchedulerReport,
    /// All queues, by name.
    pub queues: Vec<QueueSnapshot>,
    /// The newest jobs, live or finished, newest first; at most 500.
    pub jobs: Vec<JobSnapshot>,
    /// Older ones that run, newest first.
    pub older_jobs: Vec<JobSnapshot>,
    /// All trackers, by name.
    pub trackers: Vec<TrackerSnapshot>,
    /// Of the newest 500 unfinished jobs, and then of so many applications, those that hold nothing and that no tracker can run; newest first.
    pub stuck: Vec<Stuck>,
}

/// What waits and no connected tracker can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The job or application.
    pub holder: SlotHolder,
    /// Why.
    pub because: String,
}

/// Accounts of a market, whether it rules or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MoneySnapshot {
    pub balances: Vec<(String, Credits)>,
    pub issued: Credits,
    pub charged: Credits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainersSnapshot {
    pub tallies: ApplicationTallies,
    /// Workers that take containers.
    pub workers: u64,
    /// Memory that they declare, MB.
    pub declared_memory_mb: u64,
    /// Cores that they declare.
    pub declared_vcores: u64,
    /// Memory and CPU time of live containers, as their workers measure them.
    pub container_use: MeasuredUse,
    /// The same of attempts of tasks.
    pub attempt_use: MeasuredUse,
    /// Slots that live containers stand for.
    pub held_slots: u64,
    /// Containers that are wanted and not granted, items among them.
    pub waiting: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueSnapshot {
    pub name: String,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub waiting: PerKind<u64>,
    /// What containers of its applications hold and want.
    pub containers: ContainerUse,
    /// The user who paused it, and the time.
    pub paused: Option<String>,
    /// Share of the market at the last tick, as exact decimal; none unless a market rules.
    pub share: Option<String>,
    /// Whether it accepts no jobs.
    pub is_stopped: bool,
    /// What became of its attempts and jobs since the daemon started.
    pub attempt_counts: AttemptCounts,
    /// What the policy says of it.
    pub scheduling_info: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobSnapshot {
    pub id: JobId,
    pub name: String,
    pub user: String,
    pub queue: String,
    pub priority: Priority,
    pub state: RunState,
    /// When it was submitted, epoch ms.
    pub submit_ms: i64,
    /// When it ended, epoch ms; none while it is not complete.
    pub finish_ms: Option<i64>,
    pub tasks: PerKind<u32>,
    pub finished: PerKind<u32>,
    /// Attempts running.
    pub running: PerKind<u32>,
    /// What is no fact.
    pub live: LiveJob,
    /// Cost up to the last tick, as exact decimal; none unless a market rules or it has cost something.
    pub cost: Option<String>,
    /// Why it failed, is held, or can run on no tracker; else empty.
    pub failure_info: String,
}

/// What is no fact of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveJob {
    /// Progress of its maps and reduces, 0 to 1.
    pub progress: PerKind<f32>,
    /// Trackers whose free slots are kept for it.
    pub reserved: PerKind<u32>,
    /// What the policy says of it.
    pub scheduling_info: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackerSnapshot {
    pub name: String,
    /// The name that the worker was given, else the same.
    pub worker: String,
    pub host: String,
    pub rack: String,
    pub http_port: i32,
    pub slots: PerKind<u32>,
    /// Slots that it reports, whether they count or not.
    pub listed_slots: PerKind<u32>,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Time since its last heartbeat, ms.
    pub silent_ms: u64,
    /// Whether it has missed three heartbeats, and called for five seconds no more.
    pub is_silent: bool,
    /// Whether an administrator drains it: it gets no new tasks, and its slots do not count.
    pub is_draining: bool,
    /// False when its health script reports an error.
    pub healthy: bool,
    /// Whether its host is graylisted; such a tracker still gets tasks.
    pub graylisted: bool,
    /// Whether it takes work and offers less than it has.
    pub is_short: bool,
    /// Reasons why it is unhealthy, short or graylisted, one a line; empty when it is none of them.
    pub complaints: String,
    /// What its last report says of its tasks and directories.
    pub reported: ReportedCounts,
    /// Tasks that it was given, and of them those that succeeded.
    pub task_windows: [WindowCounts; 2],
}

impl ClusterSnapshot {
    /// Attempts that run, as these trackers reported last.
    pub(crate) fn attempts_on(trackers: &[TrackerSnapshot]) -> PerKind<u64> {
        let sum = |kind: Kind| trackers.iter().map(|tracker| u64::from(tracker.reported.running[kind])).sum();
        PerKind::new(sum(Kind::Map), sum(Kind::Reduce))
    }

    /// The newest jobs, newest first, and older ones that run.
    pub(crate) fn all_jobs(&self) -> impl Iterator<Item = &JobSnapshot> {
        self.jobs.iter().chain(&self.older_jobs)
    }
}

impl LiveJob {
    /// Of a job in a state in which it does not run: 1.2.1 shows jobs that failed or were killed as done.
    pub(crate) fn without_run(state: RunState) -> Self {
        let progress = if state == RunState::Prep { 0.0 } else { 1.0 };
        Self { progress: PerKind::new(progress, progress), ..Self::default() }
    }
}
