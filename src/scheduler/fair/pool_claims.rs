//! Claims of pools in a round of preemption, for one kind of slot.

use crate::scheduler::GroupId;

use super::share::Share;
use super::starvation::WantedSlots;

/// All pools, each after the one that contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolClaims {
    /// Slots that starving pools want together.
    pub(crate) wanted: u32,
    pub(crate) pools: Vec<PoolClaim>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolClaim {
    pub(crate) group: GroupId,
    /// The group of the pool that contains it.
    pub(crate) parent: Option<GroupId>,
    /// Its name; of the part of a pool for its own jobs that of the pool.
    pub(crate) name: String,
    /// Its fair share at the last update.
    pub(crate) share: Share,
    pub(crate) wanted: WantedSlots,
}
