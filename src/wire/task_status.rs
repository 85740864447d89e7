//! What a tracker says of one attempt.

use super::{AttemptId, Counters, Text};

/// The state of an attempt (1.2.1 `TaskStatus.State`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum AttemptState {
    /// Its process runs.
    Running,
    /// Done; final.
    Succeeded,
    /// Done by its own fault; final, counts against the attempt limit.
    Failed,
    /// Known to the tracker, not started yet.
    Unassigned,
    /// Ended by request; final, costs nothing.
    Killed,
    /// Waiting for leave to commit its output.
    CommitPending,
    /// Failed, its output waits for a task-cleanup attempt.
    FailedUnclean,
    /// Killed, its output waits for a task-cleanup attempt.
    KilledUnclean,
}

/// What an attempt is busy with (1.2.1 `TaskStatus.Phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before the first phase.
    Starting,
    /// A map running.
    Map,
    /// A reduce copying map output.
    Shuffle,
    /// A reduce merging.
    Sort,
    /// A reduce running.
    Reduce,
    /// A task-cleanup attempt running.
    Cleanup,
}

/// A range of input records (1.2.1 `SortedRanges.Range`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordRange {
    /// First record, counted from 0.
    pub start: i64,
    /// Number of records.
    pub length: i64,
}

/// What only reduces report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReduceProgress {
    /// When copying ended, epoch ms by the tracker's clock; 0 = not yet.
    pub shuffle_finish_ms: i64,
    /// When merging ended, epoch ms by the tracker's clock; 0 = not yet.
    pub sort_finish_ms: i64,
    /// Maps whose output could not be fetched since the last answered heartbeat.
    pub failed_fetches: Vec<AttemptId>,
}

/// A report on one attempt (1.2.1 `TaskStatus`, `MapTaskStatus`, `ReduceTaskStatus`).
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStatus {
    /// The attempt.
    pub attempt: AttemptId,
    /// 0 to 1, but nothing on the wire keeps a tracker from sending more, less or NaN.
    pub progress: f32,
    /// Slots it takes.
    pub num_slots: i32,
    /// Its state.
    pub state: AttemptState,
    /// New diagnostics since the last answered heartbeat; a delta.
    pub diagnostics: Text,
    /// Free text of the task.
    pub state_text: Text,
    /// What it is busy with.
    pub phase: Phase,
    /// Epoch ms by the tracker's clock; 0 = not started.
    pub start_ms: i64,
    /// Epoch ms by the tracker's clock; 0 = not ended.
    pub finish_ms: i64,
    /// Bytes of a finished map's output; -1 for all else.
    pub output_bytes: i64,
    /// Present about once a minute and with every state but RUNNING.
    pub counters: Option<Counters>,
    /// Where the task stands in its input, for skipping bad records.
    pub next_record_range: RecordRange,
    /// `Some` exactly for reduce kinds.
    pub reduce: Option<ReduceProgress>,
}
