//! A container in a list: the members of `containers[]` of `jobtracker app status --json`.

use serde::{Deserialize, Serialize};

use crate::model::{ContainerExit, ContainerId};

use super::container_report::ContainerReport;
use super::states::ContainerState;

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRow {
    /// Its id.
    pub container: ContainerId,
    /// How far it is.
    pub state: ContainerState,
    /// Its node, `host:web port`.
    pub node: String,
    /// The node's rack.
    pub rack: String,
    /// Its item.
    pub item: Option<u32>,
    /// Attempts of the item with this one, from 1.
    pub item_attempt: Option<u32>,
    /// How it ended.
    pub exit_status: Option<ContainerExit>,
    /// Why it ended so, or is to end.
    pub diagnostics: Option<String>,
    /// Memory, MB.
    pub memory_mb: u32,
    /// Cores.
    pub cores: u32,
    /// When it was granted, epoch ms.
    pub granted_ms: i64,
    /// When its process started, epoch ms.
    pub started_ms: Option<i64>,
    /// When it ended, epoch ms.
    pub finished_ms: Option<i64>,
    /// Memory that it uses now, MB.
    pub live_memory_mb: u64,
    /// The most memory that it used, MB.
    pub peak_memory_mb: u32,
    /// CPU time, ms.
    pub cpu_ms: u64,
}

impl From<&ContainerReport> for ContainerRow {
    fn from(report: &ContainerReport) -> Self {
        Self {
            container: report.container_id,
            state: report.state,
            node: report.node_id.clone(),
            rack: report.rack.clone(),
            item: report.item,
            item_attempt: report.item_attempt,
            exit_status: (report.state == ContainerState::Complete).then_some(report.exit_status),
            diagnostics: Some(report.diagnostics.clone()).filter(|text| !text.is_empty()),
            memory_mb: report.allocated_mb,
            cores: report.allocated_vcores,
            granted_ms: report.granted_time,
            started_ms: Some(report.started_time).filter(|ms| *ms > 0),
            finished_ms: Some(report.finished_time).filter(|ms| *ms > 0),
            live_memory_mb: report.memory_mb,
            peak_memory_mb: report.peak_memory_mb,
            cpu_ms: report.cpu_ms,
        }
    }
}
