//! An application in a list: the members of `jobtracker app list --json`.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, Credits};

use super::application_report::{ApplicationReport, ItemCounts};
use super::states::{ApplicationState, ReportedFinalStatus};

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApplicationRow {
    /// Its id.
    pub(crate) application: ApplicationId,
    /// Its name.
    pub(crate) name: String,
    /// Its owner.
    pub(crate) user: String,
    /// Its queue.
    pub(crate) queue: String,
    /// How far it is.
    pub(crate) state: ApplicationState,
    /// How it ended.
    pub(crate) final_status: ReportedFinalStatus,
    /// When it was submitted, epoch ms.
    pub(crate) started_ms: i64,
    /// When it ended, epoch ms.
    pub(crate) finished_ms: Option<i64>,
    /// Time from its submission to its end or to now, ms; none where answers do not depend on the moment.
    pub(crate) elapsed_ms: Option<i64>,
    /// Live containers.
    pub(crate) running_containers: u64,
    /// Containers that it still asks for.
    pub(crate) pending_containers: u64,
    /// Containers that are complete.
    pub(crate) completed_containers: u64,
    /// Those that failed by their own fault.
    pub(crate) failed_containers: u64,
    /// How many of its items are done; null: it has none, or is over.
    pub(crate) items: Option<ItemCounts>,
    /// Memory that its live containers hold, MB.
    pub(crate) memory_mb: u64,
    /// Cores that they hold.
    pub(crate) cores: u64,
    /// What it has cost, where that is shown.
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
