//! Maps whose output reduces cannot fetch (1.2.1 `JobInProgress.fetchFailureNotification`).

use std::collections::BTreeMap;

/// Fewest notifications that fail a map (1.2.1 `MAX_FETCH_FAILURES_NOTIFICATIONS`).
const MIN_NOTIFICATIONS: u64 = 3;

/// Failed fetches of reduces from each map attempt of a job.
#[derive(Debug, Default)]
pub(super) struct FetchFailures {
    /// By map and number of its attempt.
    counts: BTreeMap<(u32, i32), u32>,
}

impl FetchFailures {
    /// Counts a failed fetch from a map attempt. True when the map must run again: at least three failures, and at
    /// least half as many as running reduces; the count then restarts at zero.
    pub(super) fn record(&mut self, map: u32, attempt: i32, running_reduces: u32) -> bool {
        let count = self.counts.entry((map, attempt)).or_default();
        *count = count.saturating_add(1);
        let complaints = u64::from(*count);
        let condemned = complaints >= MIN_NOTIFICATIONS && complaints * 2 >= u64::from(running_reduces);
        if condemned {
            self.counts.remove(&(map, attempt));
        }
        condemned
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_failed_fetches_are_enough_for_few_reduces() {
        for running in [0, 1, 6] {
            let mut failures = FetchFailures::default();
            let noted: Vec<bool> = (0..6).map(|_| failures.record(0, 0, running)).collect();
            assert_eq!(noted, [false, false, true, false, false, true], "{running} running");
        }
    }

    #[test]
    fn attempts_are_counted_apart() {
        let mut failures = FetchFailures::default();
        for (map, attempt) in [(0, 0), (0, 0), (0, 1), (1, 0), (0, 1), (1, 0)] {
            assert!(!failures.record(map, attempt, 1));
        }
        assert!(failures.record(0, 1, 1));
    }

    proptest! {
        #[test]
        fn the_rule_is_that_of_the_original(count in 1_u32..5_000, running in 0_u32..10_000) {
            let mut failures = FetchFailures::default();
            failures.counts.insert((0, 0), count - 1);
            // Division by no reduces is infinite there, not an error.
            let rate = f64::from(count as f32 / running as f32);
            prop_assert_eq!(failures.record(0, 0, running), count >= 3 && rate >= 0.5);
        }
    }
}
