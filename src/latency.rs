//! How long a kind of work took, counted by class: the threads that do it add, a scrape reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the classes, µs; a last class has no bound.
pub(crate) const LATENCY_BOUNDS_US: [u64; 12] =
    [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_500_000, 30_000_000];

const CLASSES: usize = LATENCY_BOUNDS_US.len() + 1;

/// Counts since the process began. To add neither locks nor allocates.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    sum_us: AtomicU64,
    classes: [AtomicU64; CLASSES],
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    sum_us: u64,
    classes: [u64; CLASSES],
}

fn class_of(us: u64) -> usize {
    LATENCY_BOUNDS_US.partition_point(|bound_us| *bound_us < us)
}

impl Latencies {
    /// Counts one.
    pub(crate) fn add(&self, taken: Duration) {
        let us = whole_us(taken);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
        if let Some(class) = self.classes.get(class_of(us)) {
            class.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts now. One that is added meanwhile may be in them in part.
    pub(crate) fn read(&self) -> LatencyCounts {
        let classes = std::array::from_fn(|class| self.classes[class].load(Ordering::Relaxed));
        LatencyCounts { sum_us: self.sum_us.load(Ordering::Relaxed), classes }
    }
}

impl LatencyCounts {
    /// Counts one.
    pub(crate) fn add(&mut self, taken: Duration) {
        let us = whole_us(taken);
        self.sum_us = self.sum_us.saturating_add(us);
        if let Some(class) = self.classes.get_mut(class_of(us)) {
            *class += 1;
        }
    }

    /// All together, µs.
    pub(crate) fn sum_us(&self) -> u64 {
        self.sum_us
    }

    pub fn count(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// How many there were in each class: one for each bound, then those above all of them.
    pub(crate) fn classes(&self) -> &[u64; CLASSES] {
        &self.classes
    }
}

fn whole_us(taken: Duration) -> u64 {
    u64::try_from(taken.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_in_the_first_class_that_it_does_not_exceed() {
        let (shared, mut own) = (Latencies::default(), LatencyCounts::default());
        for us in [0, 250, 251, 50_000, 50_001, 31_000_000] {
            shared.add(Duration::from_micros(us));
            own.add(Duration::from_micros(us));
        }
        assert_eq!(shared.read(), own);
        assert_eq!(own.classes(), &[2, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1]);
        assert_eq!((own.count(), own.sum_us()), (6, 31_100_502));
    }
}
