//! Limits on jobs and tasks of a queue, derived from its share of the system's jobs.

use crate::model::Decimal;

use super::StageCounts;

/// How many jobs a queue accepts and initialises (1.2.1 `CapacitySchedulerQueue.initializeQueue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobLimits {
    /// Jobs initialising or running at once.
    pub(crate) initialized: u64,
    pub(crate) initialized_per_user: u64,
    /// Jobs waiting, initialising or running.
    pub(crate) accepted: u64,
    pub(crate) accepted_per_user: u64,
    /// Maps and reduces of initialising and running jobs. May be negative, and then refuses every job.
    pub(crate) active_tasks: i64,
    pub(crate) active_tasks_per_user: i64,
}

impl JobLimits {
    pub(crate) const NONE: JobLimits = JobLimits {
        initialized: u64::MAX,
        initialized_per_user: u64::MAX,
        accepted: u64::MAX,
        accepted_per_user: u64::MAX,
        active_tasks: i64::MAX,
        active_tasks_per_user: i64::MAX,
    };

    /// `capacity` percent of `maximum_system_jobs`, of which each user gets `user_limit_percent`, both rounded up; the
    /// jobs accepted are `accept_factor` times as many.
    pub(crate) fn new(
        maximum_system_jobs: u32,
        capacity: Decimal,
        user_limit_percent: u32,
        accept_factor: u32,
        active_tasks: i64,
        active_tasks_per_user: i64,
    ) -> Self {
        let jobs = u64::from(maximum_system_jobs);
        let initialized = capacity.percent_of_rounded_up(jobs);
        // Rounding up twice rounds up once.
        let initialized_per_user = capacity.percent_of_rounded_up(jobs * u64::from(user_limit_percent)).div_ceil(100);
        Self {
            initialized,
            initialized_per_user,
            accepted: initialized.saturating_mul(u64::from(accept_factor)),
            accepted_per_user: initialized_per_user.saturating_mul(u64::from(accept_factor)),
            active_tasks,
            active_tasks_per_user,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedJob {
    /// It could never be initialised.
    #[error(
        "Job '{job}' from user '{user}' rejected since it has {tasks} tasks which exceeds the limit of {limit} tasks \
         per-user which can be initialized for queue '{queue}'"
    )]
    TooManyTasks { job: String, user: String, tasks: u64, limit: i64, queue: String },
    #[error(
        "Job '{job}' from user '{user}' rejected since queue '{queue}' already has {counts} - Exceeds limit of {limit} \
         jobs to accept"
    )]
    QueueFull { job: String, user: String, queue: String, counts: StageCounts, limit: u64 },
    #[error(
        "Job '{job}' rejected since user '{user}' already has {counts} -  Exceeds limit of {limit} jobs to accept in \
         queue '{queue}' per user"
    )]
    UserFull { job: String, user: String, counts: StageCounts, limit: u64, queue: String },
}
