//! Answers sent in parts.

use crate::wire::protocol::{encode_error, encode_response_start};

use super::pending_call::{PendingCall, RemoteError};

/// An answer sent in parts. Other answers on its connection wait until it is complete.
#[derive(Debug)]
pub(crate) struct PartedAnswer {
    pending: PendingCall,
    is_started: bool,
}

impl PendingCall {
    /// Answers in parts; waits until the connection has no other such answer in progress.
    pub(crate) async fn in_parts(self) -> PartedAnswer {
        self.connection.begin_long().await;
        PartedAnswer { pending: self, is_started: false }
    }
}

impl PartedAnswer {
    pub(crate) fn start(&self, out: &mut Vec<u8>) {
        encode_response_start(out, self.pending.id);
    }

    /// Whether the client disconnected.
    pub(crate) fn is_gone(&self) -> bool {
        self.pending.is_gone()
    }

    /// Whether too many bytes are unread to build a further part. Never while the server pauses or stops: then all
    /// answers in progress must complete.
    pub(crate) fn is_behind(&self) -> bool {
        let connection = &self.pending.connection;
        // Answers queued behind this one do not count.
        let is_unread = if self.is_started { connection.has_unsent() } else { connection.has_outgoing() };
        (is_unread || !connection.shared().budgets.unread.has_room()) && !connection.shared().stopping.get()
    }

    /// Completes when [`Self::is_behind`] may have changed.
    pub(crate) async fn caught_up(&self) {
        let connection = &self.pending.connection;
        tokio::select! {
            () = connection.changed() => {}
            () = connection.shared().budgets.unread.room(), if !connection.shared().budgets.unread.has_room() => {}
        }
    }

    pub(crate) fn send(&mut self, part: &[u8]) {
        if !std::mem::replace(&mut self.is_started, true) {
            self.pending.connection.begin_parts();
        }
        self.pending.connection.send_next(part);
    }

    pub(crate) fn finish(mut self, part: Vec<u8>) {
        if std::mem::replace(&mut self.is_started, false) {
            self.pending.connection.send_next(&part);
            self.pending.connection.end_parts();
        } else {
            self.pending.connection.send_whole(part);
        }
    }

    /// Rejects the call. If a part was sent, only closing the connection can report it.
    pub(crate) fn refuse(self, error: &RemoteError) {
        if !self.is_started {
            let mut response = Vec::new();
            encode_error(&mut response, self.pending.id, error.class, &error.message);
            self.pending.connection.send(&response);
        }
    }
}

impl Drop for PartedAnswer {
    fn drop(&mut self) {
        if self.is_started {
            self.pending.connection.abandon();
            self.pending.connection.end_parts();
        }
        self.pending.connection.end_long();
    }
}
