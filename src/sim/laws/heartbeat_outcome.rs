//! What a heartbeat left of a tracker's slots.

use crate::model::PerKind;

#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct HeartbeatOutcome<'a> {
    pub(in crate::sim) tracker: &'a str,
    pub(in crate::sim) slots: PerKind<u32>,
    /// Slots that stay free although the tracker would have taken work.
    pub(in crate::sim) free: PerKind<u32>,
}
