//! What a job's tasks cost, and what its first maps show of the others.

use crate::model::Kind;
use crate::scheduler::constraint::KnownCosts;

use super::job::{Job, TaskKey};

/// Fewest maps that show what a map of the job costs, but for a part of all of them.
const FIRST_MAPS: u32 = 3;
/// A job's first maps are one in so many.
const PART_OF_FIRST_MAPS: u32 = 10;

impl Job {
    /// Adds a task that has succeeded.
    pub(super) fn add_task_cost(&mut self, key: TaskKey, position: usize) {
        let TaskKey::Work(kind, number) = key else { return };
        let Some(attempt) = self.task(key).attempts.get(position) else { return };
        let mut costs = self.task_costs;
        match kind {
            Kind::Map => {
                let Some(split) = self.splits.splits().get(number as usize) else { return };
                let input = u64::try_from(split.length_bytes).unwrap_or(0);
                costs.add_map(attempt, input, self.splits.volume().largest_bytes);
            }
            Kind::Reduce => costs.add_reduce(attempt, self.spec.reduces),
        }
        self.task_costs = costs;
    }

    /// When the newest of its running attempts of a kind was launched, ms of the monotonic clock.
    pub(crate) fn newest_launch_mono_ms(&self, kind: Kind) -> Option<u64> {
        self.slot_holders[kind].last().map(|(launch_mono_ms, ..)| *launch_mono_ms)
    }

    pub(crate) fn known_costs(&self) -> KnownCosts {
        self.task_costs.known()
    }

    /// The time of its slowest map that is done, microseconds; none: none is.
    pub(crate) fn slowest_map_us(&self) -> Option<u64> {
        self.task_costs.slowest_map_us()
    }

    /// What its first maps cost, once enough of them are done: a tenth, but no fewer than three.
    pub(crate) fn first_maps_us_per_mb(&self) -> Option<u64> {
        let enough = self.spec.maps.div_ceil(PART_OF_FIRST_MAPS).max(FIRST_MAPS);
        self.task_costs.map_us_per_mb().filter(|_| self.finished.map >= enough)
    }
}
