//! Reports on nodes and on the cluster, in Hadoop 2's members (`NodeInfo`, `ClusterInfo`) and some of ours.

use serde::{Deserialize, Serialize};

use crate::model::Capability;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// `host:web port`.
    pub(crate) id: String,
    pub(crate) rack: String,
    /// Whether it takes containers.
    pub(crate) state: NodeState,
    pub(crate) node_host_name: String,
    #[serde(rename = "nodeHTTPAddress")]
    pub(crate) node_http_address: String,
    /// Time of its last heartbeat, epoch ms.
    pub(crate) last_health_update: i64,
    /// Why it is ill; empty: it is not.
    pub(crate) health_report: String,
    pub(crate) num_containers: u64,
    /// Memory in use by containers and tasks, MB.
    #[serde(rename = "usedMemoryMB")]
    pub(crate) used_memory_mb: u64,
    #[serde(rename = "availMemoryMB")]
    pub(crate) avail_memory_mb: u64,
    /// Memory that its containers and attempts use now, as it measures it, MB.
    #[serde(rename = "liveMemoryMB", default)]
    pub(crate) live_memory_mb: u64,
    /// CPU time that those which run have used, ms.
    #[serde(default)]
    pub(crate) live_cpu_ms: u64,
    /// Cores in use by containers and tasks.
    pub(crate) used_virtual_cores: u64,
    pub(crate) available_virtual_cores: u64,
    pub(crate) kind: NodeKind,
    pub(crate) map_slots: u32,
    pub(crate) reduce_slots: u32,
    /// Whole slots that its memory and cores hold.
    pub(crate) slots: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum NodeState {
    Running,
    Unhealthy,
    /// It is expected after a restart and has not come, or has fallen silent.
    Lost,
}

/// What program a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeKind {
    /// A worker of this program.
    Builtin,
    /// Hadoop's TaskTracker.
    Stock,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInfo {
    /// When the daemon started, epoch ms: the number in the ids of this run.
    pub(crate) id: u64,
    pub(crate) started_on: u64,
    /// `STARTED`.
    pub(crate) state: String,
    /// The daemon's time, epoch ms.
    pub(crate) time: i64,
    /// The program's version.
    pub(crate) version: String,
    pub(crate) scheduler_name: String,
    /// What sizes of containers are rounded up to.
    pub(crate) minimum: Capability,
    /// The largest container.
    pub(crate) maximum: Capability,
    /// One slot's worth.
    pub(crate) slot: Capability,
}
