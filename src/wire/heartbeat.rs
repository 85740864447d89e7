//! The heartbeat and its answer (1.2.1 `InterTrackerProtocol.heartbeat`).

use super::{AttemptId, JobId, Task, TaskTrackerStatus};

/// The parameters of a heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct HeartbeatRequest {
    /// The tracker and its attempts.
    pub status: TaskTrackerStatus,
    /// First heartbeat of a tracker process.
    pub restarted: bool,
    /// First heartbeat after a start or a reinit.
    pub initial_contact: bool,
    /// False = give it no launches.
    pub accept_new_tasks: bool,
    /// The id of the last answer it received; -1 in a new process.
    pub response_id: i16,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct HeartbeatResponse {
    /// The request's id + 1, wrapping; a reinit repeats the request's own.
    pub response_id: i16,
    /// Pause until the next heartbeat, ms.
    pub interval_ms: i32,
    /// What to do, in this order.
    pub actions: Vec<Action>,
    /// Jobs whose completion events must be read anew.
    pub recovered_jobs: Vec<JobId>,
}

/// One order to a tracker (1.2.1 `TaskTrackerAction`).
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start a task.
    LaunchTask(Box<Task>),
    /// Kill an attempt, or forget it and free its files. Never for a successful map: its output would go.
    KillTask(AttemptId),
    /// Remove everything of a job.
    KillJob(JobId),
    /// Kill everything, forget everything, register anew.
    ReinitTracker,
    /// Leave to commit; repeated until the state changes.
    CommitTask(AttemptId),
}
