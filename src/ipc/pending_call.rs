//! The right to answer one call.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::wire::protocol::{Value, encode_error, encode_response};

use super::connection::Connection;
use super::origin::origin_of;
use super::probe::Probe;

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Its result.
    Value(Value),
    /// A remote exception.
    Error(RemoteError),
}

/// A remote exception as Hadoop's clients rebuild it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// The Java class.
    pub class: &'static str,
    /// What `Throwable.toString()` of it prints: the class, a colon, the text.
    pub message: String,
}

/// The right to answer one call, now or later, at most once.
pub struct Ticket {
    pub(super) connection: Rc<Connection>,
    pub(super) id: i32,
    user: Arc<str>,
    /// What the call takes until it is answered.
    bytes: usize,
    is_first: bool,
}

const IO_EXCEPTION: &str = "java.io.IOException";

/// About what a call in hand takes beside its own bytes: short ones, too, may be many.
const CALL_IN_HAND_BYTES: usize = 512;

/// The answer buffer keeps no more room than this after a long answer.
const KEPT_ANSWER_BYTES: usize = 256 << 10;

// === impl RemoteError ===

impl RemoteError {
    /// An exception of `class` that says `text`.
    pub fn new(class: &'static str, text: impl std::fmt::Display) -> Self {
        Self { class, message: format!("{class}: {text}") }
    }

    /// A `java.io.IOException` whose message is `message`, which names the class already.
    pub fn verbatim(message: String) -> Self {
        Self { class: IO_EXCEPTION, message }
    }

    /// `java.io.IOException`
    pub fn io(text: impl std::fmt::Display) -> Self {
        Self::new(IO_EXCEPTION, text)
    }
}

// === impl Ticket ===

impl Ticket {
    pub(super) fn new(connection: Rc<Connection>, id: i32, user: Arc<str>, call_bytes: usize) -> Self {
        let bytes = call_bytes + CALL_IN_HAND_BYTES;
        let is_first = connection.call_taken(bytes);
        Self { connection, id, user, bytes, is_first }
    }

    /// The user of the connection.
    pub fn user(&self) -> &Arc<str> {
        &self.user
    }

    /// Whether nothing was called on its connection before.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// The number of the connection it came on.
    pub fn connection(&self) -> u64 {
        self.connection.number()
    }

    /// Of the call.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Looks whether the peer of another connection is there; none when that is closed.
    pub fn probe(&self, connection: u64) -> Option<Probe> {
        self.connection.sibling(connection).map(|other| Probe::begin(&other))
    }

    /// Whether its connection has ended, as far as reading goes: the service was told so.
    pub fn has_left(&self) -> bool {
        self.connection.has_left() || self.connection.is_broken()
    }

    /// Completes when [`Self::has_left`] may have changed.
    pub async fn connection_changed(&self) {
        self.connection.changed().await;
    }

    /// Closes its connection instead of an answer.
    pub fn hang_up(self) {
        self.connection.abandon();
    }

    /// The network address of its client.
    pub fn address(&self) -> IpAddr {
        self.connection.address()
    }

    /// A number for the host of its client.
    pub fn origin(&self) -> u128 {
        origin_of(self.connection.address())
    }

    /// Whether earlier answers are still to be read, its own or, for a `long` one, too many of all clients: no more
    /// should be made for it now.
    pub fn is_behind(&self, long: bool) -> bool {
        self.connection.has_outgoing()
            || self.connection.is_in_parts()
            || (long && !self.connection.shared().unread.has_room())
    }

    /// Whether nobody can read an answer any more.
    pub fn is_gone(&self) -> bool {
        self.connection.is_broken()
    }

    /// Completes when [`Self::has_left`].
    pub async fn left(&self) {
        while !self.has_left() {
            self.connection_changed().await;
        }
    }

    /// Completes when [`Self::is_behind`] may have changed.
    pub async fn caught_up(&self, long: bool) {
        self.connection.flushed().await;
        if long {
            self.connection.shared().unread.room().await;
        }
    }

    /// Answers.
    pub fn answer(self, answer: &Answer) {
        let mut buffer = self.connection.shared().answer_buffer.borrow_mut();
        buffer.clear();
        self.encode(answer, &mut buffer);
        self.connection.send(&buffer);
        buffer.clear();
        buffer.shrink_to(KEPT_ANSWER_BYTES);
    }

    /// Appends the whole response, for [`Self::answer_encoded`].
    pub fn encode(&self, answer: &Answer, out: &mut Vec<u8>) {
        match answer {
            Answer::Value(value) => encode_response(out, self.id, value),
            Answer::Error(error) => encode_error(out, self.id, error.class, &error.message),
        }
    }

    /// Answers with a response that is encoded already.
    pub fn answer_encoded(self, response: Vec<u8>) {
        self.connection.send_whole(response);
    }

    /// The call that it answers.
    pub fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connection.call_ended(self.bytes);
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("id", &self.id).field("user", &self.user).finish_non_exhaustive()
    }
}
