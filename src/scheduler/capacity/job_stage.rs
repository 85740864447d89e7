//! How far the jobs of a queue have come.

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

/// Jobs of a queue, or of one user in it, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageCounts {
    pub(crate) waiting: u64,
    pub(crate) initializing: u64,
    pub(crate) running: u64,
}

impl StageCounts {
    /// Initialising or running.
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

/// As the refusal of a job counts them.
impl fmt::Display for StageCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, initializing, running } = self;
        write!(f, "{waiting} waiting jobs, {initializing} initializing jobs and {running} running jobs")
    }
}
