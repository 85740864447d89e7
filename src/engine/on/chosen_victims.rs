//! The victims of one round of preemption.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{AttemptId, ContainerId, TrackerId};
use crate::scheduler::Earmark;

#[derive(Debug, Default)]
pub(super) struct ChosenVictims {
    /// The attempts to kill, each with its diagnostics.
    pub(super) victims: Vec<(AttemptId, Arc<str>)>,
    /// The containers to kill, each with its diagnostics.
    pub(super) containers: Vec<(ContainerId, Arc<str>)>,
    /// Queues or pools below what is due to them, with the number of missing slots.
    pub(super) short: BTreeMap<String, u32>,
    /// Room of nodes that was found for what waits.
    pub(super) earmarks: Vec<(TrackerId, Earmark)>,
}
