//! What became of the jobs of a play.

use crate::model::{Credits, RunState};

/// A job as it was played; jobs are in the order of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayedJob {
    /// When its first task was launched, epoch ms.
    pub first_launch_ms: Option<i64>,
    /// How and when it ended, epoch ms; none: not while the play lasted.
    pub end: Option<(RunState, i64)>,
    pub refusal: Option<String>,
    pub kills: u64,
    /// Time that its attempts held slots, ms of one slot.
    pub slot_ms: u64,
    pub cost: Credits,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    pub jobs: Vec<PlayedJob>,
    /// Events that the engine has processed.
    pub events: u64,
    /// When it was over, epoch ms.
    pub end_ms: i64,
    /// Jobs that were put into another queue, for theirs does not exist under this scheduler.
    pub moved: usize,
}
