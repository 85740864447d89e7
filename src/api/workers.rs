//! The workers as `/scheduler/workers` lists them.

use serde::{Deserialize, Serialize};

use crate::model::{PerKind, named};

/// One worker: a registered tracker, or a drained worker that is not connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerStatus {
    /// The name it was given (`tasktracker --name`), else the name of its tracker.
    pub(crate) worker: String,
    pub(crate) state: WorkerState,
    /// Whether it gets no new tasks because an administrator drains it, whatever its state.
    pub(crate) is_draining: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) drained_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) drained_since_ms: Option<i64>,
    /// The name of its tracker; none while it is not connected, as for what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tracker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<String>,
    /// `http://HOST:PORT` of its map output and logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<String>,
    /// Its slots, also those that a drained or unhealthy one does not offer.
    pub(crate) slots: PerKind<u32>,
    pub(crate) used: PerKind<u32>,
    #[serde(default)]
    pub(crate) containers: u64,
    /// When its connection began, epoch ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_seen_ms: Option<i64>,
    /// Why it is unhealthy, short or graylisted, one reason a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) complaints: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerState {
    /// It calls in time, and gets tasks.
    Ok,
    /// Its host has failed more often than others; it still gets tasks.
    Graylisted,
    Draining,
    /// Its health script reports an error, or its disks have no room: Hadoop calls it blacklisted.
    Unhealthy,
    /// It lacks processes, descriptors or memory and offers less than it has, or its beats about containers are lost.
    Short,
    /// It has missed three heartbeats.
    Silent,
    /// It is drained and not connected.
    Absent,
}

/// Some workers, by the names of their trackers; drained ones that are not connected come last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workers {
    /// When this was so, by the daemon's clock, epoch ms.
    #[serde(default)]
    pub(crate) at_ms: i64,
    pub(crate) workers: Vec<WorkerStatus>,
    /// Whether there are more, which no answer names: it ends after 100,000.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_more: bool,
}

named!(WorkerState {
    Ok = "ok",
    Graylisted = "graylisted",
    Draining = "draining",
    Unhealthy = "unhealthy",
    Short = "short",
    Silent = "silent",
    Absent = "absent",
});

impl WorkerState {
    pub(crate) const ALL: [Self; 7] =
        [Self::Ok, Self::Graylisted, Self::Draining, Self::Unhealthy, Self::Short, Self::Silent, Self::Absent];
}
