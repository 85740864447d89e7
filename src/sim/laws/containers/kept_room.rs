//! Room of nodes that is kept for some before a step: earmarked by a round of preemption, or reserved.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::model::{Pool, TrackerId};

#[derive(Clone, Debug, Default)]
pub(super) struct KeptRoom {
    /// Memory, MB, and cores.
    earmarked: BTreeMap<TrackerId, (u64, u64)>,
    pub(super) reserved: BTreeSet<TrackerId>,
}

impl KeptRoom {
    pub(super) fn of(engine: &Engine) -> Self {
        let mut kept = Self::default();
        let inspection = engine.inspect();
        let scheduler = inspection.scheduler();
        // Also of those that have been silent for long: their next heartbeat finds it kept.
        for node in inspection.trackers() {
            if scheduler.reservation_on(node).is_some() {
                kept.reserved.insert(node);
            }
            let earmarks = scheduler.earmarks_on(node);
            for earmark in earmarks {
                let (memory_mb, vcores) = kept.earmarked.entry(node).or_default();
                *memory_mb += u64::from(earmark.room.memory_mb);
                *vcores += u64::from(earmark.room.vcores);
            }
            // A container has no room beside tasks on these.
            if earmarks.iter().any(|earmark| earmark.pool == Pool::Container) {
                kept.earmarked.entry(node).or_default().1 += u64::from(scheduler.cores_of_slots_alone(node));
            }
        }
        kept
    }

    /// Memory, MB, and cores that are earmarked on a node.
    pub(super) fn earmarked_on(&self, node: TrackerId) -> (u64, u64) {
        self.earmarked.get(&node).copied().unwrap_or_default()
    }
}
