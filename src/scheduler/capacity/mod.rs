//! The Capacity scheduler (Hadoop 1.2.1 `CapacityTaskScheduler`): each queue has a share of the cluster, may use what
//! the others leave up to a maximum, and divides it among its users.
//!
//! [`CapacityConfig`] is the checked configuration, [`JobLists`] the life of jobs in a queue, [`SlotShare`] and
//! [`UserLimit`] the limits on slots, [`QueueReport`] and [`JobReport`] the texts. All numbers are exact: percentages are
//! decimals, ratios compare by cross-multiplication.

mod capacity_config;
mod container_limits;
mod java_float;
mod job_limits;
mod job_lists;
mod job_stage;
mod live_queue;
mod locality_wait;
mod policy;
mod queue_slots;
mod report;
mod slot_limits;

#[cfg(test)]
mod tests;

pub use capacity_config::{CapacityConfig, WrittenConfig, WrittenQueue};
pub(crate) use capacity_config::{CapacityConfigError, CapacityQueue, SlotMemory};
pub(crate) use job_limits::{JobLimits, RefusedJob};
pub(crate) use job_lists::{JobLists, ListedJob};
pub(crate) use job_stage::{JobRank, JobStage, StageCounts};
pub(crate) use locality_wait::{MissedOpportunities, WaitFactor};
pub(super) use policy::Capacity;
pub(crate) use report::{JobReport, KindReport, QueueDetail, QueueReport, QueueSlotsDetail, QueuedJobDetail};
pub(crate) use slot_limits::{SlotShare, SlotUsage, SlotVerdict, UserLimit};
