//! Answers that leave in parts.

use crate::wire::protocol::{encode_error, encode_response_start};

use super::pending_call::{RemoteError, Ticket};

/// An answer that leaves in parts. Other answers on its connection wait until it is whole.
#[derive(Debug)]
pub struct PartedAnswer {
    ticket: Ticket,
    has_begun: bool,
}

// === impl Ticket ===

impl Ticket {
    /// Answers in parts; waits until the connection has no other such answer in hand.
    pub async fn in_parts(self) -> PartedAnswer {
        self.connection.begin_long().await;
        PartedAnswer { ticket: self, has_begun: false }
    }
}

// === impl PartedAnswer ===

impl PartedAnswer {
    /// Appends what the answer begins with, before its value.
    pub fn start(&self, out: &mut Vec<u8>) {
        encode_response_start(out, self.ticket.id);
    }

    /// Whether nobody can read it any more.
    pub fn is_gone(&self) -> bool {
        self.ticket.is_gone()
    }

    /// Whether too much waits to be read for a further part to be made. Never once calls are no longer taken: then all
    /// that is in hand is to come to its end.
    pub fn is_behind(&self) -> bool {
        let connection = &self.ticket.connection;
        // What waits behind this answer is not waited for by it.
        let is_unread = if self.has_begun { connection.has_unsent() } else { connection.has_outgoing() };
        (is_unread || !connection.shared().unread.has_room()) && !connection.shared().stopping.get()
    }

    /// Completes when [`Self::is_behind`] may have changed.
    pub async fn caught_up(&self) {
        let connection = &self.ticket.connection;
        tokio::select! {
            () = connection.changed() => {}
            () = connection.shared().unread.room(), if !connection.shared().unread.has_room() => {}
        }
    }

    /// Sends a part.
    pub fn send(&mut self, part: &[u8]) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.ticket.connection.begin_parts();
        }
        self.ticket.connection.send_next(part);
    }

    /// Sends the last part.
    pub fn finish(mut self, part: Vec<u8>) {
        if std::mem::replace(&mut self.has_begun, false) {
            self.ticket.connection.send_next(&part);
            self.ticket.connection.end_parts();
        } else {
            self.ticket.connection.send_whole(part);
        }
    }

    /// There is no such answer after all. Where its beginning has left only the connection's end can tell.
    pub fn refuse(self, error: &RemoteError) {
        if !self.has_begun {
            let mut response = Vec::new();
            encode_error(&mut response, self.ticket.id, error.class, &error.message);
            self.ticket.connection.send(&response);
        }
    }
}

impl Drop for PartedAnswer {
    fn drop(&mut self) {
        if self.has_begun {
            self.ticket.connection.abandon();
            self.ticket.connection.end_parts();
        }
        self.ticket.connection.end_long();
    }
}
