//! The slots of a queue in the cluster as it is now.

use std::num::NonZeroU32;

use crate::model::Decimal;

/// A queue's slots of one kind, computed again whenever the cluster's slots change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotShare {
    /// Its guaranteed slots.
    pub(crate) capacity: u32,
    /// Its maximum; none: no limit is configured. Zero limits nothing either, though it is printed: the share of the
    /// cluster comes to less than one slot.
    pub(crate) maximum: Option<u32>,
}

impl SlotShare {
    /// Percentages of a cluster with so many slots, the rest dropped.
    pub(crate) fn new(capacity: Decimal, maximum: Option<Decimal>, cluster_slots: u64) -> Self {
        let slots = |percent: Decimal| u32::try_from(percent.percent_of(cluster_slots)).unwrap_or(u32::MAX);
        Self { capacity: slots(capacity), maximum: maximum.map(slots) }
    }

    /// Whether a queue that occupies `occupied` slots may take `slots` more.
    pub(crate) fn has_room(&self, occupied: u32, slots: u32) -> bool {
        self.maximum.is_none_or(|maximum| maximum == 0 || occupied.saturating_add(slots) <= maximum)
    }

    /// The fraction by which queues are sorted, as part and whole; a queue without capacity counts as full.
    pub(crate) fn fill(&self, occupied: u32) -> (u32, NonZeroU32) {
        match NonZeroU32::new(self.capacity) {
            Some(capacity) => (occupied, capacity),
            None => (1, NonZeroU32::MIN),
        }
    }
}
