//! An interval between two ticks: the slots that a queue has bought for it, and the charge at its end.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, PerPool};

use super::allocation::{RoundingRemainder, cost};
use super::share::Share;

/// The open interval of an active queue, as its tick opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The queue's share of the cluster and, in it, the rate that the interval will be charged at; 0 if not funded.
    pub share: Share,
    /// Slots that the queue pays for if it uses them. Containers may use all that maps and reduces leave of theirs too:
    /// see [`PerPool::left_for_containers`].
    pub quota: PerPool<u32>,
    /// What rounding left for the next tick.
    pub remainder: PerPool<RoundingRemainder>,
    /// Slots used within the quota when the previous interval closed.
    pub used: u64,
    /// Tasks and containers that waited then.
    pub pending: u64,
    /// The job whose order set the rate; none: its owner's bid did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_order: Option<JobId>,
}

/// The charge of one queue for one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Credits for one slot: the rate when the interval was opened.
    pub rate: Credits,
    /// Slots in use at its end, within the quota; of containers those that were chargeable.
    pub used: PerPool<u32>,
}

// === impl Charge ===

impl Charge {
    /// Rate times slots.
    pub fn amount(&self) -> Credits {
        cost(self.rate, self.used)
    }
}
