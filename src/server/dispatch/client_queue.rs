//! The queue of clients' calls: bounded, first come first served.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::ipc::Ticket;
use crate::wire::protocol::Call;

use super::Dispatcher;

/// Asks something of the dispatcher, once.
type Question = Box<dyn FnOnce(&Rc<Dispatcher>)>;

/// What waits for its turn.
pub(super) enum Asked {
    /// A call.
    Call(Call, Ticket),
    /// A question that was put off until what it shows is durable.
    Again(Question),
}

/// Calls of clients that wait for their turn.
pub(super) struct ClientQueue {
    calls: RefCell<VecDeque<Asked>>,
    bound: usize,
    arrived: Notify,
    room: Notify,
}

// === impl ClientQueue ===

impl ClientQueue {
    pub(super) fn new(bound: usize) -> Self {
        Self { calls: RefCell::default(), bound, arrived: Notify::new(), room: Notify::new() }
    }

    /// Adds a call. Callers look at [`Self::has_room`] before they read one.
    pub(super) fn push(&self, asked: Asked) {
        self.calls.borrow_mut().push_back(asked);
        self.arrived.notify_one();
    }

    /// The next call, waiting for one if need be.
    pub(super) async fn next(&self) -> Asked {
        loop {
            let next = self.calls.borrow_mut().pop_front();
            if let Some(next) = next {
                // Not at each call: those that wait for room come back in bunches.
                if self.calls.borrow().len() == self.bound / 2 {
                    self.room.notify_waiters();
                }
                return next;
            }
            self.arrived.notified().await;
        }
    }

    /// Whether further calls should be read.
    pub(super) fn has_room(&self) -> bool {
        self.calls.borrow().len() < self.bound
    }

    /// Completes when there may be room again.
    pub(super) async fn room(&self) {
        if !self.has_room() {
            self.room.notified().await;
        }
    }
}
