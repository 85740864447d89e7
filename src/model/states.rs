//! Life-cycle states and priorities, used on the wire and by the engine.

use super::names;

/// The state of a job (1.2.1 `JobStatus`), with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum RunState {
    /// Its setup has succeeded.
    Running = 1,
    Succeeded = 2,
    Failed = 3,
    /// Accepted, not set up.
    Prep = 4,
    /// Killed by request.
    Killed = 5,
}

/// The priority of a job (1.2.1 `JobPriority`), most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Priority {
    VeryHigh,
    High,
    #[default]
    Normal,
    Low,
    VeryLow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum AttemptState {
    /// Its process runs.
    Running,
    /// Succeeded; final.
    Succeeded,
    /// Failed; final, counts against the attempt limit.
    Failed,
    /// Known to the tracker, not started yet.
    Unassigned,
    /// Killed; final, does not count against the attempt limit.
    Killed,
    /// Waiting for permission to commit its output.
    CommitPending,
    /// Failed, its output waits for a task-cleanup attempt.
    FailedUnclean,
    /// Killed, its output waits for a task-cleanup attempt.
    KilledUnclean,
}

names!(RunState {
    Prep = "PREP",
    Running = "RUNNING",
    Succeeded = "SUCCEEDED",
    Failed = "FAILED",
    Killed = "KILLED",
});

names!(Priority {
    VeryHigh = "VERY_HIGH",
    High = "HIGH",
    Normal = "NORMAL",
    Low = "LOW",
    VeryLow = "VERY_LOW",
});

impl AttemptState {
    /// Whether it has succeeded, failed or been killed, and nothing of it runs.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed)
    }

    pub(crate) fn can_become(self, next: AttemptState) -> bool {
        use AttemptState as S;
        match self {
            S::Unassigned => next != S::Unassigned,
            S::Running => !matches!(next, S::Unassigned | S::Running),
            S::CommitPending => !matches!(next, S::Unassigned | S::Running | S::CommitPending),
            // The output of a map may be lost.
            S::Succeeded | S::FailedUnclean | S::KilledUnclean => matches!(next, S::Failed | S::Killed),
            S::Failed | S::Killed => false,
        }
    }
}

names!(AttemptState {
    Running = "RUNNING",
    Succeeded = "SUCCEEDED",
    Failed = "FAILED",
    Unassigned = "UNASSIGNED",
    Killed = "KILLED",
    CommitPending = "COMMIT_PENDING",
    FailedUnclean = "FAILED_UNCLEAN",
    KilledUnclean = "KILLED_UNCLEAN",
});
