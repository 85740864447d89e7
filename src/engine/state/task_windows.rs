//! How many tasks a tracker was given and how many succeeded there, for display (1.2.1 `JobTrackerStatistics`).

/// Counts since the tracker registered, of the last day and of the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Since it registered.
    pub(crate) since_start: u64,
    /// In the last 24 hours.
    pub(crate) last_day: u64,
    /// In the last 60 minutes.
    pub(crate) last_hour: u64,
}

/// Tasks that a tracker was given, and those that succeeded.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskWindows {
    given: Window,
    succeeded: Window,
}

#[derive(Clone, Debug)]
struct Window {
    all: u64,
    minutes: Buckets<60>,
    hours: Buckets<24>,
}

/// The last `N` buckets of time.
#[derive(Clone, Debug)]
struct Buckets<const N: usize> {
    counts: [u32; N],
    newest: u64,
}

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

impl TaskWindows {
    pub(crate) fn count_given(&mut self, tasks: usize, mono_ms: u64) {
        self.given.add(u32::try_from(tasks).unwrap_or(u32::MAX), mono_ms);
    }

    pub(crate) fn count_success(&mut self, mono_ms: u64) {
        self.succeeded.add(1, mono_ms);
    }

    /// Tasks that it was given, and of them those that succeeded.
    pub(crate) fn counts(&self, mono_ms: u64) -> [WindowCounts; 2] {
        [&self.given, &self.succeeded].map(|window| WindowCounts {
            since_start: window.all,
            last_day: window.hours.sum(mono_ms / HOUR_MS),
            last_hour: window.minutes.sum(mono_ms / MINUTE_MS),
        })
    }
}

impl Default for Window {
    fn default() -> Self {
        Self { all: 0, minutes: Buckets { counts: [0; 60], newest: 0 }, hours: Buckets { counts: [0; 24], newest: 0 } }
    }
}

impl Window {
    fn add(&mut self, tasks: u32, mono_ms: u64) {
        self.all = self.all.saturating_add(u64::from(tasks));
        self.minutes.add(tasks, mono_ms / MINUTE_MS);
        self.hours.add(tasks, mono_ms / HOUR_MS);
    }
}

impl<const N: usize> Buckets<N> {
    fn add(&mut self, tasks: u32, bucket: u64) {
        let passed = bucket.saturating_sub(self.newest);
        for empty in 1..=passed.min(N as u64) {
            self.counts[place::<N>(self.newest + empty)] = 0;
        }
        // After a long pause every place was emptied above, whichever bucket is the newest now.
        self.newest = self.newest.max(bucket);
        let count = &mut self.counts[place::<N>(self.newest)];
        *count = count.saturating_add(tasks);
    }

    /// The sum over the buckets that are younger than `N`.
    fn sum(&self, bucket: u64) -> u64 {
        let age = bucket.saturating_sub(self.newest);
        let kept = (N as u64).saturating_sub(age);
        (0..kept.min(self.newest + 1)).map(|back| u64::from(self.counts[place::<N>(self.newest - back)])).sum()
    }
}

const fn place<const N: usize>(bucket: u64) -> usize {
    (bucket % N as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_leave_their_windows() {
        let mut windows = TaskWindows::default();
        windows.count_given(3, 0);
        windows.count_success(30 * MINUTE_MS);
        let given = |windows: &TaskWindows, mono_ms| windows.counts(mono_ms)[0];
        let all = WindowCounts { since_start: 3, last_day: 3, last_hour: 3 };
        assert_eq!((given(&windows, 0), given(&windows, 59 * MINUTE_MS)), (all, all));
        assert_eq!(given(&windows, HOUR_MS), WindowCounts { last_hour: 0, ..all });
        assert_eq!(given(&windows, 24 * HOUR_MS), WindowCounts { last_hour: 0, last_day: 0, ..all });
        windows.count_given(4, 100 * HOUR_MS);
        let later = WindowCounts { since_start: 7, last_day: 4, last_hour: 4 };
        assert_eq!(given(&windows, 100 * HOUR_MS), later);
        assert_eq!(windows.counts(100 * HOUR_MS)[1], WindowCounts { since_start: 1, ..WindowCounts::default() });
        windows.count_given(1, 101 * HOUR_MS);
        assert_eq!(given(&windows, 101 * HOUR_MS), WindowCounts { since_start: 8, last_day: 5, last_hour: 1 });
    }
}
