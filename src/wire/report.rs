//! Tasks as clients see them, and the events that shuffling reduces follow.

use super::{AttemptId, Counters, TaskId, Text, WString};

/// How far a task is (1.2.1 `TIPStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TipStatus {
    /// Not started.
    Pending,
    /// Running, with its running attempts.
    Running(Vec<AttemptId>),
    /// Done, with the attempt that did it.
    Complete(AttemptId),
    /// Killed; 1.2.1 shows failed tasks so too.
    Killed,
    /// Failed.
    Failed,
}

/// A report on one task (1.2.1 `TaskReport`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// 0 to 1.
    pub progress: f32,
    /// Free text of the best attempt.
    pub state_text: Text,
    /// First assignment, epoch ms; 0 = none.
    pub start_ms: i64,
    /// Completion, epoch ms; 0 = none.
    pub finish_ms: i64,
    /// Diagnostics of its attempts.
    pub diagnostics: Vec<WString>,
    /// Counters of the best attempt.
    pub counters: Counters,
    /// How far it is.
    pub status: TipStatus,
}

/// What a completion event tells (1.2.1 `TaskCompletionEvent.Status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum CompletionStatus {
    /// The attempt failed.
    Failed,
    /// The attempt was killed.
    Killed,
    /// The attempt succeeded.
    Succeeded,
    /// It had succeeded, but its output is lost.
    Obsolete,
    /// The attempt failed and its task with it.
    TipFailed,
}

/// One entry of a job's list of events (1.2.1 `TaskCompletionEvent`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCompletionEvent {
    /// The attempt.
    pub attempt: AttemptId,
    /// Index of the task within job and kind.
    pub id_within_job: i32,
    /// False for reduces and for all setup and cleanup attempts, whatever slot they took.
    pub is_map: bool,
    /// What happened.
    pub status: CompletionStatus,
    /// `http://<host>:<port>` of the tracker.
    pub tracker_http: WString,
    /// Run time of a success, ms; else 0.
    pub run_time_ms: i32,
    /// Position in the list.
    pub event_id: i32,
}
