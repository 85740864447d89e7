//! What pages show of a pool and of its jobs.

use crate::model::{PartsPerMillion, PerKind};
use crate::scheduler::Level;

use super::allocations::PoolSettings;
use super::share::FairShare;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolDetail {
    pub(crate) settings: PoolSettings,
    /// Demand of its jobs at the last update, up to its maximum.
    pub(crate) demand: PerKind<u32>,
    /// Its fair share at the last update.
    pub(crate) share: PerKind<FairShare>,
    /// How long it has less than it is due; none while pools do not preempt.
    pub(crate) starved: Option<PerKind<StarvedTimes>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StarvedTimes {
    /// Since it had its minimum, ms.
    pub(crate) since_min_ms: u64,
    pub(crate) since_half_share_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PooledJobDetail {
    /// Whether the limits on running jobs let it be set up and run.
    pub(crate) is_admitted: bool,
    pub(crate) demand: PerKind<u32>,
    pub(crate) weight: PerKind<PartsPerMillion>,
    /// Its fair share; none in a FIFO pool.
    pub(crate) share: Option<PerKind<FairShare>>,
    /// Slot-milliseconds that it got less than its share; negative: more. Only in the order by deficit.
    pub(crate) deficit_slot_ms: Option<PerKind<i64>>,
    /// Time that it has waited for slots near its data, ms.
    pub(crate) waited_ms: u64,
    pub(crate) last_level: Level,
}
