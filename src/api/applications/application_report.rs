//! Reports on applications, containers, nodes and the cluster, in Hadoop 2's members (`AppInfo`, `NodeInfo`, `ClusterInfo`) and some of ours.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, Capability, ContainerExit, ContainerId, Credits, Placement, Priority};

use super::call::Locality;
use super::states::{ApplicationState, ContainerState, ReportedFinalStatus};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationReport {
    pub id: ApplicationId,
    pub user: String,
    pub name: String,
    pub queue: String,
    /// How far it is.
    pub state: ApplicationState,
    /// How it ended.
    pub final_status: ReportedFinalStatus,
    /// How far it says it is, 0 to 100.
    pub progress: f64,
    /// Where people look at it; empty: nowhere.
    pub tracking_url: String,
    /// Why it ended so, in words.
    pub diagnostics: String,
    /// When the daemon first started that gave its id, epoch ms.
    pub cluster_id: u64,
    /// What kind of program it is, in its own words.
    pub application_type: String,
    /// Its place among applications and jobs.
    pub priority: Priority,
    /// When it was submitted, epoch ms.
    pub started_time: i64,
    /// When it ended, epoch ms; 0: it has not.
    pub finished_time: i64,
    /// Time from its submission to its end or to now, ms.
    pub elapsed_time: i64,
    /// Memory of its live containers, MB.
    #[serde(rename = "allocatedMB")]
    pub allocated_mb: u64,
    /// Cores of its live containers.
    #[serde(rename = "allocatedVCores")]
    pub allocated_vcores: u64,
    pub running_containers: u64,
    /// Memory times the time from grant to end, MB x s.
    pub memory_seconds: u64,
    /// Cores times the time from grant to end, s.
    pub vcore_seconds: u64,
    /// Memory that its live containers use now, MB.
    #[serde(rename = "liveMemoryMB", default)]
    pub live_memory_mb: u64,
    /// CPU time that its live containers have used, ms.
    #[serde(default)]
    pub live_cpu_ms: u64,
    /// Containers taken from it for others.
    pub preempted_containers: u64,
    /// What it asks for, in order of type, then hosts, racks, any, by name.
    pub resource_requests: Vec<ResourceRequestRow>,
    /// How many more rows it asks for than are shown here; absent: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resource_requests_left_out: u64,
    /// The attempt that has registered last; 0: none.
    pub attempt: u32,
    /// The id of the last answer.
    pub response_id: u64,
    /// Rises with every change of what this report says, but for times.
    pub version: u64,
    /// Whether it needs no program.
    pub unattended: bool,
    /// Whether a closed gate stays closed at every distance.
    pub strict_gates: bool,
    /// Slots that its live containers stand for.
    pub slots: u64,
    /// What it has cost; null without a market.
    pub cost: Option<Credits>,
    /// Containers that it still asks for.
    pub pending_containers: u64,
    pub completed_containers: u64,
    /// Those that failed by their own fault.
    pub failed_containers: u64,
    /// How many of its items are done; absent: it has none, or is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemCounts>,
    /// Items that failed for good, as they are written, at most 1,000 parts.
    pub failed_items: String,
    pub why: Vec<WaitingRequest>,
    /// That no connected worker can run anything that it waits for, and why; absent if one can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_run: Option<String>,
    /// What it was granted and has not launched; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlaunched: Option<UnlaunchedHold>,
    /// The same of all others, while its own requests wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by_others: Option<UnlaunchedHold>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCounts {
    pub(crate) total: u64,
    /// Those that have ended well.
    pub(crate) done: u64,
}

/// Containers that were granted and are not launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnlaunchedHold {
    pub(crate) applications: u64,
    pub(crate) containers: u64,
    pub(crate) slots: u64,
    /// When the last of their applications loses the first of them, unless it launches it, or calls in time, epoch ms.
    pub(crate) until: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequestRow {
    /// Smaller first.
    pub(crate) priority: u32,
    /// The id that keeps types apart.
    pub(crate) allocation_request_id: u64,
    pub(crate) resource_name: Placement,
    /// What of it, rounded.
    pub(crate) capability: Capability,
    /// How many containers are still wanted here.
    pub(crate) num_containers: u32,
    /// Whether containers may come from farther away than this row.
    pub(crate) relax_locality: bool,
    /// Empty: there are no labels.
    #[serde(default)]
    pub(crate) node_label_expression: String,
    /// Items that wait, as they are written, at most 1,000 parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRequest {
    pub(crate) priority: u32,
    pub(crate) capability: Capability,
    /// The first reason that holds.
    pub(crate) reason: WaitingReason,
    /// How many of its rows name hosts on which no worker takes containers: it does not wait for these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) unmet_rows: u64,
    /// The first five of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unmet: Vec<String>,
}

/// Why a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitingReason {
    NoNodeFits,
    /// No node has as much free.
    NoneFree,
    /// Gates, blacklist or relax-locality exclude the nodes with room.
    Gates,
    /// It waits for a nearer node.
    LocalityDelay,
    /// Its queue holds all that it bought, or its queue or user all that a limit allows.
    QuotaFull,
    /// Queues below their quotas come first.
    BelowQuota,
    /// Its queue bids nothing.
    NoBid,
    /// Its queue cannot pay.
    NotFunded,
    /// Its queue bid or wanted nothing at the last tick: it buys at the next one.
    NotBoughtYet,
    /// Jobs and applications before it come first.
    EarlierJobs,
    /// As many of the type run as it allows.
    MaxRunning,
    /// What is free is kept for a larger container that comes first.
    RoomKept,
    /// Nothing is granted now.
    SafeMode,
    /// Containers of it were taken back because its program did not launch them, and it has not called since.
    NoCall,
}

impl ApplicationReport {
    /// About how many bytes it has as text.
    pub(crate) fn approximate_bytes(&self) -> usize {
        /// Without its texts, a row without its items.
        const WITHOUT_TEXTS: usize = 1 << 10;
        const OF_ROW: usize = 256;
        let of_row = |row: &ResourceRequestRow| OF_ROW + row.items.as_ref().map_or(0, String::len);
        let texts = [&self.name, &self.diagnostics, &self.tracking_url, &self.failed_items, &self.application_type];
        let texts: usize = texts.into_iter().map(String::len).sum();
        let unmet: usize = self.why.iter().flat_map(|waiting| &waiting.unmet).map(String::len).sum();
        WITHOUT_TEXTS
            + texts
            + unmet
            + self.why.len() * OF_ROW
            + self.resource_requests.iter().map(of_row).sum::<usize>()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerReport {
    pub(crate) container_id: ContainerId,
    pub(crate) application_id: ApplicationId,
    pub(crate) attempt: u32,
    /// Its node, `host:web port`.
    pub(crate) node_id: String,
    pub(crate) node_http_address: String,
    pub(crate) rack: String,
    /// How near it is to where it was wanted.
    pub(crate) locality: Locality,
    pub(crate) priority: u32,
    pub(crate) allocation_request_id: u64,
    #[serde(rename = "allocatedMB")]
    pub(crate) allocated_mb: u32,
    #[serde(rename = "allocatedVCores")]
    pub(crate) allocated_vcores: u32,
    pub(crate) slots: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
    /// Attempts of the item with this one, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item_attempt: Option<u32>,
    pub(crate) state: ContainerState,
    /// Whether it is being killed.
    pub(crate) killing: bool,
    /// How it ended; -1000 until it has.
    pub(crate) exit_status: ContainerExit,
    pub(crate) diagnostics: String,
    /// When it was granted, epoch ms.
    pub(crate) granted_time: i64,
    /// When its launch was ordered, epoch ms; 0: not yet.
    pub(crate) launched_time: i64,
    /// When its process started, epoch ms; 0: not yet.
    pub(crate) started_time: i64,
    /// When it ended, epoch ms; 0: not yet.
    pub(crate) finished_time: i64,
    /// Memory that it uses now, MB; 0: it is complete, or was not measured yet.
    #[serde(rename = "memoryMB", default)]
    pub(crate) memory_mb: u64,
    /// The most memory that it used, MB.
    #[serde(rename = "peakMemoryMB")]
    pub(crate) peak_memory_mb: u32,
    pub(crate) cpu_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// `host:web port`.
    pub(crate) id: String,
    pub(crate) rack: String,
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
    pub(crate) version: String,
    pub(crate) scheduler_name: String,
    /// What sizes of containers are rounded up to.
    pub(crate) minimum: Capability,
    /// The largest container.
    pub(crate) maximum: Capability,
    /// One slot's worth.
    pub(crate) slot: Capability,
}
