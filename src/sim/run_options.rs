//! What a run depends on: a seed, a number of events, what is left out, its scheduler, and the durable state of its daemon.

use crate::engine::{Fact, Restored};
use crate::model::FactNumber;

use super::cuts::Cuts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// The one source of chance.
    pub seed: u64,
    /// Events after which no actor acts any more and the jobs run to their end.
    pub events: u64,
    pub policy: PolicyChoice,
    /// Whether nodes have memory and cores for containers, and applications ask for them.
    pub has_containers: bool,
    /// Whether tenants play against the market beside the honest bidders.
    pub has_adversaries: bool,
    pub cuts: Cuts,
}

/// The arguments of `jobtracker simulate` that play this run again.
impl std::fmt::Display for RunOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, events, policy, has_containers, has_adversaries, cuts } = self;
        let policy = match policy {
            PolicyChoice::Fifo => " --policy fifo",
            PolicyChoice::Capacity => " --policy capacity",
            PolicyChoice::Fair => " --policy fair",
            PolicyChoice::Constraint => " --policy constraint",
            PolicyChoice::Mixed => " --policy mixed",
            PolicyChoice::Dynamic => "",
        };
        let containers = if *has_containers { " --containers" } else { "" };
        let adversaries = if *has_adversaries { " --adversaries" } else { "" };
        write!(formatter, "--seed {seed} --events {events}{policy}{containers}{adversaries}{cuts}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
    Fifo,
    Capacity,
    /// Pools with fair shares; every other seed has preemption.
    Fair,
    /// Deadlines: most jobs have one.
    Constraint,
    /// Queues with capacities, fair pools, deadlines, the market, and first in, first out, by turns, beside a market that keeps its
    /// accounts.
    Mixed,
    /// The market; every other seed has preemption.
    #[default]
    Dynamic,
}

impl PolicyChoice {
    pub(crate) fn has_deadlines(self) -> bool {
        matches!(self, Self::Constraint | Self::Mixed)
    }
}

/// Records the facts that are durable when the daemon crashes. The simulator does not know how: the store implements this by its own rows.
pub trait Journal {
    /// Records durable facts, which follow all those before.
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String>;

    /// Loads the state for the next daemon.
    fn reopen(&mut self) -> Result<Restored, String>;
}
