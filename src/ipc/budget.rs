//! Memory bounds shared by all connections.

use std::cell::Cell;

use tokio::sync::Notify;

use super::limits::RpcLimits;

/// A bound in bytes, with a notification when room returns.
#[derive(Debug)]
pub(super) struct Budget {
    kept_bytes: Cell<usize>,
    limit_bytes: usize,
    room: Notify,
}

#[derive(Debug)]
pub(super) struct Budgets {
    /// Clients' calls that are incomplete or unanswered.
    pub(super) client_calls: Budget,
    /// Trackers' calls that are incomplete.
    pub(super) tracker_calls: Budget,
    /// Answers that clients have not read.
    pub(super) unread: Budget,
}

impl Budget {
    fn new(limit_bytes: usize) -> Self {
        Self { kept_bytes: Cell::new(0), limit_bytes, room: Notify::new() }
    }

    /// Whether the bound is not reached.
    pub(super) fn has_room(&self) -> bool {
        self.kept_bytes.get() < self.limit_bytes
    }

    pub(super) fn add(&self, bytes: usize) {
        self.kept_bytes.set(self.kept_bytes.get() + bytes);
    }

    pub(super) fn remove(&self, bytes: usize) {
        let had_room = self.has_room();
        self.kept_bytes.set(self.kept_bytes.get().saturating_sub(bytes));
        if !had_room && self.has_room() {
            self.room.notify_waiters();
        }
    }

    /// Completes when there may be room again.
    pub(super) async fn room(&self) {
        if !self.has_room() {
            self.room.notified().await;
        }
    }
}

impl Budgets {
    pub(super) fn new(limits: &RpcLimits) -> Self {
        // One whole call must fit.
        Self {
            client_calls: Budget::new(limits.waiting_call_bytes.max(limits.max_frame_bytes)),
            tracker_calls: Budget::new(limits.waiting_heartbeat_bytes.max(limits.max_frame_bytes)),
            unread: Budget::new(limits.unread_bytes),
        }
    }
}
