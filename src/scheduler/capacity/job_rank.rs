//! The order of jobs in a queue.

/// Position of a job among the jobs of its queue, first job smallest. A change of priority or start time changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobRank {
    /// 0 (`VERY_HIGH`) to 4 (`VERY_LOW`); 0 in a queue without priorities.
    priority: u8,
    /// Start time, wall clock, milliseconds.
    start_ms: i64,
    /// Sequence of submission.
    order: u64,
}

impl JobRank {
    /// Before every job.
    pub(super) const FIRST: JobRank = JobRank { priority: 0, start_ms: i64::MIN, order: 0 };

    /// The rank of a job in a queue that does or does not support priorities.
    pub(crate) fn new(supports_priority: bool, priority: u8, start_ms: i64, order: u64) -> Self {
        Self { priority: if supports_priority { priority } else { 0 }, start_ms, order }
    }
}
