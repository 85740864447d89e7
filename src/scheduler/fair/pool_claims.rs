//! Claims of pools in a round of preemption, for one kind of slot.

use crate::scheduler::GroupId;

use super::share::Share;
use super::starvation::WantedSlots;

/// All pools, each after the one that contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolClaims {
    /// Slots that starving pools want together.
    pub wanted: u32,
    pub pools: Vec<PoolClaim>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolClaim {
    pub group: GroupId,
    /// The group of the pool that contains it.
    pub parent: Option<GroupId>,
    /// Its name; of the part of a pool for its own jobs that of the pool.
    pub name: String,
    /// Its fair share at the last update.
    pub share: Share,
    pub wanted: WantedSlots,
}
