//! Submissions of simulated clients.

use std::sync::Arc;

use crate::mapreduce::JobSpec;
use crate::model::JobId;

use super::held_answer::HeldAnswer;

/// A submission under way.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) user: usize,
    pub(super) id: JobId,
    pub(super) spec: Arc<JobSpec>,
    pub(super) phase: Phase,
    /// An answer that waits for the store.
    pub(super) held: Option<HeldAnswer<Answered>>,
}

/// What a client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Goes(Phase),
    Accepted,
    Refused,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Ask,
    Read,
    Write,
}
