//! Why a configuration is refused, in the words of the original, which administrators see after `-refreshQueues`.

use crate::model::Decimal;

use super::java_float::JavaFloat;

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
