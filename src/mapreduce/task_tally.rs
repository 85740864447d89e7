//! Counts of tasks and attempts.

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTally {
    /// All.
    pub total: u32,
    /// Those that wait.
    pub pending: u32,
    /// Those with a running attempt.
    pub running: u32,
    /// Those that are done.
    pub finished: u32,
    /// Those that were given up.
    pub killed: u32,
}

/// Attempts that ended without success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BadEnds {
    /// FAILED.
    pub failed: u32,
    /// KILLED.
    pub killed: u32,
}
