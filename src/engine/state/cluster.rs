//! The cluster as jobs use it: slots, nodes, and work outside of the scheduler's grants.

use crate::mapreduce::{CounterInterner, HousekeepingQueue, JobContext, NodeRegistry};
use crate::model::{CounterLimits, Now};
use crate::scheduler::Scheduler;

use super::outbox::Outbox;

/// What jobs share, apart from the jobs themselves: so a job and its context can be borrowed at once.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) scheduler: Scheduler,
    pub(crate) nodes: NodeRegistry,
    pub(crate) housekeeping: HousekeepingQueue,
    pub(crate) interner: CounterInterner,
    pub(crate) counter_limits: CounterLimits,
}

impl Cluster {
    /// What a job needs while it handles an event. Its facts, and what it finds broken, go to `outbox`.
    pub(crate) fn job_context<'a>(&'a mut self, outbox: &'a mut Outbox, now: Now) -> JobContext<'a> {
        JobContext {
            scheduler: &mut self.scheduler,
            interner: &mut self.interner,
            nodes: &self.nodes,
            housekeeping: &mut self.housekeeping,
            facts: &mut outbox.job_facts,
            counter_limits: self.counter_limits,
            violations: &mut outbox.violations,
            now,
        }
    }
}
