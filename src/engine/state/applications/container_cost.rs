//! What containers have cost.

use crate::model::Credits;

/// What the containers of an application have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerCost {
    /// The last tick that charged for them; 0: none.
    pub tick: u64,
    /// What they have held in intervals that were charged, slot-milliseconds.
    pub slot_ms: u64,
    /// Slots that were charged for before charges went by time, summed over intervals.
    pub sampled_slots: u64,
    pub cost: Credits,
}
