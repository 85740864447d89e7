//! Slots of stock trackers whose attempts were killed a moment ago.
//!
//! A stock tracker reports a killed attempt, and counts its slot as free, while its JVM still ends. A launch in the answer may
//! find that JVM in its slot: the tracker is then in a state that it takes for impossible, and exits (1.2.1
//! `JvmManager.JvmManagerForType.reapJvm`: "Currently busy? … Aborting"). So the slot is left out of that one answer.

use std::collections::BTreeMap;

use crate::engine::core::Engine;
use crate::model::{AttemptId, AttemptState, PerKind, TrackerId};
use crate::wire::{Phase, TaskStatus};

use super::registration::holds_slot;

impl Engine {
    /// Counts the slots of attempts that a stock tracker had at its last report and that were killed since, whether it
    /// reports them so or, after a KILL_JOB, no more; of so many attempts at most. Nothing is left out where the original's
    /// grants are to be given.
    pub(super) fn count_killed_slots(&mut self, id: TrackerId, reports: &[TaskStatus], most: usize) {
        let is_builtin = self.cluster.nodes.get(id).is_some_and(|info| info.streaming_only);
        let is_compatible = self.config.policy.is_compatible();
        let Some(tracker) = self.trackers.get_mut(id).filter(|_| !is_builtin) else { return };
        let mut killed = std::mem::take(&mut tracker.at_work);
        let mut at_work: BTreeMap<AttemptId, u32> = BTreeMap::new();
        for report in reports {
            let is_work = holds_slot(report) && !cleans_up(report);
            if is_work && at_work.len() < most {
                at_work.insert(report.attempt, u32::try_from(report.num_slots).unwrap_or(0));
            }
            if is_work || !matches!(report.state, AttemptState::Killed | AttemptState::KilledUnclean) {
                killed.remove(&report.attempt);
            }
        }
        let mut slots: PerKind<u32> = PerKind::default();
        for (attempt, of_attempt) in killed {
            let slots = &mut slots[attempt.task.kind];
            *slots = slots.saturating_add(of_attempt);
        }
        // Another policy may rule at its next report.
        (tracker.at_work, tracker.killed_slots) = (at_work, if is_compatible { PerKind::default() } else { slots });
    }
}

/// Whether it is a task-cleanup, which ends in the state of the attempt that it cleans up after.
fn cleans_up(report: &TaskStatus) -> bool {
    matches!(report.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean) && report.phase == Phase::Cleanup
}
