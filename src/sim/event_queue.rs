//! The events of a run, in order of virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SimEvent {
    /// A tracker sends a heartbeat, or its next process starts.
    Tracker(usize),
    /// A user submits or kills jobs, or changes a priority.
    Client(usize),
    /// A user sends a request to the market.
    Bidder(usize),
    Submission(u64),
    /// An administrator sends a request to the market.
    Administrator,
    /// An administrator turns safe mode or changes the lists of hosts.
    Intervention,
    ClockStep,
    StoreStall,
    EarlyTimer,
    Crash,
    /// The next step of that crash.
    CrashStep,
    Start,
    /// A user repeats a submission that a crash interrupted.
    Resubmission,
    Switch,
    Treasurer,
    /// A worker advances its containers or beats.
    Worker(usize),
    /// The daemon has something to say to a worker.
    WorkerNews(usize),
    Application(u64),
    /// The daemon has something to say to an application.
    ApplicationNews(u64),
    ApplicationSubmission,
    Player(usize),
}

/// Scheduled events, earliest first; events of one time in the order of scheduling.
#[derive(Debug)]
pub(super) struct EventQueue<E = SimEvent> {
    heap: BinaryHeap<Reverse<(u64, u64, E)>>,
    scheduled: u64,
}

impl<E: Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E: Ord> EventQueue<E> {
    pub(super) fn schedule(&mut self, at_mono_ms: u64, event: E) {
        self.scheduled += 1;
        self.heap.push(Reverse((at_mono_ms, self.scheduled, event)));
    }

    pub(super) fn next_mono_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_mono_ms, ..))| *at_mono_ms)
    }

    pub(super) fn take(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|Reverse((at_mono_ms, _, event))| (at_mono_ms, event))
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_equals_the_first_scheduled() {
        let mut event_queue = EventQueue::default();
        event_queue.schedule(5, SimEvent::ClockStep);
        event_queue.schedule(3, SimEvent::Tracker(2));
        event_queue.schedule(3, SimEvent::Tracker(1));
        assert_eq!(event_queue.next_mono_ms(), Some(3));
        let order: Vec<_> = std::iter::from_fn(|| event_queue.take()).collect();
        assert_eq!(order, [(3, SimEvent::Tracker(2)), (3, SimEvent::Tracker(1)), (5, SimEvent::ClockStep)]);
    }
}
