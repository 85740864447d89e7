//! The Capacity scheduler (Hadoop 1.2.1 `CapacityTaskScheduler`): each queue has a share of the cluster, may use what
//! the others leave up to a maximum, and divides it among its users.
//!
//! [`CapacityConfig`] is the checked configuration, [`JobLists`] the life of jobs in a queue, [`SlotShare`] and
//! [`UserLimit`] the limits on slots, [`QueueReport`] and [`JobReport`] the texts. All numbers are exact: percentages are
//! decimals, ratios compare by cross-multiplication.

mod capacity_config;
mod config_error;
mod container_limits;
mod java_float;
mod job_limits;
mod job_lists;
mod job_rank;
mod job_stage;
mod live_app;
mod live_queue;
mod locality_wait;
mod policy;
mod queue_detail;
mod queue_slots;
mod refused_job;
mod reload;
mod report;
mod slot_memory;
mod slot_share;
mod slot_usage;
mod user_jobs;
mod user_limit;
mod written_config;

#[cfg(test)]
mod tests;

pub use capacity_config::CapacityConfig;
pub(crate) use capacity_config::CapacityQueue;
pub(crate) use config_error::CapacityConfigError;
pub(crate) use job_limits::JobLimits;
pub(crate) use job_lists::{JobLists, ListedJob};
pub(crate) use job_rank::JobRank;
pub(crate) use job_stage::{JobStage, StageCounts};
pub(crate) use locality_wait::{LocalityWait, WaitFactor};
pub(super) use policy::Capacity;
pub(crate) use queue_detail::{QueueDetail, QueueSlotsDetail, QueuedJobDetail};
pub(crate) use refused_job::RefusedJob;
pub(crate) use report::{JobReport, KindReport, QueueReport};
pub(crate) use slot_memory::SlotMemory;
pub(crate) use slot_share::SlotShare;
pub(crate) use slot_usage::SlotUsage;
pub(crate) use user_limit::{SlotVerdict, UserLimit};
pub use written_config::{WrittenConfig, WrittenQueue};
