//! The queue of clients' calls: bounded, first come first served.

use std::cell::RefCell;
use std::collections::VecDeque;

use tokio::sync::Notify;

use crate::ipc::PendingCall;
use crate::wire::protocol::Call;

pub(super) enum QueuedCall {
    /// A new call.
    Call(Call, PendingCall),
    /// A read that was delayed until its facts are durable.
    Retry(Box<dyn FnOnce()>),
}

/// Clients' calls in order of arrival.
pub(super) struct ClientQueue {
    calls: RefCell<VecDeque<QueuedCall>>,
    bound: usize,
    arrived: Notify,
    room: Notify,
}

impl ClientQueue {
    pub(super) fn new(bound: usize) -> Self {
        Self { calls: RefCell::default(), bound, arrived: Notify::new(), room: Notify::new() }
    }

    /// Adds a call. Callers look at [`Self::has_room`] before they read one.
    pub(super) fn push(&self, queued: QueuedCall) {
        self.calls.borrow_mut().push_back(queued);
        self.arrived.notify_one();
    }

    /// Removes the next call, waiting for one if necessary.
    pub(super) async fn next(&self) -> QueuedCall {
        loop {
            let next = self.calls.borrow_mut().pop_front();
            if let Some(next) = next {
                // Not at each call: waiters resume in batches.
                if self.calls.borrow().len() == self.bound / 2 {
                    self.room.notify_waiters();
                }
                return next;
            }
            self.arrived.notified().await;
        }
    }

    /// Whether to read further calls.
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
