//! What a job may touch while something happens to it.

use std::collections::BTreeSet;

use crate::model::{CounterLimits, JobId, Now, PerKind};
use crate::scheduler::Scheduler;

use super::{CounterInterner, JobFact, NodeRegistry};

/// The surroundings of a job.
pub struct JobContext<'a> {
    /// Where demand is told and slots are freed.
    pub scheduler: &'a mut Scheduler,
    /// Names of counters.
    pub interner: &'a mut CounterInterner,
    /// The registered nodes.
    pub nodes: &'a NodeRegistry,
    /// Jobs that want a task the scheduler does not give out.
    pub housekeeping: &'a mut HousekeepingQueue,
    /// What has happened, in order.
    pub facts: &'a mut Vec<JobFact>,
    /// How many counters the job may have.
    pub counter_limits: CounterLimits,
    /// When.
    pub now: Now,
}

/// Jobs that want a setup, a cleanup or a task-cleanup attempt, or a look; those attempts are served before the scheduler, in order of job id (1.2.1
/// `JobTracker.getSetupAndCleanupTasks`).
#[derive(Debug, Default)]
pub struct HousekeepingQueue {
    /// Jobs whose cleanup can be launched.
    pub cleanup: BTreeSet<JobId>,
    /// Jobs with attempts that wait for their task-cleanup.
    pub task_cleanup: PerKind<BTreeSet<JobId>>,
    /// Jobs whose setup can be launched.
    pub setup: BTreeSet<JobId>,
    /// When jobs are to be looked at for tasks that lag, by the clock that never goes back, ms.
    pub straggler_checks: BTreeSet<(u64, JobId)>,
}
