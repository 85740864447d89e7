//! What decides a run: a seed, a number of events, and what is left out.

use super::cuts::Cuts;
use super::policy_choice::PolicyChoice;

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
