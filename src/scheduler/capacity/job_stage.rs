//! How far the jobs of a queue have come, and their order.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobStage {
    /// Accepted; nothing of it runs.
    Waiting,
    /// Its setup may run.
    Initializing,
    /// Its setup has ended.
    Running,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageCounts {
    pub(crate) waiting: u64,
    pub(crate) initializing: u64,
    pub(crate) running: u64,
}

impl StageCounts {
    pub(crate) fn initialized(&self) -> u64 {
        self.initializing.saturating_add(self.running)
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.waiting.saturating_add(self.initialized())
    }

    pub(super) fn count_mut(&mut self, stage: JobStage) -> &mut u64 {
        match stage {
            JobStage::Waiting => &mut self.waiting,
            JobStage::Initializing => &mut self.initializing,
            JobStage::Running => &mut self.running,
        }
    }
}

impl fmt::Display for StageCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, initializing, running } = self;
        write!(f, "{waiting} waiting jobs, {initializing} initializing jobs and {running} running jobs")
    }
}

/// Position of a job among the jobs of its queue, first job smallest. A change of priority or start time changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobRank {
    /// 0 (`VERY_HIGH`) to 4 (`VERY_LOW`); 0 in a queue without priorities.
    priority: u8,
    /// Start time, wall clock, milliseconds.
    start_ms: i64,
    order: u64,
}

impl JobRank {
    pub(super) const FIRST: JobRank = JobRank { priority: 0, start_ms: i64::MIN, order: 0 };

    pub(crate) fn new(supports_priority: bool, priority: u8, start_ms: i64, order: u64) -> Self {
        Self { priority: if supports_priority { priority } else { 0 }, start_ms, order }
    }
}
