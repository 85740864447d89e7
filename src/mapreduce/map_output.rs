//! The output of a job's maps: what it says about room on nodes and about the job's limit.

use crate::model::{Kind, TrackerId};

use super::job::{Job, JobOutcome, TaskKey};
use super::{JobContext, NodeRegistry};

// === impl Job: room for output ===

impl Job {
    /// Adds a finished map to the estimate. The job fails where a reduce would get more than the job's limit.
    pub(super) fn apply_map_output(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) {
        if !matches!(key, TaskKey::Work(Kind::Map, _)) {
            return;
        }
        self.record_output(key, position);
        let Some(limit) = self.spec.reduce_input_limit_bytes else { return };
        let estimate = self.output.input_per_reduce_bytes(self.spec.reduces);
        let done = self.finished.reduce + self.failed.reduce >= self.spec.reduces;
        if limit > 0 && estimate > limit && !done {
            // 1.2.1 has these blanks.
            let reason = format!("Job exceeded Reduce Input limit  Limit:  {limit} Estimated: {estimate}");
            self.decide_end(JobOutcome::Failed, reason, context);
        }
    }

    /// Adds input and output of a finished map.
    pub(super) fn record_output(&mut self, key: TaskKey, position: usize) {
        let TaskKey::Work(Kind::Map, number) = key else { return };
        let Some(split) = self.splits.splits().get(number as usize) else { return };
        let Some(attempt) = self.task(key).attempts.get(position) else { return };
        self.output.add(split.length_bytes, attempt.output_bytes);
    }

    /// Whether a node has room for the expected output of a map. A node that reports no free space does.
    pub(super) fn has_room_on(&self, node: TrackerId, nodes: &NodeRegistry) -> bool {
        let needed = self.output.room_per_map_bytes();
        needed == 0 || nodes.get(node).and_then(|info| info.free_disk_bytes).is_none_or(|free| free >= needed)
    }
}
