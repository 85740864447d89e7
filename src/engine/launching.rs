//! Attempts that were given away and that no tracker is at work on yet (1.2.1 `JobTracker.ExpireLaunchingTasks`).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{AttemptId, FactNumber, Now};
use crate::scheduler::NodeId;

use super::LogLevel;
use super::engine::Engine;

/// What is being launched, oldest first.
///
/// What ends in another way than by a report stays until it would be overdue, and is dropped then.
#[derive(Debug, Default)]
pub(super) struct Launching {
    by_time: BTreeSet<(u64, AttemptId)>,
    // Never iterated.
    since_mono_ms: FxHashMap<AttemptId, u64>,
}

// === impl Launching ===

impl Launching {
    /// An attempt, or its task-cleanup, is given away at that time, by the clock that never goes back.
    pub(super) fn begin(&mut self, attempt: AttemptId, at_mono_ms: u64) {
        self.started(attempt);
        self.since_mono_ms.insert(attempt, at_mono_ms);
        self.by_time.insert((at_mono_ms, attempt));
    }

    /// Its tracker has said that it is at work on it, or is done.
    pub(super) fn started(&mut self, attempt: AttemptId) {
        if let Some(since) = self.since_mono_ms.remove(&attempt) {
            self.by_time.remove(&(since, attempt));
        }
    }

    /// Takes out the oldest, if it was given away before that time.
    fn take_before(&mut self, mono_ms: u64) -> Option<AttemptId> {
        let (_, attempt) = *self.by_time.first().filter(|(since, _)| *since < mono_ms)?;
        self.started(attempt);
        Some(attempt)
    }
}

// === impl Engine: launches that come to nothing ===

impl Engine {
    /// Fails what has been launched for longer than the expiry interval without a word from its tracker but that it
    /// waits. The time of those whose answer waits for the store, as `durable` tells, begins anew.
    pub(super) fn expire_launches(&mut self, durable: FactNumber, now: Now) {
        let held = self.trackers.values().filter(|tracker| tracker.answer_waits_for > durable);
        let held: BTreeSet<NodeId> = held.map(|tracker| tracker.node).collect();
        if !held.is_empty() {
            let launching: Vec<_> = self.launching.by_time.iter().map(|(_, attempt)| *attempt).collect();
            for attempt in launching {
                if self.launched_on(attempt).is_some_and(|node| held.contains(&node)) {
                    self.launching.begin(attempt, now.mono_ms);
                }
            }
        }
        let before_mono_ms = now.mono_ms.saturating_sub(self.config.tracker_expiry_ms);
        while let Some(attempt) = self.launching.take_before(before_mono_ms) {
            if self.launched_on(attempt).is_some() {
                self.log_line(LogLevel::Warning, format!("{attempt} was launched and never heard of"));
                self.fail_attempt(attempt, "Error launching task", now);
                self.record_job_facts();
            }
        }
    }

    /// The registered tracker that is still to begin with an attempt, or with its task-cleanup.
    fn launched_on(&self, id: AttemptId) -> Option<NodeId> {
        let job = self.jobs.get(id.task.job).filter(|job| !job.is_over())?;
        let attempt = job.attempt(job.key_of(id.task)?, id.number)?;
        let node = match attempt.cleanup_node {
            None if attempt.is_active() => attempt.node,
            cleanup => cleanup?,
        };
        (!attempt.started && self.nodes.get(node).is_some()).then_some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_come_out_first_and_none_twice() {
        let attempt = |number| "attempt_1_0001_m_000000_0".parse::<AttemptId>().map(|id| AttemptId { number, ..id });
        let [a, b, c, d] = [0, 1, 2, 3].map(|number| attempt(number).unwrap());
        let mut launching = Launching::default();
        launching.begin(c, 30);
        launching.begin(a, 10);
        launching.begin(b, 20);
        launching.begin(d, 5);
        launching.started(d);
        launching.begin(a, 25);
        let out: Vec<_> = std::iter::from_fn(|| launching.take_before(30)).collect();
        assert_eq!(out, [b, a]);
        launching.started(c);
        assert_eq!(launching.take_before(u64::MAX), None);
        assert!(launching.since_mono_ms.is_empty());
    }
}
