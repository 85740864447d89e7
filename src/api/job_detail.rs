//! A job down to its tasks and attempts, as pages show it; and what holds a slot now.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, AttemptState, PerKind};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
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
    pub(crate) runs: PerKind<Vec<(TaskState, u32)>>,
    /// Its attempts: those that have failed, were killed or run come before those that have succeeded; each by kind, task and number.
    pub(crate) attempts: Vec<AttemptDetail>,
    /// Attempts that are not among them.
    pub(crate) attempts_left_out: u64,
    /// Its output folder; none if it names none.
    pub(crate) output: Option<String>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttemptDetail {
    /// Its id.
    pub(crate) attempt: AttemptId,
    /// `setup`, `map`, `reduce` or `cleanup`.
    pub(crate) task: &'static str,
    /// Its state: RUNNING for all live ones.
    pub(crate) state: AttemptState,
    /// Whether it was ended because another queue or pool had a right to its slot.
    pub(crate) is_preempted: bool,
    /// Name of the tracker it was launched on.
    pub(crate) tracker: Arc<str>,
    /// When it was launched, epoch ms.
    pub(crate) launch_ms: i64,
    /// When it ended, epoch ms.
    pub(crate) finish_ms: Option<i64>,
    /// When copying ended (reduces), epoch ms.
    pub(crate) shuffle_ms: Option<i64>,
    /// When merging ended (reduces), epoch ms.
    pub(crate) sort_ms: Option<i64>,
    /// Slots that it takes.
    pub(crate) slots: u32,
    /// Its diagnostics.
    pub(crate) diagnostics: Box<str>,
    /// Its last status text.
    pub(crate) status: Box<str>,
}

/// A live attempt: it holds slots of a tracker.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveAttempt {
    /// Its id.
    pub(crate) attempt: AttemptId,
    /// The user of its job.
    pub(crate) user: Arc<str>,
    /// The queue of its job.
    pub(crate) queue: Arc<str>,
    /// Name of its tracker.
    pub(crate) tracker: Arc<str>,
    /// When it was launched, epoch ms.
    pub(crate) launch_ms: i64,
    /// Slots that it holds.
    pub(crate) slots: u32,
}

impl TaskState {
    /// All, in the order in which pages list them.
    pub(crate) const ALL: [TaskState; 6] =
        [Self::Succeeded, Self::Running, Self::Waiting, Self::Preempted, Self::Failed, Self::Killed];

    /// The word for people.
    pub(crate) const fn word(self) -> &'static str {
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

impl JobDetail {
    /// Its attempts that have failed, the first to end first.
    pub(crate) fn failures(&self) -> Vec<&AttemptDetail> {
        let is_failed = |state| matches!(state, AttemptState::Failed | AttemptState::FailedUnclean);
        let mut failures: Vec<_> = self.attempts.iter().filter(|attempt| is_failed(attempt.state)).collect();
        failures.sort_by_key(|attempt| (attempt.finish_ms.unwrap_or(i64::MAX), attempt.attempt));
        failures
    }
}

impl AttemptDetail {
    /// Whether it runs.
    pub(crate) fn is_live(&self) -> bool {
        self.finish_ms.is_none() && !self.state.is_over()
    }
}
