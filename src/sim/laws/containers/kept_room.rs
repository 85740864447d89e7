//! Room of nodes that is kept for some before a step: earmarked by a round of preemption, or reserved.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::model::{Now, TrackerId};

use super::ContainerBooks;

/// Room that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptRoom {
    /// Memory, MB, and cores.
    earmarked: BTreeMap<TrackerId, (u64, u64)>,
    pub(super) reserved: BTreeSet<TrackerId>,
}

// === impl ContainerBooks: room that is kept ===

impl ContainerBooks {
    /// Notes what is kept before a step.
    pub(in crate::sim::laws) fn note_kept_room(&mut self, engine: &Engine, now: Now) {
        self.kept = KeptRoom::default();
        let inspection = engine.inspect();
        let scheduler = inspection.scheduler();
        for (node, _) in inspection.trackers_at_work(now) {
            if scheduler.reservation_on(node).is_some() {
                self.kept.reserved.insert(node);
            }
            for earmark in scheduler.earmarks_on(node) {
                let (memory_mb, vcores) = self.kept.earmarked.entry(node).or_default();
                *memory_mb += u64::from(earmark.room.memory_mb);
                *vcores += u64::from(earmark.room.vcores);
            }
        }
    }

    /// Memory, MB, and cores that were earmarked on a node before the step.
    pub(in crate::sim::laws) fn earmarked_on(&self, node: TrackerId) -> (u64, u64) {
        self.kept.earmarked.get(&node).copied().unwrap_or_default()
    }
}
