//! A call that waits for its answer.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::wire::class::IO_EXCEPTION;
use crate::wire::protocol::{Value, encode_error, encode_response, encode_response_start};

use super::connection::Connection;
use super::probe::Probe;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallAnswer {
    Value(Value),
    Error(RemoteError),
}

/// A remote exception as Hadoop's clients rebuild it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteError {
    /// The Java class.
    pub(crate) class: &'static str,
    /// What its `Throwable.toString()` prints: the class, a colon, the text.
    pub(crate) message: String,
}

/// A call that can be answered once, now or later; dropped, it stays unanswered.
pub(crate) struct PendingCall {
    pub(super) connection: Rc<Connection>,
    pub(super) id: i32,
    user: Arc<str>,
    real_user: Option<Arc<str>>,
    /// Memory charged until it is answered.
    bytes: usize,
    is_first: bool,
    /// Whether this process has verified that the user has the role `admin`.
    has_admin_role: bool,
    /// When its frame had come, by the clock of the server; none: nothing counts how long its answer takes.
    begun: Option<Duration>,
}

/// Approximate memory of a pending call beside its own bytes.
const CALL_IN_HAND_BYTES: usize = 512;

/// Capacity that the answer buffer keeps after a long answer.
const KEPT_ANSWER_BYTES: usize = 256 << 10;

impl RemoteError {
    /// An exception of `class` with the message `text`.
    pub(crate) fn new(class: &'static str, text: impl std::fmt::Display) -> Self {
        Self { class, message: format!("{class}: {text}") }
    }

    /// A `java.io.IOException` whose `message` includes the class.
    pub(crate) fn verbatim(message: String) -> Self {
        Self { class: IO_EXCEPTION, message }
    }

    /// A `java.io.IOException`.
    pub(crate) fn io(text: impl std::fmt::Display) -> Self {
        Self::new(IO_EXCEPTION, text)
    }
}

impl PendingCall {
    pub(super) fn new(
        connection: Rc<Connection>,
        id: i32,
        user: Arc<str>,
        real_user: Option<Arc<str>>,
        call_bytes: usize,
    ) -> Self {
        let bytes = call_bytes + CALL_IN_HAND_BYTES;
        let is_first = connection.begin_call(bytes);
        Self { connection, id, user, real_user, bytes, is_first, has_admin_role: false, begun: None }
    }

    /// The same of a heartbeat whose frame had come at this time.
    pub(super) fn timed_since(mut self, begun: Duration) -> Self {
        self.begun = Some(begun);
        self
    }

    /// The same of a user whose role was verified.
    pub(super) fn with_admin_role(mut self, has_admin_role: bool) -> Self {
        self.has_admin_role = has_admin_role;
        self
    }

    pub(crate) fn user(&self) -> &Arc<str> {
        &self.user
    }

    /// The user that acts for the user of the connection, if another does.
    pub(crate) fn real_user(&self) -> Option<&Arc<str>> {
        self.real_user.as_ref()
    }

    /// Whether the user's signature proves the role `admin`; never of a connection from outside.
    pub(crate) fn has_admin_role(&self) -> bool {
        self.has_admin_role
    }

    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    pub(crate) fn connection(&self) -> u64 {
        self.connection.number()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Probes the peer of another connection; `None` if that is closed.
    pub(crate) fn probe(&self, connection: u64) -> Option<Probe> {
        self.connection.sibling(connection).map(|other| Probe::begin(&other))
    }

    /// Whether its connection is closed for reading; the service was notified.
    pub(crate) fn has_left(&self) -> bool {
        self.connection.has_left() || self.connection.is_broken()
    }

    /// Completes when [`Self::has_left`] may have changed.
    pub(crate) async fn connection_changed(&self) {
        self.connection.changed().await;
    }

    pub(crate) fn close_connection(self) {
        self.connection.abandon();
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.connection.address()
    }

    /// The local address of its connection and the client's; none once it is closed.
    pub(crate) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.connection.ends()
    }

    pub(crate) fn origin(&self) -> u128 {
        origin_of(self.connection.address())
    }

    /// Whether earlier answers are unread, this connection's or, for a `long` answer, too many of all clients: no
    /// further answer should be built now.
    pub(crate) fn is_behind(&self, long: bool) -> bool {
        self.connection.has_outgoing()
            || self.connection.is_in_parts()
            || (long && !self.connection.shared().budgets.unread.has_room())
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.connection.is_broken()
    }

    /// Completes when [`Self::has_left`].
    pub(crate) async fn left(&self) {
        while !self.has_left() {
            self.connection_changed().await;
        }
    }

    /// Completes when [`Self::is_behind`] may have changed.
    pub(crate) async fn caught_up(&self, long: bool) {
        self.connection.flushed().await;
        if long {
            self.connection.shared().budgets.unread.room().await;
        }
    }

    pub(crate) fn answer(self, answer: &CallAnswer) {
        let shared = self.connection.shared();
        let mut buffer = shared.answer_buffer.borrow_mut();
        buffer.clear();
        self.encode(answer, &mut buffer);
        if let Some(begun) = self.begun {
            // Before it is sent, so that a tracker that has its answer is counted.
            shared.heartbeats.add(shared.clock.elapsed().saturating_sub(begun));
        }
        self.connection.send(&buffer);
        buffer.clear();
        buffer.shrink_to(KEPT_ANSWER_BYTES);
    }

    /// Appends the whole response, for [`Self::answer_encoded`].
    pub(crate) fn encode(&self, answer: &CallAnswer, out: &mut Vec<u8>) {
        match answer {
            CallAnswer::Value(value) => encode_response(out, self.id, value),
            CallAnswer::Error(error) => encode_error(out, self.id, error.class, &error.message),
        }
    }

    pub(crate) fn answer_encoded(self, response: Vec<u8>) {
        self.connection.send_whole(response);
    }

    pub(crate) fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.connection.end_call(self.bytes);
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingCall").field("id", &self.id).field("user", &self.user).finish_non_exhaustive()
    }
}

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

/// A number for the host of `address`. An IPv6 host owns a /64 network, so the network counts.
pub(crate) fn origin_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_ipv4_address_or_an_ipv6_network() {
        let origin = |text: &str| origin_of(text.parse().unwrap());
        assert_eq!(origin("10.0.0.1"), origin("::ffff:10.0.0.1"));
        assert_ne!(origin("10.0.0.1"), origin("10.0.0.2"));
        assert_eq!(origin("2001:db8:1:2::3"), origin("2001:db8:1:2:aaaa::"));
        assert_ne!(origin("2001:db8:1:2::3"), origin("2001:db8:1:3::3"));
    }
}
