//! What a job needs while it handles an event.

use std::collections::BTreeSet;

use crate::model::{CounterLimits, JobId, Now, PerKind, Violations};
use crate::scheduler::Scheduler;

use super::{CounterInterner, JobFact, NodeRegistry};

/// The parts of the engine that a job uses.
pub struct JobContext<'a> {
    /// Takes requests for slots and released slots.
    pub scheduler: &'a mut Scheduler,
    pub interner: &'a mut CounterInterner,
    pub nodes: &'a NodeRegistry,
    /// Jobs with attempts that the scheduler does not assign.
    pub housekeeping: &'a mut HousekeepingQueue,
    pub facts: &'a mut Vec<JobFact>,
    /// How many counters the job may have.
    pub counter_limits: CounterLimits,
    pub violations: &'a mut Violations,
    pub now: Now,
}

/// Jobs with a setup, cleanup or task-cleanup attempt to launch, with a straggler check, or with flaky hosts; those attempts are launched
/// before any that the scheduler grants, in order of job id (1.2.1 `JobTracker.getSetupAndCleanupTasks`).
#[derive(Debug, Default)]
pub struct HousekeepingQueue {
    /// Jobs whose cleanup can be launched.
    pub cleanup: BTreeSet<JobId>,
    /// Jobs with attempts that wait for their task-cleanup.
    pub task_cleanup: PerKind<BTreeSet<JobId>>,
    /// Jobs whose setup can be launched.
    pub setup: BTreeSet<JobId>,
    /// Straggler checks due, by ms of the monotonic clock.
    pub straggler_checks: BTreeSet<(u64, JobId)>,
    /// Jobs that are not over and have hosts on which too many of their attempts failed: which of these they avoid depends on
    /// what other trackers there are.
    pub flaky: BTreeSet<JobId>,
}
