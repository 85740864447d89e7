//! A job down to its tasks and attempts, as pages show it; and what holds a slot now.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, AttemptState, JobId, PerKind};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// No attempt of it runs, and it is not done.
    Waiting,
    /// An attempt of it runs.
    Running,
    /// It is done.
    Succeeded,
    /// It was given up after its failures.
    Failed,
    /// It was stopped with its job, and does not run again.
    Killed,
    /// It waits again since its last attempt was preempted.
    Preempted,
}

/// A job down to its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDetail {
    /// The states of its maps and of its reduces in the order of their numbers, as lengths of runs of one state.
    pub runs: PerKind<Vec<(TaskState, u32)>>,
    /// Its attempts: those that have failed, were killed or run come before those that have succeeded; each by kind, task and number.
    pub attempts: Vec<AttemptDetail>,
    /// Attempts that are not among them.
    pub attempts_left_out: u64,
    /// Its output folder; none if it names none.
    pub output: Option<String>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptDetail {
    /// Its id.
    pub attempt: AttemptId,
    /// `setup`, `map`, `reduce` or `cleanup`.
    pub task: &'static str,
    /// Its state: RUNNING for all live ones.
    pub state: AttemptState,
    /// Whether it was ended because another queue or pool had a right to its slot.
    pub is_preempted: bool,
    /// Name of the tracker it was launched on.
    pub tracker: Arc<str>,
    /// When it was launched, epoch ms.
    pub launch_ms: i64,
    /// When it ended, epoch ms.
    pub finish_ms: Option<i64>,
    /// When copying ended (reduces), epoch ms.
    pub shuffle_ms: Option<i64>,
    /// When merging ended (reduces), epoch ms.
    pub sort_ms: Option<i64>,
    /// Slots that it takes.
    pub slots: u32,
    /// Its diagnostics.
    pub diagnostics: Box<str>,
    /// Its last status text.
    pub status: Box<str>,
}

/// A live attempt: it holds slots of a tracker.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveAttempt {
    /// Its id.
    pub attempt: AttemptId,
    /// The user of its job.
    pub user: Arc<str>,
    /// The queue of its job.
    pub queue: Arc<str>,
    /// Name of its tracker.
    pub tracker: Arc<str>,
    /// When it was launched, epoch ms.
    pub launch_ms: i64,
    /// Slots that it holds.
    pub slots: u32,
}

// === impl TaskState ===

impl TaskState {
    /// All, in the order in which pages list them.
    pub const ALL: [TaskState; 6] =
        [Self::Succeeded, Self::Running, Self::Waiting, Self::Preempted, Self::Failed, Self::Killed];

    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Preempted => "preempted",
        }
    }
}

// === impl JobDetail ===

impl JobDetail {
    /// Its attempts that have failed, the first to end first.
    pub fn failures(&self) -> Vec<&AttemptDetail> {
        let is_failed = |state| matches!(state, AttemptState::Failed | AttemptState::FailedUnclean);
        let mut failures: Vec<_> = self.attempts.iter().filter(|attempt| is_failed(attempt.state)).collect();
        failures.sort_by_key(|attempt| (attempt.finish_ms.unwrap_or(i64::MAX), attempt.attempt));
        failures
    }
}

// === impl AttemptDetail ===

impl AttemptDetail {
    /// Whether it runs.
    pub fn is_live(&self) -> bool {
        self.finish_ms.is_none() && !self.state.is_over()
    }

    /// The job it is of.
    pub fn job(&self) -> JobId {
        self.attempt.task.job
    }
}
