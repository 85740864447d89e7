//! What pages show of a queue and of its jobs.

use crate::model::PerKind;

use super::java_float::JavaPercent;
use super::{CapacityQueue, JobStage, SlotShare, SlotUsage, StageCounts};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueDetail {
    pub(crate) settings: CapacityQueue,
    pub(crate) slots: PerKind<QueueSlotsDetail>,
    pub(crate) jobs: StageCounts,
    /// Users with a job in it.
    pub(crate) users: u64,
    /// Maps and reduces of initialising and running jobs.
    pub(crate) active_tasks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueSlotsDetail {
    /// The queue's slots in the cluster as it is now.
    pub(crate) share: SlotShare,
    pub(crate) usage: SlotUsage,
    /// Users with a task that waits.
    pub(crate) active_users: u32,
    /// Slots that one user may hold now, tasks of one slot each.
    pub(crate) user_limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedJobDetail {
    pub(crate) stage: JobStage,
    pub(crate) slots_per_task: PerKind<u32>,
    /// Slots of nodes that are reserved for it, as its queue counts them.
    pub(crate) reserved_slots: PerKind<u32>,
}

impl QueueSlotsDetail {
    /// Occupied slots in percent of the queue's slots, with one decimal as the original prints it.
    pub(crate) fn occupied_percent(&self) -> String {
        let (occupied, capacity) = (self.usage.occupied, self.share.capacity);
        JavaPercent { part: u64::from(occupied), whole: u64::from(capacity) }.to_string()
    }
}
