//! A job in a list and by itself: the members of `jobtracker job list --json` and `job status --json` that do not depend on
//! the moment of reading.

use serde::{Deserialize, Serialize};

use crate::model::{JobId, Kind, PerKind, RunState, named};

use super::pending_reason::PendingReason;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRow {
    pub(crate) job: JobId,
    /// Its state, in Hadoop's spelling.
    pub(crate) state: JobState,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    /// Its priority, in Hadoop's spelling.
    pub(crate) priority: String,
    pub(crate) started_ms: i64,
    pub(crate) finish_ms: Option<i64>,
    /// Maps that are done, percent; none if it failed or was killed.
    pub(crate) map_percent: Option<u32>,
    pub(crate) reduce_percent: Option<u32>,
    pub(crate) failure: Option<String>,
    /// Who killed it, where the JobTracker says so.
    pub(crate) killed_by: Option<String>,
    /// That it is held, or its queue paused: the user and the time.
    pub(crate) held: Option<String>,
    /// That no connected worker can run anything that it waits for, and why.
    pub(crate) cannot_run: Option<String>,
    /// Its deadline, while a scheduler rules that keeps it.
    pub(crate) deadline: Option<JobDue>,
    /// Its cost up to the last tick, where that is shown.
    pub(crate) cost: Option<String>,
    /// The address of its page, without host.
    pub(crate) url: String,
    /// Its tasks; none if it failed or was killed and its attempts were not read.
    pub(crate) tasks: Option<PerKind<TaskTally>>,
    /// Why it has no more slots, the first reason first, as far as the policy has said so.
    pub(crate) why: Option<Vec<WhyLine>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobDue {
    /// When the job must be done, epoch ms.
    pub(crate) due_ms: i64,
    /// `ON_TIME`, `AT_RISK` or `LATE`.
    pub(crate) state: String,
    /// When its maps start, epoch ms; none: they have, or no slots are promised.
    pub(crate) planned_start_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WhyLine {
    #[serde(flatten)]
    pub(crate) reason: PendingReason,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum JobState {
    /// Accepted; setup is not finished.
    Prep,
    /// Tasks may run.
    Running,
    /// Finished successfully.
    Succeeded,
    /// Finished with an error.
    Failed,
    Killed,
}

/// Counts of the tasks of a kind by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskTally {
    pub(crate) total: u32,
    pub(crate) finished: u32,
    pub(crate) running: u32,
    /// None of the others.
    pub(crate) pending: u32,
    pub(crate) failed: u32,
    /// Stopped because the job ended.
    pub(crate) stopped: u32,
}

named!(JobState { Prep = "PREP", Running = "RUNNING", Succeeded = "SUCCEEDED", Failed = "FAILED", Killed = "KILLED" });

impl JobState {
    pub(crate) const fn of(state: RunState) -> Self {
        match state {
            RunState::Prep => Self::Prep,
            RunState::Running => Self::Running,
            RunState::Succeeded => Self::Succeeded,
            RunState::Failed => Self::Failed,
            RunState::Killed => Self::Killed,
        }
    }

    pub(crate) const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Killed)
    }
}

impl TaskTally {
    /// Of a job that has ended, of which so many failed: Hadoop reports them as killed, and attempts as running that are
    /// being stopped.
    #[must_use]
    pub(crate) fn at_end(self, failed: u32) -> Self {
        let lost = self.total.saturating_sub(self.finished);
        let failed = failed.min(lost);
        Self { running: 0, pending: 0, failed, stopped: lost - failed, ..self }
    }
}

/// The user in the words of 1.2.1 `JobTracker.killJob`, of a job that was killed.
pub(crate) fn killed_by(job: JobId, failure_info: &str) -> Option<String> {
    failure_info.strip_prefix(&format!("Job {job} was killed by ")).map(str::to_owned)
}

/// Of a job that lost too many tasks of a kind, how many: in the words of 1.2.1 `JobInProgress.failedTask`.
pub(crate) fn failed_tasks(failure_info: &str, kind: Kind) -> Option<u32> {
    let (_, text) = failure_info.split_once("FailedCount: ")?;
    let (count, task) = text.split_once(". LastFailedTask: ")?;
    let task: crate::model::TaskId = task.trim().parse().ok()?;
    count.parse().ok().filter(|_| task.kind == kind)
}
