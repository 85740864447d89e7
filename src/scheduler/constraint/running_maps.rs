//! How far the running maps of a job are, by the time since they began.

use std::collections::VecDeque;

/// When the running maps of a job began, the first first. Which of them has ended is not known: the first is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunningMaps {
    starts_us: VecDeque<i64>,
}

impl RunningMaps {
    /// So many run now; those that were not noted began now.
    pub(super) fn set_count(&mut self, count: u32, now_us: i64) {
        let count = count as usize;
        while self.starts_us.len() > count {
            self.starts_us.pop_front();
        }
        self.starts_us.resize(count, now_us);
    }

    /// The time that they have run, each at most `longest_us`.
    pub(super) fn elapsed_us(&self, longest_us: u64, now_us: i64) -> u64 {
        let elapsed = |start_us: &i64| u64::try_from(now_us.saturating_sub(*start_us)).unwrap_or(0).min(longest_us);
        self.starts_us.iter().map(elapsed).fold(0, u64::saturating_add)
    }

    /// When the first began; none: none runs.
    pub(super) fn first_start_us(&self) -> Option<i64> {
        self.starts_us.front().copied()
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.starts_us.len()).unwrap_or(u32::MAX)
    }
}
