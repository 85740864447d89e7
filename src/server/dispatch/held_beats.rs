//! Beats of workers whose answers are held back until there is something to say; at most one of each worker.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Notify;

use crate::model::FactNumber;

/// All held beats, by the tracker's name. `P` is the call that waits.
#[derive(Debug)]
pub(super) struct HeldBeats<P> {
    held: RefCell<Held<P>>,
    begun: Notify,
}

#[derive(Debug)]
pub(super) struct HeldBeat<P> {
    pub(super) pending: P,
    pub(super) incarnation: u64,
    /// The facts of the beat itself: once it is answered, its worker does not repeat what it said.
    pub(super) wait_for: FactNumber,
    /// When its time is over, ms of the monotonic clock.
    pub(super) until_ms: u64,
}

#[derive(Debug)]
struct Held<P> {
    by_tracker: BTreeMap<Arc<str>, HeldBeat<P>>,
    by_end: BTreeSet<(u64, Arc<str>)>,
}

impl<P> Default for HeldBeats<P> {
    fn default() -> Self {
        Self { held: RefCell::new(Held { by_tracker: BTreeMap::new(), by_end: BTreeSet::new() }), begun: Notify::new() }
    }
}

impl<P> HeldBeats<P> {
    /// Holds a beat of a tracker, of which none is held.
    pub(super) fn hold(&self, tracker: Arc<str>, beat: HeldBeat<P>) {
        let mut held = self.held.borrow_mut();
        held.by_end.insert((beat.until_ms, tracker.clone()));
        held.by_tracker.insert(tracker, beat);
        self.begun.notify_one();
    }

    pub(super) fn take(&self, tracker: &str) -> Option<HeldBeat<P>> {
        let mut held = self.held.borrow_mut();
        let (tracker, beat) = held.by_tracker.remove_entry(tracker)?;
        held.by_end.remove(&(beat.until_ms, tracker));
        Some(beat)
    }

    /// The tracker whose beat ends first, if that is at `now_ms` or before.
    pub(super) fn ended(&self, now_ms: u64) -> Option<Arc<str>> {
        let held = self.held.borrow();
        held.by_end.first().filter(|(until_ms, _)| *until_ms <= now_ms).map(|(_, tracker)| tracker.clone())
    }

    /// When the first beat ends, ms of the monotonic clock; none while none is held.
    pub(super) fn next_end_ms(&self) -> Option<u64> {
        self.held.borrow().by_end.first().map(|(until_ms, _)| *until_ms)
    }

    /// Completes when [`Self::next_end_ms`] may have become earlier.
    pub(super) async fn changed(&self) {
        self.begun.notified().await;
    }

    pub(super) fn trackers(&self) -> Vec<Arc<str>> {
        self.held.borrow().by_tracker.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(pending: u32, until_ms: u64) -> HeldBeat<u32> {
        HeldBeat { pending, incarnation: 1, wait_for: FactNumber(0), until_ms }
    }

    #[test]
    fn beats_end_in_the_order_of_their_times() {
        let held = HeldBeats::default();
        held.hold("a".into(), beat(1, 20));
        held.hold("b".into(), beat(2, 10));
        assert_eq!((held.next_end_ms(), held.ended(9)), (Some(10), None));
        assert_eq!(held.ended(25).as_deref(), Some("b"));
        assert_eq!(held.take("b").map(|beat| beat.pending), Some(2));
        assert_eq!(held.ended(25).as_deref(), Some("a"));
        assert_eq!(held.trackers().len(), 1);
        assert!(held.take("b").is_none());
    }

    #[test]
    fn a_beat_that_was_taken_leaves_no_end() {
        let held = HeldBeats::default();
        held.hold("a".into(), beat(1, 10));
        held.take("a").unwrap();
        held.hold("a".into(), beat(2, 30));
        assert_eq!((held.next_end_ms(), held.ended(29)), (Some(30), None));
    }
}
