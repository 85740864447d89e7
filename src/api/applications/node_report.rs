//! Reports on nodes and on the cluster, in Hadoop 2's members (`NodeInfo`, `ClusterInfo`) and some of ours.

use serde::{Deserialize, Serialize};

use crate::model::Capability;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// `host:web port`.
    pub id: String,
    /// Its rack.
    pub rack: String,
    /// Whether it takes containers.
    pub state: NodeState,
    /// Its host.
    pub node_host_name: String,
    /// Its web address.
    #[serde(rename = "nodeHTTPAddress")]
    pub node_http_address: String,
    /// Time of its last heartbeat, epoch ms.
    pub last_health_update: i64,
    /// Why it is ill; empty: it is not.
    pub health_report: String,
    /// Live containers.
    pub num_containers: u64,
    /// Memory in use by containers and tasks, MB.
    #[serde(rename = "usedMemoryMB")]
    pub used_memory_mb: u64,
    /// Memory that is free, MB.
    #[serde(rename = "availMemoryMB")]
    pub avail_memory_mb: u64,
    /// Memory that its containers and attempts use now, as it measures it, MB.
    #[serde(rename = "liveMemoryMB", default)]
    pub live_memory_mb: u64,
    /// CPU time that those which run have used, ms.
    #[serde(default)]
    pub live_cpu_ms: u64,
    /// Cores in use by containers and tasks.
    pub used_virtual_cores: u64,
    /// Cores that are free.
    pub available_virtual_cores: u64,
    /// What program it is.
    pub kind: NodeKind,
    /// Slots for maps.
    pub map_slots: u32,
    /// Slots for reduces.
    pub reduce_slots: u32,
    /// Whole slots that its memory and cores hold.
    pub slots: u32,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum NodeState {
    /// It is well.
    Running,
    /// It is ill.
    Unhealthy,
    /// It is expected after a restart and has not come, or has fallen silent.
    Lost,
}

/// What program a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A worker of this program.
    Builtin,
    /// Hadoop's TaskTracker.
    Stock,
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInfo {
    /// When the daemon started, epoch ms: the number in the ids of this run.
    pub id: u64,
    /// The same.
    pub started_on: u64,
    /// `STARTED`.
    pub state: String,
    /// The daemon's time, epoch ms.
    pub time: i64,
    /// The program's version.
    pub version: String,
    /// The ruling scheduler.
    pub scheduler_name: String,
    /// What sizes of containers are rounded up to.
    pub minimum: Capability,
    /// The largest container.
    pub maximum: Capability,
    /// One slot's worth.
    pub slot: Capability,
}
