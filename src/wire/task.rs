//! A task as it is launched.

use super::{RecordRange, TaskStatus, Text};

/// The outcome that a job-cleanup task tells the committer (commit or abort).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanupOutcome {
    /// Commit.
    Succeeded,
    /// Abort after a failure.
    Failed,
    /// Abort after a kill.
    Killed,
}

/// Ranges of records to skip (1.2.1 `SortedRanges`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipRanges {
    /// Sum of the ranges' lengths.
    pub records: i64,
    /// The ranges, ascending.
    pub ranges: Vec<RecordRange>,
}

/// Where a map's split stands (1.2.1 `JobSplit.TaskSplitIndex`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitIndex {
    /// The submitted `job.split`.
    pub file: Text,
    /// Offset of the split's class name in it, bytes.
    pub offset_bytes: i64,
}

/// What differs between map and reduce tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskBody {
    /// A map slot's task; the split is `Some` exactly for ordinary maps (no setup or cleanup kind).
    Map {
        /// The split.
        split: Option<SplitIndex>,
    },
    /// A reduce slot's task.
    Reduce {
        /// Maps of the job.
        maps: i32,
    },
}

/// A task to launch (1.2.1 `MapTask`, `ReduceTask`).
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The submitted job.xml, `<staging>/<job>/job.xml`.
    pub job_file: Text,
    /// Index of the task within its job and kind.
    pub partition: i32,
    /// Slots it takes.
    pub num_slots: i32,
    /// Its first status: the attempt id, and the state that tells the tracker to start it.
    pub status: TaskStatus,
    /// Records to skip.
    pub skip_ranges: SkipRanges,
    /// Whether it runs in skipping mode.
    pub skipping: bool,
    /// `Some` exactly for job-cleanup tasks.
    pub job_cleanup: Option<CleanupOutcome>,
    /// A job-setup task.
    pub job_setup: bool,
    /// Whether skipped records are kept.
    pub write_skipped_records: bool,
    /// A task-cleanup attempt.
    pub task_cleanup: bool,
    /// Owner of the job.
    pub user: Text,
    /// What differs by kind.
    pub body: TaskBody,
}
