//! Reports on containers.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, ContainerExit, ContainerId};

use super::call_answer::Locality;
use super::states::ContainerState;

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerReport {
    /// Its id.
    pub(crate) container_id: ContainerId,
    /// Its application.
    pub(crate) application_id: ApplicationId,
    /// The attempt of the application that it was granted to.
    pub(crate) attempt: u32,
    /// Its node, `host:web port`.
    pub(crate) node_id: String,
    /// The web address of its node.
    pub(crate) node_http_address: String,
    /// The node's rack.
    pub(crate) rack: String,
    /// How near it is to where it was wanted.
    pub(crate) locality: Locality,
    /// The priority it was asked with.
    pub(crate) priority: u32,
    /// The id it was asked with.
    pub(crate) allocation_request_id: u64,
    /// Memory, MB.
    #[serde(rename = "allocatedMB")]
    pub(crate) allocated_mb: u32,
    /// Cores.
    #[serde(rename = "allocatedVCores")]
    pub(crate) allocated_vcores: u32,
    /// Slots that it stands for.
    pub(crate) slots: u32,
    /// Its item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<u32>,
    /// Attempts of the item with this one, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) item_attempt: Option<u32>,
    /// How far it is.
    pub(crate) state: ContainerState,
    /// Whether it is being killed.
    pub(crate) killing: bool,
    /// How it ended; -1000 until it has.
    pub(crate) exit_status: ContainerExit,
    /// Why it ended so, in words.
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
    /// CPU time, ms.
    pub(crate) cpu_ms: u64,
}
