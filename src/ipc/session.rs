//! What a client says, in order: opening, then calls. Bytes in, calls out; only answers touch the socket.

use std::rc::Rc;
use std::sync::Arc;

use crate::wire::frame::{Frame, FrameError, split_frame};
use crate::wire::limits::{USER_NAME_BYTES, excerpt};
use crate::wire::opening::{ConnectionHeader, ConnectionUser, Opening, OpeningStep, SWITCH_TO_SIMPLE};
use crate::wire::protocol::{Call, CallError, CallFrame, InterTrackerCall, Protocol, decode_call};

use super::connection::Connection;
use super::inherited_connection::Introduction;
use super::pending_call::{Answer, RemoteError, Ticket};
use super::protocol_kind::Spoken;

/// Who answers calls.
pub trait Service: 'static {
    /// Takes a call. The ticket answers it, now or later; a ticket that is dropped leaves the call unanswered.
    fn take(self: &Rc<Self>, call: Call, ticket: Ticket);

    /// A connection that a tracker spoke on has ended.
    fn tracker_left(&self, connection: u64);

    /// Heartbeats that wait for something else than their facts are not waited for any more: the server pauses or ends.
    fn give_up_held(&self) {}

    /// Whether calls of clients should be read; those of trackers always are.
    fn has_room(&self) -> bool;

    /// Completes when there may be room again.
    fn room(&self) -> impl Future<Output = ()>;
}

/// One client's side of the conversation.
pub(super) struct Conversation<S> {
    service: Rc<S>,
    stage: Stage,
    /// Bytes that have come may hold whole frames that had to wait.
    left_over: bool,
}

/// The conversation is over: what follows cannot be understood, or may not be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Without a word, as the stock server does it.
    Silently,
    /// With a last word that the client should get to read.
    WithLastWord,
}

enum Stage {
    Opening(Opening),
    Calls { spoken: Spoken, user: Arc<str> },
}

// === impl Conversation ===

impl<S: Service> Conversation<S> {
    pub(super) fn new(service: Rc<S>) -> Self {
        Self { service, stage: Stage::Opening(Opening::default()), left_over: false }
    }

    /// Goes on where another has stopped; `has_rest`: bytes that it has not taken are there.
    pub(super) fn resumed(service: Rc<S>, introduction: Introduction, has_rest: bool) -> Option<Self> {
        let stage = match introduction {
            Introduction::Opening(stage) => Stage::Opening(Opening::at(stage)),
            Introduction::Done { protocol, user } => Stage::Calls { spoken: Spoken::from_class_name(&protocol)?, user },
        };
        Some(Self { service, stage, left_over: has_rest })
    }

    /// What was said before calls, for [`Self::resumed`].
    pub(super) fn introduction(&self) -> Introduction {
        match &self.stage {
            Stage::Opening(opening) => Introduction::Opening(opening.stage()),
            Stage::Calls { spoken, user } => {
                Introduction::Done { protocol: spoken.class_name().to_owned(), user: user.clone() }
            }
        }
    }

    /// Whether calls may come: protocol and user are known.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Calls { .. })
    }

    /// Whether a tracker speaks.
    pub(super) fn is_tracker(&self) -> bool {
        matches!(self.stage, Stage::Calls { spoken: Spoken::Served(Protocol::InterTracker), .. })
    }

    /// The connection has ended.
    pub(super) fn left(&self, connection: &Connection) {
        connection.set_left();
        if self.is_tracker() {
            self.service.tracker_left(connection.number());
        }
    }

    /// Whether the next call may be taken now.
    pub(super) fn may_call(&self, connection: &Connection) -> bool {
        connection.may_call() && (self.is_tracker() || self.service.has_room())
    }

    /// Completes when [`Self::may_call`] should be asked again.
    pub(super) async fn may_have_changed(&self, connection: &Connection) {
        if connection.may_call() {
            tokio::select! {
                () = self.service.room() => {}
                () = connection.changed() => {}
            }
        } else {
            connection.changed().await;
        }
    }

    /// Takes `new` bytes after the `rest` of earlier ones; leaves in `rest` what is no whole frame yet, or must wait.
    pub(super) fn take(&mut self, connection: &Rc<Connection>, rest: &mut Vec<u8>, new: &[u8]) -> Result<(), Ended> {
        if rest.is_empty() {
            let used = self.consume(connection, new)?;
            rest.extend_from_slice(&new[used..]);
            return Ok(());
        }
        rest.extend_from_slice(new);
        self.take_rest(connection, rest)
    }

    /// Takes what had to wait; `None` when nothing did.
    pub(super) fn take_left_over(
        &mut self,
        connection: &Rc<Connection>,
        rest: &mut Vec<u8>,
    ) -> Option<Result<(), Ended>> {
        self.left_over.then(|| self.take_rest(connection, rest))
    }

    fn take_rest(&mut self, connection: &Rc<Connection>, rest: &mut Vec<u8>) -> Result<(), Ended> {
        let used = self.consume(connection, rest)?;
        if used == rest.len() {
            // An idle connection keeps no buffer.
            *rest = Vec::new();
        } else {
            rest.drain(..used);
        }
        Ok(())
    }

    /// Takes whole pieces from the front of `bytes`; tells how many bytes they were.
    fn consume(&mut self, connection: &Rc<Connection>, bytes: &[u8]) -> Result<usize, Ended> {
        let mut used = 0;
        self.left_over = false;
        loop {
            let left = &bytes[used..];
            if self.is_open() && !left.is_empty() && !self.may_call(connection) {
                self.left_over = true;
                return Ok(used);
            }
            match &mut self.stage {
                Stage::Opening(opening) => match opening.advance(left) {
                    Ok(OpeningStep::NeedMore) => return Ok(used),
                    Ok(OpeningStep::Consumed { consumed, switch_to_simple }) => {
                        used += consumed;
                        if switch_to_simple {
                            connection.send(&SWITCH_TO_SIMPLE);
                        }
                    }
                    Ok(OpeningStep::Done { consumed, header }) => {
                        used += consumed;
                        self.stage = introduce(connection, header)?;
                    }
                    Err(error) => {
                        tracing::debug!("a connection was closed: {error}");
                        return Err(Ended::Silently);
                    }
                },
                Stage::Calls { spoken, user } => match split_frame(left, connection.max_frame_bytes()) {
                    Ok(None) => return Ok(used),
                    Ok(Some((Frame::Ping, consumed))) => used += consumed,
                    Ok(Some((Frame::Bytes(frame), consumed))) => {
                        used += consumed;
                        take_call(&self.service, connection, spoken, user, frame)?;
                    }
                    Err(error @ FrameError::TooLong { .. }) => {
                        tracing::warn!(%user, "a connection was closed: {error} (jobtracker.rpc.max-frame-bytes)");
                        connection.send_fatal(IO_EXCEPTION, &format!("{error} (jobtracker.rpc.max-frame-bytes)"));
                        return Err(Ended::WithLastWord);
                    }
                    Err(error) => {
                        tracing::debug!(%user, "a connection was closed: {error}");
                        return Err(Ended::Silently);
                    }
                },
            }
        }
    }
}

/// Judges the header of a connection.
fn introduce(connection: &Rc<Connection>, header: ConnectionHeader) -> Result<Stage, Ended> {
    let Some(spoken) = Spoken::from_class_name(&header.protocol) else {
        tracing::debug!(protocol = %header.protocol, "a connection was closed: its protocol is not known");
        return Err(Ended::Silently);
    };
    // The stock server lets a client without a name act as the server's own user.
    let refusal = match header.user {
        Some(ConnectionUser { effective, .. }) if effective.len() > USER_NAME_BYTES => format!(
            "the name of user {} has {} bytes; the limit is {USER_NAME_BYTES}",
            excerpt(&effective),
            effective.len()
        ),
        Some(ConnectionUser { effective, real: None }) if !effective.is_empty() => {
            connection.set_open(spoken == Spoken::Served(Protocol::InterTracker));
            return Ok(Stage::Calls { spoken, user: effective.into() });
        }
        Some(ConnectionUser { effective, real: Some(real) }) => {
            format!("User: {} is not allowed to impersonate {effective}", excerpt(&real))
        }
        Some(_) | None => "a connection must name its user".to_owned(),
    };
    connection.send_fatal(AUTHORIZATION_EXCEPTION, &refusal);
    Err(Ended::WithLastWord)
}

const IO_EXCEPTION: &str = "java.io.IOException";
const DISALLOWED_EXCEPTION: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";
const AUTHORIZATION_EXCEPTION: &str = "org.apache.hadoop.security.authorize.AuthorizationException";

fn take_call<S: Service>(
    service: &Rc<S>,
    connection: &Rc<Connection>,
    spoken: &Spoken,
    user: &Arc<str>,
    frame: &[u8],
) -> Result<(), Ended> {
    let ticket = |id| Ticket::new(connection.clone(), id, user.clone(), frame.len());
    let error = match (decode_call(spoken.read_as(), frame), spoken) {
        (Ok(CallFrame { id, call }), Spoken::Served(_)) => {
            if matches!(call, Call::InterTracker(InterTrackerCall::Heartbeat { .. })) {
                connection.set_beaten();
            }
            service.take(call, ticket(id));
            return Ok(());
        }
        // A protocol's version may be asked on a connection of any other.
        (Ok(CallFrame { id, call: call @ Call::ProtocolVersion { .. } }), Spoken::Foreign) => {
            service.take(call, ticket(id));
            return Ok(());
        }
        (Ok(CallFrame { id, call }), Spoken::Foreign) => (id, no_such_method(call.method().name)),
        (Ok(CallFrame { id, .. }) | Err(CallError::Method { id, .. }), Spoken::Nameless) => {
            (id, "java.lang.NullPointerException: the connection names no protocol".to_owned())
        }
        (Err(CallError::Method { id, text }), _) => {
            ticket(id).answer(&Answer::Error(RemoteError::verbatim(text)));
            return Ok(());
        }
        (Err(CallError::Disallowed { id, text }), _) => {
            tracing::debug!("a TaskTracker is disallowed: {text}");
            ticket(id).answer(&Answer::Error(RemoteError::new(DISALLOWED_EXCEPTION, text)));
            return Ok(());
        }
        (Err(CallError::Close(error)), _) => {
            tracing::debug!(%user, "a connection was closed: {error}");
            return Err(Ended::Silently);
        }
    };
    ticket(error.0).answer(&Answer::Error(RemoteError::io(error.1)));
    Ok(())
}

fn no_such_method(name: &str) -> String {
    format!("java.lang.NoSuchMethodException: {name}: the JobTracker does not serve this connection's protocol")
}
