//! Memory of one connection, charged to the shared budgets.

use std::cell::Cell;
use std::rc::Rc;

use super::budget::{Budget, Budgets};

/// The bytes of one connection; dropping it releases them.
pub(super) struct MemoryCharge {
    budgets: Rc<Budgets>,
    /// Of an incomplete call.
    begun_bytes: Cell<usize>,
    /// Of unread answers.
    unread_bytes: Cell<usize>,
    is_tracker: Cell<bool>,
}

impl MemoryCharge {
    pub(super) fn new(budgets: Rc<Budgets>) -> Self {
        Self { budgets, begun_bytes: Cell::new(0), unread_bytes: Cell::new(0), is_tracker: Cell::new(false) }
    }

    pub(super) fn is_tracker(&self) -> bool {
        self.is_tracker.get()
    }

    /// Moves the charge between the budgets of clients and trackers.
    pub(super) fn set_tracker(&self, is_tracker: bool) {
        let begun_bytes = self.begun_bytes();
        self.set_begun(0);
        self.is_tracker.set(is_tracker);
        self.set_begun(begun_bytes);
    }

    /// The memory bound for calls like this connection's.
    pub(super) fn calls(&self) -> &Budget {
        if self.is_tracker.get() { &self.budgets.tracker_calls } else { &self.budgets.client_calls }
    }

    pub(super) fn begun_bytes(&self) -> usize {
        self.begun_bytes.get()
    }

    /// Sets the bytes received of an incomplete call.
    pub(super) fn set_begun(&self, bytes: usize) {
        let before = self.begun_bytes.replace(bytes);
        self.calls().add(bytes);
        self.calls().remove(before);
    }

    pub(super) fn set_unread(&self, bytes: usize) {
        let before = self.unread_bytes.replace(bytes);
        self.budgets.unread.add(bytes);
        self.budgets.unread.remove(before);
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.set_begun(0);
        self.set_unread(0);
    }
}
