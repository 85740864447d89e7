//! Heartbeats held while their sender is checked; bounded in bytes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::ipc::PendingCall;

/// Maximum memory of all held heartbeats, bytes.
const MAX_BYTES: usize = 64 << 20;
/// Memory of each beside its own bytes.
const OVERHEAD_BYTES: usize = 4 << 10;

#[derive(Debug, Default)]
pub(super) struct HeldHeartbeats {
    held: RefCell<BTreeMap<u128, BTreeMap<u64, Rc<HeldHeartbeat>>>>,
    bytes: Cell<usize>,
    last: Cell<u64>,
}

/// Keeps one heartbeat held until dropped.
#[derive(Debug)]
pub(super) struct HeartbeatHold {
    held_heartbeats: Rc<HeldHeartbeats>,
    origin: u128,
    number: u64,
    held: Rc<HeldHeartbeat>,
}

#[derive(Debug)]
struct HeldHeartbeat {
    bytes: usize,
    is_dropped: Cell<bool>,
    woken: Notify,
}

impl HeldHeartbeats {
    /// Holds a heartbeat. Beyond the bound the hosts with the most bytes lose their oldest, possibly this
    /// one.
    pub(super) fn hold(self: &Rc<Self>, pending: &PendingCall) -> HeartbeatHold {
        self.add(pending.origin(), pending.bytes())
    }

    fn add(self: &Rc<Self>, origin: u128, bytes: usize) -> HeartbeatHold {
        let number = self.last.get() + 1;
        self.last.set(number);
        let bytes = bytes + OVERHEAD_BYTES;
        let held = Rc::new(HeldHeartbeat { bytes, is_dropped: Cell::new(false), woken: Notify::new() });
        self.held.borrow_mut().entry(origin).or_default().insert(number, held.clone());
        self.bytes.set(self.bytes.get() + bytes);
        while self.bytes.get() > MAX_BYTES && self.drop_oldest_of_largest_host() {}
        HeartbeatHold { held_heartbeats: self.clone(), origin, number, held }
    }

    /// Drops all: their senders retry.
    pub(super) fn drop_all(&self) {
        while self.drop_oldest_of_largest_host() {}
    }

    fn drop_oldest_of_largest_host(&self) -> bool {
        let total_bytes = |held: &BTreeMap<u64, Rc<HeldHeartbeat>>| held.values().map(|held| held.bytes).sum::<usize>();
        let largest = self.held.borrow().iter().max_by_key(|(_, held)| total_bytes(held)).map(|(origin, _)| *origin);
        let Some(origin) = largest else { return false };
        let oldest = self.held.borrow().get(&origin).and_then(|held| held.keys().next().copied());
        let Some(held) = oldest.and_then(|number| self.remove(origin, number)) else { return false };
        held.is_dropped.set(true);
        held.woken.notify_one();
        true
    }

    fn remove(&self, origin: u128, number: u64) -> Option<Rc<HeldHeartbeat>> {
        let mut all = self.held.borrow_mut();
        let of_origin = all.get_mut(&origin)?;
        let held = of_origin.remove(&number)?;
        if of_origin.is_empty() {
            all.remove(&origin);
        }
        self.bytes.set(self.bytes.get().saturating_sub(held.bytes));
        Some(held)
    }
}

impl HeartbeatHold {
    /// Whether it was dropped for its memory: close its connection, the sender retries.
    pub(super) fn is_dropped(&self) -> bool {
        self.held.is_dropped.get()
    }

    /// Completes when it is dropped for its memory.
    pub(super) async fn dropped(&self) {
        self.held.woken.notified().await;
    }
}

impl Drop for HeartbeatHold {
    fn drop(&mut self) {
        self.held_heartbeats.remove(self.origin, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_with_the_most_bytes_loses_its_oldest() {
        let held_heartbeats = Rc::new(HeldHeartbeats::default());
        let modest = held_heartbeats.add(1, 100);
        let greedy: Vec<HeartbeatHold> = (0..20).map(|_| held_heartbeats.add(2, 4 << 20)).collect();
        assert!(!modest.is_dropped());
        let kept: Vec<bool> = greedy.iter().map(|hold| !hold.is_dropped()).collect();
        assert_eq!(kept, [vec![false; 5], vec![true; 15]].concat());
        drop((modest, greedy));
        assert!(held_heartbeats.held.borrow().is_empty());
        assert_eq!(held_heartbeats.bytes.get(), 0);
    }

    #[test]
    fn one_larger_than_the_bound_is_dropped_itself() {
        let held_heartbeats = Rc::new(HeldHeartbeats::default());
        let (large, small) = (held_heartbeats.add(1, MAX_BYTES), held_heartbeats.add(2, 0));
        assert!(large.is_dropped() && !small.is_dropped());
        held_heartbeats.drop_all();
        assert!(small.is_dropped());
    }
}
