//! Launched attempts that no tracker has reported as started (1.2.1 `JobTracker.ExpireLaunchingTasks`).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::AttemptId;

/// Launched attempts that have not started, oldest first.
///
/// An attempt that ends without a report stays until it would expire, and is dropped then.
#[derive(Debug, Default)]
pub(crate) struct Launching {
    by_time: BTreeSet<(u64, AttemptId)>,
    // Never iterated.
    since_mono_ms: FxHashMap<AttemptId, u64>,
}

impl Launching {
    /// Adds an attempt, or its task-cleanup, launched at that time of the monotonic clock.
    pub(crate) fn insert(&mut self, attempt: AttemptId, at_mono_ms: u64) {
        self.remove(attempt);
        self.since_mono_ms.insert(attempt, at_mono_ms);
        self.by_time.insert((at_mono_ms, attempt));
    }

    /// Removes an attempt that its tracker reported as started or ended.
    pub(crate) fn remove(&mut self, attempt: AttemptId) {
        if let Some(since) = self.since_mono_ms.remove(&attempt) {
            self.by_time.remove(&(since, attempt));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = AttemptId> {
        self.by_time.iter().map(|(_, attempt)| *attempt)
    }

    /// Removes and returns the oldest, if it was launched before that time.
    pub(crate) fn pop_before(&mut self, mono_ms: u64) -> Option<AttemptId> {
        let (_, attempt) = *self.by_time.first().filter(|(since, _)| *since < mono_ms)?;
        self.remove(attempt);
        Some(attempt)
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
