//! Tasks as clients see them, and the events that shuffling reduces follow.

use crate::model::{AttemptId, Kind, TaskId, names};

use super::class::encoded_by_name;
use super::error::{WireErrorKind, excerpt};
use super::fields::fields;
use super::{Counters, Decode, Encode, Reader, Text, WString, WireError, Writer};

/// The state of a task (1.2.1 `TIPStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TipStatus {
    /// Not started.
    Pending,
    /// Running, with its running attempts.
    Running(Vec<AttemptId>),
    /// Done, with its successful attempt.
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
    /// Its state.
    pub status: TipStatus,
}

/// The kind of a completion event (1.2.1 `TaskCompletionEvent.Status`).
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
    /// Index of the task within its job and kind.
    pub id_within_job: i32,
    /// False for reduces and for all setup and cleanup attempts, even on map slots.
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

impl Decode for TipStatus {
    const MIN_BYTES: usize = 2;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        Ok(match reader.vint_bytes("status of a task")? {
            b"PENDING" => Self::Pending,
            b"RUNNING" => Self::Running(reader.vint_list("number of running attempts")?),
            b"COMPLETE" => Self::Complete(AttemptId::decode(reader)?),
            b"KILLED" => Self::Killed,
            b"FAILED" => Self::Failed,
            other => return Err(start.error(WireErrorKind::UnknownName(excerpt(other)), "status of a task")),
        })
    }
}

impl Encode for TipStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Pending => writer.text("PENDING"),
            Self::Running(attempts) => {
                writer.text("RUNNING");
                writer.vint_list(attempts);
            }
            Self::Complete(attempt) => {
                writer.text("COMPLETE");
                attempt.encode(writer);
            }
            Self::Killed => writer.text("KILLED"),
            Self::Failed => writer.text("FAILED"),
        }
    }
}

fields! {
    TaskReport, 41;
    task,
    progress: f32 "progress of a task",
    state_text: &text "state text of a task",
    start_ms: i64 "start of a task",
    finish_ms: i64 "end of a task",
    diagnostics: &list "number of diagnostics",
    counters,
    status,
}

names!(CompletionStatus {
    Failed = "FAILED",
    Killed = "KILLED",
    Succeeded = "SUCCEEDED",
    Obsolete = "OBSOLETE",
    TipFailed = "TIPFAILED",
});
encoded_by_name!(CompletionStatus, "status of a completion event");

impl TaskCompletionEvent {
    /// Whose it is: `map`, `reduce`, or `setup or cleanup`, which run in slots of either kind.
    pub(crate) fn task(&self) -> &'static str {
        match (self.attempt.task.kind, self.is_map) {
            (Kind::Map, true) => "map",
            (Kind::Map, false) => "setup or cleanup",
            // Events of setup and cleanup tasks in reduce slots look the same.
            (Kind::Reduce, _) => "reduce",
        }
    }
}

fields! {
    TaskCompletionEvent, AttemptId::MIN_BYTES + 10;
    attempt,
    id_within_job: vint "task index of an event",
    is_map: bool "kind of an event",
    status,
    tracker_http,
    run_time_ms: vint "run time of an event",
    event_id: vint "number of an event",
}
