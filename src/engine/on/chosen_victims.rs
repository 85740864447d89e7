//! The victims of one round of preemption.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::AttemptId;

/// The victims of one round.
#[derive(Debug, Default)]
pub(super) struct ChosenVictims {
    /// The attempts to kill, each with its diagnostics.
    pub(super) victims: Vec<(AttemptId, Arc<str>)>,
    /// Queues or pools below what is due to them, with the number of missing slots.
    pub(super) short: BTreeMap<String, u32>,
}
