//! The daemon at a glance: what `jobtracker status` prints.

use serde::{Deserialize, Serialize};

use crate::model::PerKind;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DaemonStatus {
    pub(crate) version: String,
    /// Its process id, as its own machine or container counts.
    pub(crate) pid: u32,
    pub(crate) started_ms: i64,
    pub(crate) uptime_ms: i64,
    /// Address of RPC; null where it is unknown.
    pub(crate) rpc: Option<String>,
    /// Address of the web server; null where it is unknown.
    pub(crate) http: Option<String>,
    pub(crate) scheduler: String,
    pub(crate) workers: WorkerCounts,
    /// Slots of all workers in service.
    pub(crate) slots: PerKind<u32>,
    /// Slots in use.
    pub(crate) running_tasks: PerKind<u32>,
    pub(crate) waiting_tasks: PerKind<u64>,
    /// What containers of applications hold and want; none: no container may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<ContainerCounts>,
    pub(crate) running_jobs: u64,
    pub(crate) preparing_jobs: u64,
    /// Age of what is shown of the cluster, s; none unless no newer can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) old_s: Option<i64>,
    /// The image of the budgets; none: there is no market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) budgets: Option<BudgetImageStatus>,
    /// Whether jobs can be submitted and run.
    pub(crate) is_ready: bool,
    /// `ok`, or what is wrong: the line of `/readyz`.
    pub(crate) health: String,
}

/// What containers of applications hold and want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerCounts {
    /// Slots that live containers stand for.
    pub(crate) held_slots: u64,
    pub(crate) waiting: u64,
}

/// How far the image of the budgets is behind the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetImageStatus {
    /// A file, a program or a database.
    pub(crate) place: String,
    /// The tick that this process has published last; none: it has not published yet.
    pub(crate) tick: Option<u64>,
    /// Ticks that are not published.
    pub(crate) lag_ticks: u64,
    /// Since when, s.
    pub(crate) lag_s: u64,
    /// Why the last try failed; none: it did not.
    pub(crate) error: Option<String>,
}

/// Numbers of workers; the sum of all but `short` is the number of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerCounts {
    /// They call in time and report themselves healthy.
    pub(crate) healthy: usize,
    /// Of those, workers that lack something and offer less than they have.
    #[serde(default)]
    pub(crate) short: usize,
    /// They call in time and report an error.
    pub(crate) unhealthy: usize,
    /// They have missed three heartbeats.
    pub(crate) silent: usize,
}
