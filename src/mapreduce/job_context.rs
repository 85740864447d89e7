//! What a job needs while it handles an event.

use std::collections::BTreeSet;

use crate::model::{CounterLimits, JobId, Now, PerKind, Violations};
use crate::scheduler::Scheduler;

use super::{CounterInterner, JobFact, NodeRegistry};

/// The parts of the engine that a job uses.
pub(crate) struct JobContext<'a> {
    pub(crate) scheduler: &'a mut Scheduler,
    pub(crate) interner: &'a mut CounterInterner,
    pub(crate) nodes: &'a NodeRegistry,
    /// Jobs with attempts that the scheduler does not assign.
    pub(crate) housekeeping: &'a mut HousekeepingQueue,
    pub(crate) facts: &'a mut Vec<JobFact>,
    pub(crate) counter_limits: CounterLimits,
    pub(crate) violations: &'a mut Violations,
    pub(crate) now: Now,
}

/// Jobs with a setup, cleanup or task-cleanup attempt to launch, with a straggler check, or with flaky hosts; those attempts are launched
/// before any that the scheduler grants, in order of job id (1.2.1 `JobTracker.getSetupAndCleanupTasks`).
#[derive(Debug, Default)]
pub(crate) struct HousekeepingQueue {
    pub(crate) cleanup: BTreeSet<JobId>,
    /// Jobs with attempts that wait for their task-cleanup.
    pub(crate) task_cleanup: PerKind<BTreeSet<JobId>>,
    pub(crate) setup: BTreeSet<JobId>,
    /// Straggler checks due, by ms of the monotonic clock.
    pub(crate) straggler_checks: BTreeSet<(u64, JobId)>,
    /// Jobs that are not over and have hosts on which too many of their attempts failed: which of these they avoid depends on
    /// what other trackers there are.
    pub(crate) flaky: BTreeSet<JobId>,
}
