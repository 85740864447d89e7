//! What containers have cost.

use crate::model::Credits;

/// What the containers of an application have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerCost {
    /// The last tick that charged for them; 0: none.
    pub tick: u64,
    /// Charged slots, summed over intervals.
    pub slots: u64,
    /// The total.
    pub cost: Credits,
}
