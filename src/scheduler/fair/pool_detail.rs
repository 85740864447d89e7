//! What pages show of a pool and of its jobs.

use crate::model::{PartsPerMillion, PerKind};
use crate::scheduler::Level;

use super::allocations::PoolSettings;
use super::share::Share;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolDetail {
    pub settings: PoolSettings,
    /// Demand of its jobs at the last update, up to its maximum.
    pub demand: PerKind<u32>,
    /// Its fair share at the last update.
    pub share: PerKind<Share>,
    /// How long it has less than it is due; none while pools do not preempt.
    pub starved: Option<PerKind<StarvedTimes>>,
}

/// How long a pool has less than it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StarvedTimes {
    /// Since it had its minimum, ms.
    pub since_min_ms: u64,
    pub since_half_share_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PooledJobDetail {
    /// Whether the limits on running jobs let it be set up and run.
    pub is_admitted: bool,
    /// Its demand at the last update.
    pub demand: PerKind<u32>,
    pub weight: PerKind<PartsPerMillion>,
    /// Its fair share; none in a FIFO pool.
    pub share: Option<PerKind<Share>>,
    /// Slot-milliseconds that it got less than its share; negative: more. Only in the order by deficit.
    pub deficit_slot_ms: Option<PerKind<i64>>,
    /// Time that it has waited for slots near its data, ms.
    pub waited_ms: u64,
    /// The level of the last map launched.
    pub last_level: Level,
}
