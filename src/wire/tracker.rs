//! What a tracker says of itself.

use super::{TaskStatus, Text};

/// The status in each heartbeat (1.2.1 `TaskTrackerStatus`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskTrackerStatus {
    /// `tracker_<host>:<rpc host>/<rpc ip>:<rpc port>`; an opaque key.
    pub name: Text,
    /// The host name that counts for topology, node lists and locality.
    pub host: Text,
    /// Port of its web server, which also serves map outputs.
    pub http_port: i32,
    /// Tasks that failed on it since it started.
    pub task_failures: i32,
    /// Local directories that failed.
    pub dir_failures: i32,
    /// Map slots.
    pub max_map_slots: i32,
    /// Reduce slots.
    pub max_reduce_slots: i32,
    /// Memory, space and CPU.
    pub resources: ResourceStatus,
    /// One report for each attempt it holds or that just ended there.
    pub tasks: Vec<TaskStatus>,
    /// What its health script says.
    pub health: HealthStatus,
}

/// Resources of a tracker; -1 = not known. Filled in only when it asks for work.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceStatus {
    /// Bytes.
    pub total_virtual_bytes: i64,
    /// Bytes.
    pub total_physical_bytes: i64,
    /// Bytes.
    pub available_virtual_bytes: i64,
    /// Bytes.
    pub available_physical_bytes: i64,
    /// Bytes of one map slot.
    pub map_slot_bytes: i64,
    /// Bytes of one reduce slot.
    pub reduce_slot_bytes: i64,
    /// Free bytes of its local directories.
    pub available_space_bytes: i64,
    /// CPU time used, ms.
    pub cumulative_cpu_ms: i64,
    /// Clock, kHz.
    pub cpu_khz: i64,
    /// Processors.
    pub processors: i32,
    /// Percent.
    pub cpu_percent: f32,
}

/// What the node health script says (1.2.1 `TaskTrackerHealthStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthStatus {
    /// False = give it no work.
    pub healthy: bool,
    /// The reason.
    pub report: Text,
    /// When, epoch ms; 0 = never.
    pub last_reported_ms: i64,
}
