//! Applications and their containers: the members of `jobtracker app list --json` and `app status --json`.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, ContainerExit, ContainerId, Credits, Placement};

use super::application_report::{
    ApplicationReport, ContainerReport, ItemCounts, ResourceRequestRow, UnlaunchedHold, WaitingReason, WaitingRequest,
};
use super::states::{ApplicationState, ContainerState, ReportedFinalStatus};

/// An application with what it wants. What only its owner's thread knows is absent where that is not asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApplicationStatus {
    #[serde(flatten)]
    pub(crate) row: ApplicationRow,
    /// What kind of program it is.
    pub(crate) r#type: String,
    /// Whether it needs no program.
    pub(crate) unattended: bool,
    /// The attempt that has registered last; 0: none.
    pub(crate) attempt: u32,
    /// How far it says it is, %.
    pub(crate) progress_percent: f64,
    pub(crate) url: Option<String>,
    /// Why it ended so.
    pub(crate) diagnostics: Option<String>,
    /// Containers taken from it for others.
    pub(crate) preempted_containers: u64,
    /// Items that failed for good, at most 1,000 parts.
    pub(crate) failed_items: Option<String>,
    /// Slots that its live containers stand for.
    pub(crate) slots: Option<u64>,
    /// Memory that its live containers use now, MB.
    pub(crate) live_memory_mb: Option<u64>,
    /// CPU time that they have used, ms.
    pub(crate) live_cpu_ms: Option<u64>,
    /// What it was granted and has not launched.
    pub(crate) unlaunched: Option<HeldUnlaunched>,
    pub(crate) held_by_others: Option<HeldUnlaunched>,
    /// Memory times the time from grant to end, MB x s.
    pub(crate) memory_mb_s: u64,
    /// Cores times the time from grant to end, s.
    pub(crate) core_s: u64,
    pub(crate) requests: Vec<RequestLine>,
    /// That no connected worker can run anything that it waits for, and why.
    pub(crate) cannot_run: Option<String>,
    pub(crate) why: Option<Vec<WaitingLine>>,
    /// Its containers, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<Vec<ContainerRow>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestLine {
    /// Smaller first.
    pub(crate) priority: u32,
    /// The id that keeps types apart.
    pub(crate) allocation_request_id: u64,
    pub(crate) resource_name: Placement,
    pub(crate) memory_mb: u32,
    pub(crate) cores: u32,
    /// How many are still wanted here.
    pub(crate) containers: u32,
    /// Whether they may come from farther away.
    pub(crate) relax_locality: bool,
    /// Items that wait, at most 1,000 parts.
    pub(crate) items: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingLine {
    pub(crate) priority: u32,
    pub(crate) memory_mb: u32,
    pub(crate) cores: u32,
    /// The first reason that holds.
    pub(crate) reason: WaitingReason,
}

/// Containers that were granted and are not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldUnlaunched {
    pub(crate) applications: u64,
    pub(crate) containers: u64,
    pub(crate) slots: u64,
    /// When the last of their applications loses the first of them, epoch ms.
    pub(crate) until_ms: i64,
}

impl From<&ApplicationReport> for ApplicationStatus {
    fn from(report: &ApplicationReport) -> Self {
        Self {
            row: ApplicationRow::from(report),
            r#type: report.application_type.clone(),
            unattended: report.unattended,
            attempt: report.attempt,
            progress_percent: report.progress,
            url: given(&report.tracking_url),
            diagnostics: given(&report.diagnostics),
            preempted_containers: report.preempted_containers,
            failed_items: given(&report.failed_items),
            slots: Some(report.slots),
            live_memory_mb: Some(report.live_memory_mb),
            live_cpu_ms: Some(report.live_cpu_ms),
            unlaunched: report.unlaunched.as_ref().map(HeldUnlaunched::from),
            held_by_others: report.held_by_others.as_ref().map(HeldUnlaunched::from),
            memory_mb_s: report.memory_seconds,
            core_s: report.vcore_seconds,
            requests: report.resource_requests.iter().map(RequestLine::from).collect(),
            cannot_run: report.cannot_run.clone(),
            why: Some(report.why.iter().map(WaitingLine::from).collect()),
            containers: None,
        }
    }
}

impl From<&ResourceRequestRow> for RequestLine {
    fn from(row: &ResourceRequestRow) -> Self {
        Self {
            priority: row.priority,
            allocation_request_id: row.allocation_request_id,
            resource_name: row.resource_name.clone(),
            memory_mb: row.capability.memory_mb,
            cores: row.capability.vcores,
            containers: row.num_containers,
            relax_locality: row.relax_locality,
            items: row.items.clone(),
        }
    }
}

impl From<&WaitingRequest> for WaitingLine {
    fn from(waiting: &WaitingRequest) -> Self {
        Self {
            priority: waiting.priority,
            memory_mb: waiting.capability.memory_mb,
            cores: waiting.capability.vcores,
            reason: waiting.reason,
        }
    }
}

impl From<&UnlaunchedHold> for HeldUnlaunched {
    fn from(hold: &UnlaunchedHold) -> Self {
        let UnlaunchedHold { applications, containers, slots, until } = *hold;
        Self { applications, containers, slots, until_ms: until }
    }
}

/// A text, unless it is empty.
fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApplicationRow {
    pub(crate) application: ApplicationId,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    pub(crate) state: ApplicationState,
    pub(crate) final_status: ReportedFinalStatus,
    pub(crate) started_ms: i64,
    pub(crate) finished_ms: Option<i64>,
    /// Time from its submission to its end or to now, ms; none where answers do not depend on the moment.
    pub(crate) elapsed_ms: Option<i64>,
    pub(crate) running_containers: u64,
    /// Containers that it still asks for.
    pub(crate) pending_containers: u64,
    pub(crate) completed_containers: u64,
    /// Those that failed by their own fault.
    pub(crate) failed_containers: u64,
    /// How many of its items are done; null: it has none, or is over.
    pub(crate) items: Option<ItemCounts>,
    /// Memory that its live containers hold, MB.
    pub(crate) memory_mb: u64,
    pub(crate) cores: u64,
    pub(crate) cost: Option<Credits>,
}

impl From<&ApplicationReport> for ApplicationRow {
    fn from(report: &ApplicationReport) -> Self {
        Self {
            application: report.id,
            name: report.name.clone(),
            user: report.user.clone(),
            queue: report.queue.clone(),
            state: report.state,
            final_status: report.final_status,
            started_ms: report.started_time,
            finished_ms: Some(report.finished_time).filter(|ms| *ms > 0),
            elapsed_ms: Some(report.elapsed_time),
            running_containers: report.running_containers,
            pending_containers: report.pending_containers,
            completed_containers: report.completed_containers,
            failed_containers: report.failed_containers,
            items: report.items,
            memory_mb: report.allocated_mb,
            cores: report.allocated_vcores,
            cost: report.cost,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerRow {
    pub(crate) container: ContainerId,
    pub(crate) state: ContainerState,
    /// Its node, `host:web port`.
    pub(crate) node: String,
    pub(crate) rack: String,
    pub(crate) item: Option<u32>,
    pub(crate) item_attempt: Option<u32>,
    pub(crate) exit_status: Option<ContainerExit>,
    /// Why it ended so, or is to end.
    pub(crate) diagnostics: Option<String>,
    pub(crate) memory_mb: u32,
    pub(crate) cores: u32,
    pub(crate) granted_ms: i64,
    pub(crate) started_ms: Option<i64>,
    pub(crate) finished_ms: Option<i64>,
    /// Memory that it uses now, MB.
    pub(crate) live_memory_mb: u64,
    /// The most memory that it used, MB.
    pub(crate) peak_memory_mb: u32,
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
