//! A container in a list: the members of `containers[]` of `jobtracker app status --json`.

use serde::{Deserialize, Serialize};

use crate::model::{ContainerExit, ContainerId};

use super::container_report::ContainerReport;
use super::states::ContainerState;

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerRow {
    /// Its id.
    pub(crate) container: ContainerId,
    /// How far it is.
    pub(crate) state: ContainerState,
    /// Its node, `host:web port`.
    pub(crate) node: String,
    /// The node's rack.
    pub(crate) rack: String,
    /// Its item.
    pub(crate) item: Option<u32>,
    /// Attempts of the item with this one, from 1.
    pub(crate) item_attempt: Option<u32>,
    /// How it ended.
    pub(crate) exit_status: Option<ContainerExit>,
    /// Why it ended so, or is to end.
    pub(crate) diagnostics: Option<String>,
    /// Memory, MB.
    pub(crate) memory_mb: u32,
    /// Cores.
    pub(crate) cores: u32,
    /// When it was granted, epoch ms.
    pub(crate) granted_ms: i64,
    /// When its process started, epoch ms.
    pub(crate) started_ms: Option<i64>,
    /// When it ended, epoch ms.
    pub(crate) finished_ms: Option<i64>,
    /// Memory that it uses now, MB.
    pub(crate) live_memory_mb: u64,
    /// The most memory that it used, MB.
    pub(crate) peak_memory_mb: u32,
    /// CPU time, ms.
    pub(crate) cpu_ms: u64,
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
