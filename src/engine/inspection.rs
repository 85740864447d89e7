//! A look inside, for those who judge the engine by its laws. No client gets it, and nothing decides by it.

use std::collections::{BTreeMap, BTreeSet};

use crate::mapreduce::{HousekeepingQueue, Jobs, NodeRegistry};
use crate::model::{JobId, Now, PerKind};
use crate::scheduler::{NodeId, Scheduler};

use super::engine::Engine;

/// The engine's insides, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Inspection<'a> {
    engine: &'a Engine,
}

// === impl Engine ===

impl Engine {
    /// Opens the engine to a judge.
    pub fn inspect(&self) -> Inspection<'_> {
        Inspection { engine: self }
    }
}

// === impl Inspection ===

impl<'a> Inspection<'a> {
    /// All jobs that are known.
    pub fn jobs(self) -> &'a Jobs {
        &self.engine.jobs
    }

    /// Demand, usage and what the market has allocated.
    pub fn scheduler(self) -> &'a Scheduler {
        &self.engine.scheduler
    }

    /// The registered nodes, as jobs see them.
    pub fn nodes(self) -> &'a NodeRegistry {
        &self.engine.nodes
    }

    /// Jobs that wait for something the scheduler does not give out.
    pub fn housekeeping(self) -> &'a HousekeepingQueue {
        &self.engine.housekeeping
    }

    /// Unfinished jobs of each queue that has any.
    pub fn live_jobs(self) -> &'a BTreeMap<String, BTreeSet<JobId>> {
        &self.engine.live_jobs
    }

    /// The node of a registered tracker.
    pub fn node_of(self, tracker: &str) -> Option<NodeId> {
        self.engine.trackers.get(tracker).map(|tracker| tracker.node)
    }

    /// Nodes on which slots that come free can be used, with the slots of their trackers.
    pub fn nodes_at_work(self, now: Now) -> impl Iterator<Item = (NodeId, PerKind<u32>)> + 'a {
        let at_work = self.engine.trackers.values().filter(move |tracker| self.engine.takes_work(tracker, now));
        at_work.map(|tracker| (tracker.node, tracker.slots))
    }

    /// Jobs whose end has not been told everywhere.
    pub fn kill_debts(self) -> usize {
        self.engine.kill_debts.len()
    }
}
