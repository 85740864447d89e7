//! The checked configuration of all queues.

use std::collections::BTreeSet;

use crate::model::{Decimal, Kind, PerKind};

use super::java_float::JavaFloat;
use super::{JobLimits, SlotShare};

/// What the file says, with the widths of the original's types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenConfig {
    /// `maximum-system-jobs`: jobs initialised at once in the whole cluster.
    pub maximum_system_jobs: i32,
    /// `init-poll-interval`, ms. Checked only: jobs are initialised when a limit allows it, not by a poll.
    pub init_poll_interval_ms: i64,
    /// `init-worker-threads`. Checked only.
    pub init_worker_threads: i32,
    pub maximum_tasks_per_heartbeat: i32,
    pub maximum_tasks_after_off_switch: i32,
    /// In the order of `mapred.queue.names`.
    pub queues: Vec<WrittenQueue>,
}

/// What the file says about one queue; a value that it lacks is the system's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenQueue {
    pub name: String,
    /// `capacity`, percent; none: not set.
    pub capacity: Option<Decimal>,
    /// `maximum-capacity`, percent; zero and below: no maximum.
    pub maximum_capacity: Decimal,
    pub minimum_user_limit_percent: i32,
    pub user_limit_factor: Decimal,
    pub supports_priority: bool,
    /// `maximum-initialized-active-tasks`.
    pub maximum_active_tasks: i32,
    /// `maximum-initialized-active-tasks-per-user`.
    pub maximum_active_tasks_per_user: i32,
    pub init_accept_jobs_factor: i32,
}

impl Default for WrittenConfig {
    fn default() -> Self {
        Self {
            maximum_system_jobs: 5000,
            init_poll_interval_ms: 3000,
            init_worker_threads: 5,
            maximum_tasks_per_heartbeat: i32::from(i16::MAX),
            maximum_tasks_after_off_switch: 0,
            queues: Vec::new(),
        }
    }
}

impl WrittenQueue {
    pub fn with_defaults(name: &str, capacity: Option<Decimal>) -> Self {
        Self {
            name: name.to_owned(),
            capacity,
            maximum_capacity: Decimal::whole(-1),
            minimum_user_limit_percent: 100,
            user_limit_factor: Decimal::whole(1),
            supports_priority: false,
            maximum_active_tasks: 200_000,
            maximum_active_tasks_per_user: 100_000,
            init_accept_jobs_factor: 10,
        }
    }
}

/// The first value that cannot be used. Texts of 1.2.1 `CapacitySchedulerConf`, `CapacityTaskScheduler`, `CapacitySchedulerQueue`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityConfigError {
    #[error("System has no queue configured")]
    NoQueue,
    #[error("Queue '{queue}' is named twice")]
    NamedTwice { queue: String },
    #[error("Queue '{queue}' doesn't have configured capacity!")]
    NoCapacity { queue: String },
    #[error("Illegal capacity for queue {queue} of {}", JavaFloat(*value))]
    Capacity { queue: String, value: Decimal },
    #[error("Illegal maximum-capacity for queue {queue} of {}", JavaFloat(*value))]
    MaximumCapacity { queue: String, value: Decimal },
    /// `maximum-capacity` is below `capacity`. The original ends with a blank and does not name the queue.
    #[error("maximum-capacity {} for a queue should be greater than or equal to capacity ", JavaFloat(*value))]
    MaximumBelowCapacity { queue: String, value: Decimal },
    #[error("Invalid user limit : {value} for queue : {queue}")]
    UserLimit { queue: String, value: i32 },
    /// `user-limit-factor` would give no user a slot; the original accepts it.
    #[error("Invalid user limit factor : {} for queue : {queue}", JavaFloat(*value))]
    UserLimitFactor { queue: String, value: Decimal },
    /// `init-accept-jobs-factor` is not positive. The original speaks of another key.
    #[error("Invalid maximum jobs per user configuration {value}")]
    InitAcceptJobsFactor { queue: String, value: i32 },
    #[error("Illegal queue configuration for queue '{queue}'")]
    ContradictingLimits { queue: String },
    #[error("Sum of queue capacities not 100% at {}", JavaFloat(*sum))]
    SumOfCapacities { sum: Decimal },
    #[error("Invalid maximum system jobs: {value}")]
    MaximumSystemJobs { value: i32 },
    #[error("Invalid initializater poller interval {value_ms}")]
    InitPollInterval { value_ms: i64 },
    #[error("Invalid initializater worker thread number {value}")]
    InitWorkerThreads { value: i32 },
    #[error("Couldn't find queue '{queue}' during refresh!")]
    QueueRemoved { queue: String },
}

impl CapacityConfigError {
    pub(crate) fn queue(&self) -> Option<&str> {
        match self {
            Self::NamedTwice { queue }
            | Self::NoCapacity { queue }
            | Self::Capacity { queue, .. }
            | Self::MaximumCapacity { queue, .. }
            | Self::MaximumBelowCapacity { queue, .. }
            | Self::UserLimit { queue, .. }
            | Self::UserLimitFactor { queue, .. }
            | Self::InitAcceptJobsFactor { queue, .. }
            | Self::ContradictingLimits { queue }
            | Self::QueueRemoved { queue } => Some(queue),
            Self::NoQueue
            | Self::SumOfCapacities { .. }
            | Self::MaximumSystemJobs { .. }
            | Self::InitPollInterval { .. }
            | Self::InitWorkerThreads { .. } => None,
        }
    }
}

/// The size of one slot of each kind, MB. Exists only if all four memory keys of the cluster are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotMemory {
    slot_mb: PerKind<u64>,
}

impl SlotMemory {
    /// Slots of these sizes; a slot of zero counts as one MB.
    pub(crate) fn new(slot_mb: PerKind<u64>) -> Self {
        Self { slot_mb: PerKind::new(slot_mb.map.max(1), slot_mb.reduce.max(1)) }
    }

    /// Slots of a task that needs `task_mb`, at least one. Fixed when the job is added.
    pub(crate) fn slots_per_task(&self, kind: Kind, task_mb: u64) -> u32 {
        u32::try_from(task_mb.div_ceil(self.slot_mb[kind])).unwrap_or(u32::MAX).max(1)
    }

    #[cfg(test)]
    pub(crate) fn has_room(&self, kind: Kind, task_mb: u64, slots: u32, used: u32) -> bool {
        task_mb <= self.slot_mb[kind].saturating_mul(u64::from(slots.saturating_sub(used)))
    }
}

/// A configuration that passed every check; replaced as a whole by [`CapacityConfig::reload`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityConfig {
    pub(super) maximum_tasks_per_heartbeat: u32,
    pub(super) maximum_tasks_after_off_switch: u32,
    pub(super) slot_memory: Option<SlotMemory>,
    /// In the order of `mapred.queue.names`, which breaks the first ties.
    pub(super) queues: Vec<CapacityQueue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CapacityQueue {
    pub(super) name: String,
    pub(super) capacity: Decimal,
    pub(super) maximum_capacity: Option<Decimal>,
    pub(super) minimum_user_limit_percent: u32,
    pub(super) user_limit_factor: Decimal,
    pub(super) supports_priority: bool,
    pub(super) job_limits: JobLimits,
}

impl CapacityConfig {
    /// Checks what is written, in the original's order.
    ///
    /// # Errors
    /// The first [`CapacityConfigError`].
    pub fn new(written: &WrittenConfig) -> Result<Self, CapacityConfigError> {
        if written.queues.is_empty() {
            return Err(CapacityConfigError::NoQueue);
        }
        let mut names = BTreeSet::new();
        let mut queues = Vec::with_capacity(written.queues.len());
        for queue in &written.queues {
            if !names.insert(&queue.name) {
                return Err(CapacityConfigError::NamedTwice { queue: queue.name.clone() });
            }
            queues.push(CapacityQueue::new(queue, written.maximum_system_jobs)?);
        }
        let sum: Decimal = queues.iter().map(|queue| queue.capacity).sum();
        if sum.floor() != 100 {
            return Err(CapacityConfigError::SumOfCapacities { sum });
        }
        if written.init_poll_interval_ms <= 0 {
            return Err(CapacityConfigError::InitPollInterval { value_ms: written.init_poll_interval_ms });
        }
        if written.init_worker_threads <= 0 {
            return Err(CapacityConfigError::InitWorkerThreads { value: written.init_worker_threads });
        }
        let count = |value: i32| u32::try_from(value).unwrap_or_default();
        Ok(Self {
            maximum_tasks_per_heartbeat: count(written.maximum_tasks_per_heartbeat),
            maximum_tasks_after_off_switch: match written.maximum_tasks_after_off_switch {
                // The original counts down from it and stops at zero, which it never meets.
                ..0 => u32::MAX,
                most => count(most),
            },
            slot_memory: None,
            queues,
        })
    }

    /// The same with slots of these sizes; none: a task takes one slot, whatever its job asks for.
    #[must_use]
    pub(crate) fn with_slot_memory(self, slot_memory: Option<SlotMemory>) -> Self {
        Self { slot_memory, ..self }
    }

    pub(crate) fn slot_memory(&self) -> Option<SlotMemory> {
        self.slot_memory
    }

    /// Its queues, in the order of `mapred.queue.names`.
    pub(crate) fn queues(&self) -> &[CapacityQueue] {
        &self.queues
    }

    pub(crate) fn queue(&self, name: &str) -> Option<&CapacityQueue> {
        self.queues.iter().find(|queue| queue.name == name)
    }

    /// Most maps of one heartbeat; looked at after a map was granted, so zero grants one.
    pub(crate) fn maximum_tasks_per_heartbeat(&self) -> u32 {
        self.maximum_tasks_per_heartbeat
    }

    pub(crate) fn maximum_tasks_after_off_switch(&self) -> u32 {
        self.maximum_tasks_after_off_switch
    }
}

impl CapacityQueue {
    fn new(written: &WrittenQueue, maximum_system_jobs: i32) -> Result<Self, CapacityConfigError> {
        let queue = || written.name.clone();
        let hundred = Decimal::whole(100);
        let Some(capacity) = written.capacity else { return Err(CapacityConfigError::NoCapacity { queue: queue() }) };
        if capacity < Decimal::ZERO || capacity > hundred {
            return Err(CapacityConfigError::Capacity { queue: queue(), value: capacity });
        }
        let maximum_capacity = Some(written.maximum_capacity).filter(|maximum| *maximum > Decimal::ZERO);
        if let Some(value) = maximum_capacity.filter(|maximum| *maximum > hundred) {
            return Err(CapacityConfigError::MaximumCapacity { queue: queue(), value });
        }
        if let Some(value) = maximum_capacity.filter(|maximum| *maximum < capacity) {
            return Err(CapacityConfigError::MaximumBelowCapacity { queue: queue(), value });
        }
        let value = written.minimum_user_limit_percent;
        let Some(minimum_user_limit_percent) = u32::try_from(value).ok().filter(|percent| (1..=100).contains(percent))
        else {
            return Err(CapacityConfigError::UserLimit { queue: queue(), value });
        };
        if written.user_limit_factor <= Decimal::ZERO {
            return Err(CapacityConfigError::UserLimitFactor { queue: queue(), value: written.user_limit_factor });
        }
        let Some(maximum_system_jobs) = u32::try_from(maximum_system_jobs).ok().filter(|jobs| *jobs > 0) else {
            return Err(CapacityConfigError::MaximumSystemJobs { value: maximum_system_jobs });
        };
        let value = written.init_accept_jobs_factor;
        let Some(accept_factor) = u32::try_from(value).ok().filter(|factor| *factor > 0) else {
            return Err(CapacityConfigError::InitAcceptJobsFactor { queue: queue(), value });
        };
        // The limits on jobs cannot contradict each other: those for each user are at most a whole of the queue's.
        if written.maximum_active_tasks < written.maximum_active_tasks_per_user {
            return Err(CapacityConfigError::ContradictingLimits { queue: queue() });
        }
        Ok(Self {
            name: queue(),
            capacity,
            maximum_capacity,
            minimum_user_limit_percent,
            user_limit_factor: written.user_limit_factor,
            supports_priority: written.supports_priority,
            job_limits: JobLimits::new(
                maximum_system_jobs,
                capacity,
                minimum_user_limit_percent,
                accept_factor,
                i64::from(written.maximum_active_tasks),
                i64::from(written.maximum_active_tasks_per_user),
            ),
        })
    }

    /// A queue of a job that was accepted, which no configuration names any more: its jobs get what the others leave, slot by slot.
    pub(super) fn without_share(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            capacity: Decimal::ZERO,
            maximum_capacity: None,
            minimum_user_limit_percent: 100,
            user_limit_factor: Decimal::whole(1),
            supports_priority: false,
            job_limits: JobLimits::NONE,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its share of the cluster, percent.
    pub(crate) fn capacity(&self) -> Decimal {
        self.capacity
    }

    /// What it never exceeds, percent of the cluster; none: no limit.
    pub(crate) fn maximum_capacity(&self) -> Option<Decimal> {
        self.maximum_capacity
    }

    /// The part of the queue below which no user is limited, percent.
    pub(crate) fn minimum_user_limit_percent(&self) -> u32 {
        self.minimum_user_limit_percent
    }

    /// Multiples of the queue's capacity that one user may hold.
    pub(crate) fn user_limit_factor(&self) -> Decimal {
        self.user_limit_factor
    }

    /// Whether jobs are ordered by priority. Fixed when the queue is created; a reload does not change it.
    pub(crate) fn supports_priority(&self) -> bool {
        self.supports_priority
    }

    pub(crate) fn job_limits(&self) -> &JobLimits {
        &self.job_limits
    }

    pub(crate) fn slot_share(&self, cluster_slots: u64) -> SlotShare {
        SlotShare::new(self.capacity, self.maximum_capacity, cluster_slots)
    }
}

impl CapacityConfig {
    /// What is in force after a reload: all of `read`, but an existing queue keeps its support of priorities.
    ///
    /// The original keeps the old maximum in slots when `maximum-capacity` is removed; here it is lifted. Where it fails, `self` stays in force.
    pub(crate) fn reload(&self, read: CapacityConfig) -> Result<CapacityConfig, CapacityConfigError> {
        let removed = self.queues.iter().find(|queue| read.queue(&queue.name).is_none());
        if let Some(queue) = removed {
            return Err(CapacityConfigError::QueueRemoved { queue: queue.name.clone() });
        }
        let mut reloaded = read;
        for queue in &mut reloaded.queues {
            if let Some(running) = self.queue(&queue.name) {
                queue.supports_priority = running.supports_priority;
            }
        }
        Ok(reloaded)
    }
}
