//! What one connection has us keep, counted in the budgets of all until it is gone.

use std::cell::Cell;
use std::rc::Rc;

use super::budget::Budget;
use super::connection::Shared;

/// The bytes of one connection. Dropping it gives them back.
pub(super) struct Kept {
    shared: Rc<Shared>,
    /// Of a call that has come in part.
    begun_bytes: Cell<usize>,
    /// Of answers that were not read.
    unread_bytes: Cell<usize>,
    is_tracker: Cell<bool>,
}

// === impl Kept ===

impl Kept {
    pub(super) fn new(shared: Rc<Shared>) -> Self {
        Self { shared, begun_bytes: Cell::new(0), unread_bytes: Cell::new(0), is_tracker: Cell::new(false) }
    }

    /// Whether a tracker speaks.
    pub(super) fn is_tracker(&self) -> bool {
        self.is_tracker.get()
    }

    /// A tracker speaks, or a client: their calls have different room.
    pub(super) fn set_tracker(&self, is_tracker: bool) {
        let begun_bytes = self.begun_bytes();
        self.set_begun(0);
        self.is_tracker.set(is_tracker);
        self.set_begun(begun_bytes);
    }

    /// The room for calls like this connection's.
    pub(super) fn calls(&self) -> &Budget {
        if self.is_tracker.get() { &self.shared.tracker_calls } else { &self.shared.client_calls }
    }

    /// How much of a call has come that is not whole yet.
    pub(super) fn begun_bytes(&self) -> usize {
        self.begun_bytes.get()
    }

    /// Tells how much of a call has come that is not whole yet.
    pub(super) fn set_begun(&self, bytes: usize) {
        let before = self.begun_bytes.replace(bytes);
        self.calls().add(bytes);
        self.calls().remove(before);
    }

    /// Tells how much of the answers was not read.
    pub(super) fn set_unread(&self, bytes: usize) {
        let before = self.unread_bytes.replace(bytes);
        self.shared.unread.add(bytes);
        self.shared.unread.remove(before);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set_begun(0);
        self.set_unread(0);
    }
}
