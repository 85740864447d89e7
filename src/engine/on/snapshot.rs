//! The snapshot that the start page and the metrics show; a copy, so that a slow reader blocks nothing.

use crate::api::SchedulerReport;
use crate::engine::state::{ApplicationTallies, MeasuredUse};
use crate::model::{Credits, JobId, PerKind, Priority, RunState};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSnapshot {
    /// Name of the scheduling policy, for display.
    pub scheduler: String,
    /// When the daemon started, epoch ms.
    pub start_ms: i64,
    /// When the snapshot was made, epoch ms.
    pub at_ms: i64,
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
    /// Accounts and what moved; none without a market.
    pub money: Option<MoneySnapshot>,
    /// The ruling policy with its groups and unfinished jobs.
    pub report: SchedulerReport,
    /// All queues, by name.
    pub queues: Vec<QueueSnapshot>,
    /// The newest jobs, live or finished, newest first; at most 500.
    pub jobs: Vec<JobSnapshot>,
    /// All trackers, by name.
    pub trackers: Vec<TrackerSnapshot>,
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

#[derive(Clone, Debug, PartialEq)]
pub struct QueueSnapshot {
    pub name: String,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub waiting: PerKind<u64>,
    /// The user who paused it, and the time.
    pub paused: Option<String>,
    /// Share of the market at the last tick, as exact decimal; none unless a market rules.
    pub share: Option<String>,
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
    /// Cost up to the last tick, as exact decimal; none unless a market rules.
    pub cost: Option<String>,
    /// Why it failed; empty unless it failed.
    pub failure_info: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrackerSnapshot {
    pub name: String,
    /// The name that the worker was given, else the same.
    pub worker: String,
    pub host: String,
    pub rack: String,
    pub http_port: i32,
    pub slots: PerKind<u32>,
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
}
