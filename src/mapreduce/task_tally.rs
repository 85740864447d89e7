//! Counts of tasks and attempts.

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskTally {
    /// All.
    pub(crate) total: u32,
    /// Those that wait.
    pub(crate) pending: u32,
    /// Those with a running attempt.
    pub(crate) running: u32,
    /// Those that are done.
    pub(crate) finished: u32,
    /// Those that were given up.
    pub(crate) killed: u32,
}

/// Attempts that ended without success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BadEnds {
    pub(crate) failed: u32,
    pub(crate) killed: u32,
}
