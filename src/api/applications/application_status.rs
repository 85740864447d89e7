//! An application by itself: the members of `jobtracker app status --json`.

use serde::{Deserialize, Serialize};

use super::application_report::{ApplicationReport, ResourceRequestRow, UnlaunchedHold, WaitingReason, WaitingRequest};
use super::application_row::ApplicationRow;
use super::container_row::ContainerRow;
use super::placement::Placement;

/// An application with what it wants. What only its owner's thread knows is absent where that is not asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApplicationStatus {
    /// What lists show of it.
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
    /// Its page.
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
    /// The same of all others.
    pub(crate) held_by_others: Option<HeldUnlaunched>,
    /// Memory times the time from grant to end, MB x s.
    pub(crate) memory_mb_s: u64,
    /// Cores times the time from grant to end, s.
    pub(crate) core_s: u64,
    /// What it asks for.
    pub(crate) requests: Vec<RequestLine>,
    /// That no connected worker can run anything that it waits for, and why.
    pub(crate) cannot_run: Option<String>,
    /// Why its requests wait.
    pub(crate) why: Option<Vec<WaitingLine>>,
    /// Its containers, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<Vec<ContainerRow>>,
}

/// A row of what an application asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestLine {
    /// Smaller first.
    pub(crate) priority: u32,
    /// The id that keeps types apart.
    pub(crate) allocation_request_id: u64,
    /// Where.
    pub(crate) resource_name: Placement,
    /// Memory of a container, MB.
    pub(crate) memory_mb: u32,
    /// Its cores.
    pub(crate) cores: u32,
    /// How many are still wanted here.
    pub(crate) containers: u32,
    /// Whether they may come from farther away.
    pub(crate) relax_locality: bool,
    /// Items that wait, at most 1,000 parts.
    pub(crate) items: Option<String>,
}

/// Why a request waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingLine {
    /// Its priority.
    pub(crate) priority: u32,
    /// Memory of a container, MB.
    pub(crate) memory_mb: u32,
    /// Its cores.
    pub(crate) cores: u32,
    /// The first reason that holds.
    pub(crate) reason: WaitingReason,
}

/// Containers that were granted and are not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldUnlaunched {
    /// Applications that hold them.
    pub(crate) applications: u64,
    /// How many they are.
    pub(crate) containers: u64,
    /// Slots that they stand for.
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
