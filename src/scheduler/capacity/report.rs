//! The texts about queues and jobs that clients and pages show, byte for byte those of the original (1.2.1
//! `CapacitySchedulerQueue.toString`, `CapacityTaskScheduler.getJobQueueSchedInfo`).

use std::fmt;

use crate::model::PerKind;

use super::java_float::{JavaFloat, JavaPercent};
use super::{CapacityQueue, JobStage, SlotShare, SlotUsage, StageCounts};

const SEPARATOR: &str = "-------------";

/// The scheduling information of a queue. Every line ends with a newline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueReport<'a> {
    pub(crate) queue: &'a CapacityQueue,
    pub(crate) slots: PerKind<KindReport<'a>>,
    pub(crate) jobs: StageCounts,
    pub(crate) users: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct KindReport<'a> {
    pub(crate) share: SlotShare,
    pub(crate) usage: &'a SlotUsage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobReport {
    pub(crate) running: PerKind<u32>,
    pub(crate) slots_per_task: PerKind<u32>,
    pub(crate) reserved_nodes: PerKind<u32>,
}

impl fmt::Display for QueueReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Queue configuration")?;
        writeln!(f, "Capacity Percentage: {}%", JavaFloat(self.queue.capacity()))?;
        writeln!(f, "User Limit: {}%", self.queue.minimum_user_limit_percent())?;
        writeln!(f, "Priority Supported: {}", if self.queue.supports_priority() { "YES" } else { "NO" })?;
        writeln!(f, "{SEPARATOR}\nMap tasks\n{}{SEPARATOR}", self.slots.map)?;
        writeln!(f, "Reduce tasks\n{}{SEPARATOR}", self.slots.reduce)?;
        writeln!(f, "Job info")?;
        writeln!(f, "Number of Waiting Jobs: {}", self.jobs.waiting)?;
        writeln!(f, "Number of Initializing Jobs: {}", self.jobs.initializing)?;
        writeln!(f, "Number of users who have submitted jobs: {}", self.users)
    }
}

impl fmt::Display for KindReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlotShare { capacity, maximum } = self.share;
        let occupied = u64::from(self.usage.occupied);
        writeln!(f, "Capacity: {capacity} slots")?;
        if let Some(maximum) = maximum {
            writeln!(f, "Maximum capacity: {maximum} slots")?;
        }
        let used = JavaPercent { part: occupied, whole: u64::from(capacity) };
        writeln!(f, "Used capacity: {occupied} ({used}% of Capacity)")?;
        writeln!(f, "Running tasks: {}", self.usage.running_tasks)?;
        if occupied > 0 {
            writeln!(f, "Active users:")?;
        }
        for (user, &slots) in self.usage.by_user.iter().filter(|(_, slots)| **slots > 0 && occupied > 0) {
            let part = JavaPercent { part: u64::from(slots), whole: occupied };
            writeln!(f, "User '{user}': {slots} ({part}% of used capacity)")?;
        }
        Ok(())
    }
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = |count: u32, slots: u32| u64::from(count) * u64::from(slots);
        let Self { running, slots_per_task: each, reserved_nodes: reserved } = self;
        write!(
            f,
            "{} running map tasks using {} map slots. {} additional slots reserved. ",
            running.map,
            slots(running.map, each.map),
            slots(reserved.map, each.map)
        )?;
        write!(
            f,
            "{} running reduce tasks using {} reduce slots. {} additional slots reserved.",
            running.reduce,
            slots(running.reduce, each.reduce),
            slots(reserved.reduce, each.reduce)
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueDetail {
    pub(crate) settings: CapacityQueue,
    pub(crate) slots: PerKind<QueueSlotsDetail>,
    pub(crate) jobs: StageCounts,
    pub(crate) users: u64,
    /// Maps and reduces of initialising and running jobs.
    pub(crate) active_tasks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueSlotsDetail {
    /// The queue's slots in the cluster as it is now.
    pub(crate) share: SlotShare,
    pub(crate) usage: SlotUsage,
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
