//! What the start page and the metrics show: a snapshot, so that a slow reader holds nothing.

use crate::model::{JobId, PerKind, Priority, RunState};

/// The cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Name of the scheduling policy, as people know it.
    pub scheduler: String,
    /// When the daemon started, epoch ms.
    pub start_ms: i64,
    /// When the snapshot was made, epoch ms.
    pub at_ms: i64,
    /// Slots of all trackers that take work.
    pub slots: PerKind<u32>,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub waiting: PerKind<u64>,
    /// Jobs that are being prepared.
    pub preparing_jobs: u64,
    /// Jobs that run.
    pub running_jobs: u64,
    /// Jobs in memory, live or finished.
    pub known_jobs: u64,
    /// Jobs accepted since the daemon started.
    pub jobs_accepted: u64,
    /// Jobs ended since the daemon started: succeeded, failed, killed.
    pub jobs_ended: [u64; 3],
    /// Attempts launched since the daemon started.
    pub attempts_launched: u64,
    /// Attempts chosen since the daemon started to leave their slots to other queues.
    pub attempts_preempted: u64,
    /// Heartbeats processed since the daemon started.
    pub heartbeats: u64,
    /// Price of the market at the last tick, as exact decimal; none without a market.
    pub price: Option<String>,
    /// All queues, by name.
    pub queues: Vec<QueueOverview>,
    /// The newest jobs, live or finished, newest first; not always all of them.
    pub jobs: Vec<JobOverview>,
    /// All trackers, by name.
    pub trackers: Vec<TrackerOverview>,
}

/// One queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueOverview {
    /// Its name.
    pub name: String,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub waiting: PerKind<u64>,
    /// Share of the market at the last tick, as exact decimal; none without a market.
    pub share: Option<String>,
}

/// One job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOverview {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// Its queue.
    pub queue: String,
    /// Its priority.
    pub priority: Priority,
    /// Its state.
    pub state: RunState,
    /// When it was submitted, epoch ms.
    pub submit_ms: i64,
    /// When it ended, epoch ms; none while it lives.
    pub finish_ms: Option<i64>,
    /// Tasks in all.
    pub tasks: PerKind<u32>,
    /// Tasks done.
    pub finished: PerKind<u32>,
    /// Attempts running.
    pub running: PerKind<u32>,
    /// What it has cost at the last tick, as exact decimal; none without a market.
    pub cost: Option<String>,
    /// Why it failed; empty when it did not.
    pub failure_info: String,
}

/// One tracker.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackerOverview {
    /// Its name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its rack.
    pub rack: String,
    /// Port of its web server.
    pub http_port: i32,
    /// Its slots.
    pub slots: PerKind<u32>,
    /// Slots in use.
    pub running: PerKind<u32>,
    /// Time since its last heartbeat, ms.
    pub silent_ms: u64,
    /// False when its health script complains.
    pub healthy: bool,
    /// Whether too many jobs had to avoid its host; such a tracker still gets work.
    pub graylisted: bool,
    /// Why it is unhealthy or graylisted, line by line; empty when it is neither.
    pub complaints: String,
}
