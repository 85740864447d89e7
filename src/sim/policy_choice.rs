//! The scheduler that a run is about.

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
