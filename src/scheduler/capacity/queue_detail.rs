//! What pages show of a queue and of its jobs.

use crate::model::PerKind;

use super::java_float::JavaPercent;
use super::{CapacityQueue, JobStage, SlotShare, SlotUsage, StageCounts};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueDetail {
    pub settings: CapacityQueue,
    pub slots: PerKind<QueueSlotsDetail>,
    pub jobs: StageCounts,
    /// Users with a job in it.
    pub users: u64,
    /// Maps and reduces of initialising and running jobs.
    pub active_tasks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSlotsDetail {
    /// The queue's slots in the cluster as it is now.
    pub share: SlotShare,
    pub usage: SlotUsage,
    /// Users with a task that waits.
    pub active_users: u32,
    /// Slots that one user may hold now, tasks of one slot each.
    pub user_limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJobDetail {
    pub stage: JobStage,
    pub slots_per_task: PerKind<u32>,
    /// Slots of nodes that are reserved for it, as its queue counts them.
    pub reserved_slots: PerKind<u32>,
}

impl QueueSlotsDetail {
    /// Occupied slots in percent of the queue's slots, with one decimal as the original prints it.
    pub fn occupied_percent(&self) -> String {
        let (occupied, capacity) = (self.usage.occupied, self.share.capacity);
        JavaPercent { part: u64::from(occupied), whole: u64::from(capacity) }.to_string()
    }
}
