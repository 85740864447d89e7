//! When a task of a job skips records, and which.

use crate::model::{AttemptState, Kind};
use crate::wire::{RecordRange, TaskStatus};

use super::failed_ranges::SkipInstructions;
use super::job::{Job, TaskKey};

impl Job {
    /// The most records, or groups of a reduce, that may be skipped at once; none where nothing is skipped.
    pub(super) fn longest_skip(&self, key: TaskKey) -> Option<u64> {
        let TaskKey::Work(kind, _) = key else { return None };
        let longest = match kind {
            Kind::Map => self.spec.max_skipped.map,
            Kind::Reduce => self.spec.max_skipped.reduce,
        };
        (longest > 0).then_some(longest)
    }

    /// Whether new attempts of the task run in skipping mode: it has failed often enough.
    pub(super) fn is_skipping(&self, key: TaskKey) -> bool {
        self.longest_skip(key).is_some() && self.task(key).failures >= self.spec.skip_start_attempts
    }

    /// Records the reported range of an attempt.
    pub(super) fn record_skip_range(&mut self, key: TaskKey, report: &TaskStatus) {
        if self.longest_skip(key).is_none() {
            return;
        }
        let range = match report.state {
            // A later loss of its output is no fault of a record.
            AttemptState::Succeeded => RecordRange::default(),
            _ => report.next_record_range,
        };
        let ranges = &mut self.task_mut(key).failed_ranges;
        if ranges.is_some() || range.length > 0 {
            ranges.get_or_insert_default().record_range(report.attempt.number, range);
        }
    }

    /// The records that the next attempt of a task skips.
    pub(super) fn skip_instructions(&self, key: TaskKey) -> SkipInstructions {
        let skipping = self.is_skipping(key);
        match &self.task(key).failed_ranges {
            Some(ranges) => ranges.instructions(skipping),
            None => SkipInstructions { skipping, ..SkipInstructions::default() },
        }
    }
}
