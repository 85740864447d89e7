//! Slots of one kind that a queue holds, by user.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Usage of a queue for one kind of slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotUsage {
    /// Attempts of running jobs.
    pub(crate) running_tasks: u32,
    /// Slots of these attempts, and of nodes reserved for the queue's jobs.
    pub(crate) occupied: u32,
    /// Occupied slots of each user; users without any may be missing.
    pub(crate) by_user: BTreeMap<Arc<str>, u32>,
}
