//! An application by itself: the members of `jobtracker app status --json`.

use serde::{Deserialize, Serialize};

use super::application_report::{ApplicationReport, ResourceRequestRow, UnlaunchedHold, WaitingReason, WaitingRequest};
use super::application_row::ApplicationRow;
use super::container_row::ContainerRow;
use super::placement::Placement;

/// An application with what it wants. What only its owner's thread knows is absent where that is not asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationStatus {
    /// What lists show of it.
    #[serde(flatten)]
    pub row: ApplicationRow,
    /// What kind of program it is.
    pub r#type: String,
    /// Whether it needs no program.
    pub unattended: bool,
    /// The attempt that has registered last; 0: none.
    pub attempt: u32,
    /// How far it says it is, %.
    pub progress_percent: f64,
    /// Its page.
    pub url: Option<String>,
    /// Why it ended so.
    pub diagnostics: Option<String>,
    /// Containers taken from it for others.
    pub preempted_containers: u64,
    /// Items that failed for good, at most 1,000 parts.
    pub failed_items: Option<String>,
    /// Slots that its live containers stand for.
    pub slots: Option<u64>,
    /// Memory that its live containers use now, MB.
    pub live_memory_mb: Option<u64>,
    /// CPU time that they have used, ms.
    pub live_cpu_ms: Option<u64>,
    /// What it was granted and has not launched.
    pub unlaunched: Option<HeldUnlaunched>,
    /// The same of all others.
    pub held_by_others: Option<HeldUnlaunched>,
    /// Memory times the time from grant to end, MB x s.
    pub memory_mb_s: u64,
    /// Cores times the time from grant to end, s.
    pub core_s: u64,
    /// What it asks for.
    pub requests: Vec<RequestLine>,
    /// That no connected worker can run anything that it waits for, and why.
    pub cannot_run: Option<String>,
    /// Why its requests wait.
    pub why: Option<Vec<WaitingLine>>,
    /// Its containers, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<Vec<ContainerRow>>,
}

/// A row of what an application asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLine {
    /// Smaller first.
    pub priority: u32,
    /// The id that keeps types apart.
    pub allocation_request_id: u64,
    /// Where.
    pub resource_name: Placement,
    /// Memory of a container, MB.
    pub memory_mb: u32,
    /// Its cores.
    pub cores: u32,
    /// How many are still wanted here.
    pub containers: u32,
    /// Whether they may come from farther away.
    pub relax_locality: bool,
    /// Items that wait, at most 1,000 parts.
    pub items: Option<String>,
}

/// Why a request waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingLine {
    /// Its priority.
    pub priority: u32,
    /// Memory of a container, MB.
    pub memory_mb: u32,
    /// Its cores.
    pub cores: u32,
    /// The first reason that holds.
    pub reason: WaitingReason,
}

/// Containers that were granted and are not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldUnlaunched {
    /// Applications that hold them.
    pub applications: u64,
    /// How many they are.
    pub containers: u64,
    /// Slots that they stand for.
    pub slots: u64,
    /// When the last of their applications loses the first of them, epoch ms.
    pub until_ms: i64,
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
