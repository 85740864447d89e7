//! The values of capacity-scheduler.xml as written, unchecked; absent ones have their defaults.

use crate::model::Decimal;

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
