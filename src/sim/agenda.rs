//! What happens when, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Who does something next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// A tracker calls, or its next process starts.
    Tracker(usize),
    /// A user does something with jobs.
    Client(usize),
    /// A user asks the market.
    Bidder(usize),
    /// The next step of a submission.
    Submission(u64),
    /// An administrator asks the market.
    Administrator,
    /// An administrator turns safe mode or changes the lists of hosts.
    Intervention,
    /// The wall clock jumps.
    ClockStep,
    /// The store stands still for a while.
    StoreStall,
    /// A timer rings for nothing.
    EarlyTimer,
    /// Something is to befall the JobTracker.
    Crash,
    /// The next step of its crash.
    Fall,
    /// It starts again.
    Start,
    /// A user whose submission was cut off tries again.
    Resubmission,
}

/// What is to come, soonest first; of equals what was entered first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Wake)>>,
    entered: u64,
}

// === impl Agenda ===

impl Agenda {
    pub(super) fn enter(&mut self, at_mono_ms: u64, wake: Wake) {
        self.entered += 1;
        self.heap.push(Reverse((at_mono_ms, self.entered, wake)));
    }

    /// When the next one is due.
    pub(super) fn next_mono_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_mono_ms, ..))| *at_mono_ms)
    }

    pub(super) fn take(&mut self) -> Option<(u64, Wake)> {
        self.heap.pop().map(|Reverse((at_mono_ms, _, wake))| (at_mono_ms, wake))
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_comes_first_and_of_equals_the_first_entered() {
        let mut agenda = Agenda::default();
        agenda.enter(5, Wake::ClockStep);
        agenda.enter(3, Wake::Tracker(2));
        agenda.enter(3, Wake::Tracker(1));
        assert_eq!(agenda.next_mono_ms(), Some(3));
        let order: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(order, [(3, Wake::Tracker(2)), (3, Wake::Tracker(1)), (5, Wake::ClockStep)]);
    }
}
