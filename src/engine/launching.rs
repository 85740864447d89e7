//! Launched attempts that no tracker has reported as started (1.2.1 `JobTracker.ExpireLaunchingTasks`).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{AttemptId, FactNumber, Now};
use crate::scheduler::NodeId;

use super::LogLevel;
use super::engine::Engine;

/// Launched attempts that have not started, oldest first.
///
/// An attempt that ends without a report stays until it would expire, and is dropped then.
#[derive(Debug, Default)]
pub(super) struct Launching {
    by_time: BTreeSet<(u64, AttemptId)>,
    // Never iterated.
    since_mono_ms: FxHashMap<AttemptId, u64>,
}

// === impl Launching ===

impl Launching {
    /// Adds an attempt, or its task-cleanup, launched at that time of the monotonic clock.
    pub(super) fn insert(&mut self, attempt: AttemptId, at_mono_ms: u64) {
        self.remove(attempt);
        self.since_mono_ms.insert(attempt, at_mono_ms);
        self.by_time.insert((at_mono_ms, attempt));
    }

    /// Removes an attempt that its tracker reported as started or ended.
    pub(super) fn remove(&mut self, attempt: AttemptId) {
        if let Some(since) = self.since_mono_ms.remove(&attempt) {
            self.by_time.remove(&(since, attempt));
        }
    }

    /// Removes and returns the oldest, if it was launched before that time.
    fn pop_before(&mut self, mono_ms: u64) -> Option<AttemptId> {
        let (_, attempt) = *self.by_time.first().filter(|(since, _)| *since < mono_ms)?;
        self.remove(attempt);
        Some(attempt)
    }
}

// === impl Engine: expired launches ===

impl Engine {
    /// Fails attempts that were launched longer ago than the expiry interval and that no report shows as started. The
    /// time restarts for those whose answer waits for a fact after `durable`.
    pub(super) fn expire_launches(&mut self, durable: FactNumber, now: Now) {
        let held = self.trackers.values().filter(|tracker| tracker.answer_waits_for > durable);
        let held: BTreeSet<NodeId> = held.map(|tracker| tracker.node).collect();
        if !held.is_empty() {
            let launching: Vec<_> = self.launching.by_time.iter().map(|(_, attempt)| *attempt).collect();
            for attempt in launching {
                if self.launched_on(attempt).is_some_and(|node| held.contains(&node)) {
                    self.launching.insert(attempt, now.mono_ms);
                }
            }
        }
        let before_mono_ms = now.mono_ms.saturating_sub(self.config.tracker_expiry_ms);
        while let Some(attempt) = self.launching.pop_before(before_mono_ms) {
            if self.launched_on(attempt).is_some() {
                self.log_line(
                    LogLevel::Warning,
                    format!("{attempt} was launched, but its tracker has never reported it"),
                );
                self.fail_attempt(attempt, "Error launching task", now);
                self.record_job_facts();
            }
        }
    }

    /// The node of the registered tracker that has not started an attempt, or its task-cleanup.
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
        launching.insert(c, 30);
        launching.insert(a, 10);
        launching.insert(b, 20);
        launching.insert(d, 5);
        launching.remove(d);
        launching.insert(a, 25);
        let out: Vec<_> = std::iter::from_fn(|| launching.pop_before(30)).collect();
        assert_eq!(out, [b, a]);
        launching.remove(c);
        assert_eq!(launching.pop_before(u64::MAX), None);
        assert!(launching.since_mono_ms.is_empty());
    }
}
