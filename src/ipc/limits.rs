//! Limits on clients, and the memory budgets that all connections share.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Maximum frame size, bytes: `jobtracker.rpc.max-frame-bytes`.
    pub max_frame_bytes: usize,
    /// Maximum open connections; further ones are not accepted: `jobtracker.rpc.max-connections`.
    pub max_connections: usize,
    /// Maximum unanswered calls of one connection; further ones are not read: `jobtracker.rpc.max-calls-in-flight`.
    pub max_calls_in_flight: u32,
    /// A client that reads less than 64 KiB of its pending answers in this time is dropped: `jobtracker.rpc.write-timeout-ms`.
    pub write_timeout_ms: u64,
    /// Timeout for completing an opening, or a frame that has started.
    pub frame_timeout_ms: u64,
    /// While more than half of the places are taken, a client that is silent for so long is dropped.
    pub idle_client_ms: u64,
    pub idle_tracker_ms: u64,
    /// Queued calls of clients, over all connections.
    pub waiting_calls: usize,
    /// Bytes of incomplete or unanswered clients' calls, over all connections. Beyond it each client gets one short call at a time.
    pub waiting_call_bytes: usize,
    /// Bytes of incomplete trackers' calls, over all connections. Beyond it long ones wait in the socket.
    pub waiting_heartbeat_bytes: usize,
    /// Bytes of answers that clients have not read, over all connections. Beyond it no further long answer is built.
    pub unread_bytes: usize,
    /// Bytes of answers that wait for the store, over all connections; beyond it queries are delayed.
    pub held_bytes: usize,
    /// Shortened timeout for connections that block others, by the bytes above or by the last place: for an opening, an
    /// incomplete frame, an unread answer.
    pub short_timeout_ms: u64,
    /// While all places are taken, a client that is silent for so long is dropped. Stock clients close after ten
    /// seconds of silence by themselves.
    pub full_idle_client_ms: u64,
    /// Connections without a heartbeat beyond an address's share, a quarter of the places, are closed after so much silence.
    pub share_idle_ms: u64,
    /// The same while all places are taken: a new connection waits that long in the kernel's queue for each round of those before it.
    pub full_share_idle_ms: u64,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self {
            max_frame_bytes: 64 << 20,
            max_connections: 10_000,
            max_calls_in_flight: 100,
            write_timeout_ms: 60_000,
            frame_timeout_ms: 60_000,
            idle_client_ms: 120_000,
            idle_tracker_ms: 1_200_000,
            waiting_calls: 1_024,
            waiting_call_bytes: 128 << 20,
            waiting_heartbeat_bytes: 512 << 20,
            unread_bytes: 256 << 20,
            held_bytes: 64 << 20,
            short_timeout_ms: 5_000,
            full_idle_client_ms: 20_000,
            share_idle_ms: 5_000,
            full_share_idle_ms: 200,
        }
    }
}

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

pub(super) struct MemoryCharge {
    budgets: Rc<Budgets>,
    /// Of an incomplete call.
    begun_bytes: Cell<usize>,
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
