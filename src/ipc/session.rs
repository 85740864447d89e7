//! The protocol state of a connection: opening, then calls. Bytes in, calls out; only answers touch the socket.

use std::rc::Rc;
use std::sync::Arc;

use crate::wire::class::IO_EXCEPTION;
use crate::wire::frame::{Frame, FrameError, split_frame};
use crate::wire::limits::{USER_NAME_BYTES, excerpt};
use crate::wire::opening::{ConnectionHeader, ConnectionUser, Opening, OpeningStep, SWITCH_TO_SIMPLE};
use crate::wire::protocol::{Call, CallError, CallFrame, InterTrackerCall, Protocol, decode_call};

use super::connection::Connection;
use super::inherited_connection::Introduction;
use super::pending_call::{CallAnswer, PendingCall, RemoteError};
use super::pending_check::{ConnectionCheck, Introduced};
use super::protocol_kind::ProtocolKind;

pub(crate) trait Service: 'static {
    /// Handles a call, answered now or later; a dropped `pending` leaves the call unanswered.
    fn handle_call(self: &Rc<Self>, call: Call, pending: PendingCall);

    /// The bytes of a heartbeat, right before [`Self::handle_call`]; empty right after it.
    fn keep_frame(&self, _frame: &[u8]) {}

    /// Whether a connection is admitted. Decided once, before its first call.
    fn check_connection(self: &Rc<Self>, _introduced: &Introduced) -> ConnectionCheck {
        ConnectionCheck::Passed
    }

    fn on_tracker_disconnected(&self, connection: u64);

    /// Stops waiting for calls that are held for reasons other than their facts: the server pauses or stops.
    fn abandon_held_calls(&self) {}

    /// Whether to read clients' calls; trackers' calls are always read.
    fn has_room(&self) -> bool;

    fn room(&self) -> impl Future<Output = ()>;
}

pub(super) struct Session<S> {
    service: Rc<S>,
    stage: Stage,
    /// Received bytes may include whole frames that had to wait.
    left_over: bool,
}

/// How a session is closed after a protocol violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseKind {
    /// Without an error, as the stock server does.
    Silent,
    /// With a fatal error that the client should be able to read.
    WithMessage,
}

enum Stage {
    Opening(Opening),
    Calls { kind: ProtocolKind, user: Arc<str>, real_user: Option<Arc<str>> },
}

impl<S: Service> Session<S> {
    pub(super) fn new(service: Rc<S>) -> Self {
        Self { service, stage: Stage::Opening(Opening::default()), left_over: false }
    }

    /// Resumes the session of another server; `has_rest`: it left undecoded bytes.
    pub(super) fn resumed(service: Rc<S>, introduction: Introduction, has_rest: bool) -> Option<Self> {
        let stage = match introduction {
            Introduction::Opening(stage) => Stage::Opening(Opening::at(stage)),
            Introduction::Done { protocol, user, real_user } => {
                Stage::Calls { kind: ProtocolKind::from_class_name(&protocol)?, user, real_user }
            }
        };
        Some(Self { service, stage, left_over: has_rest })
    }

    /// The opening, for [`Self::resumed`].
    pub(super) fn introduction(&self) -> Introduction {
        match &self.stage {
            Stage::Opening(opening) => Introduction::Opening(opening.stage()),
            Stage::Calls { kind, user, real_user } => Introduction::Done {
                protocol: kind.class_name().to_owned(),
                user: user.clone(),
                real_user: real_user.clone(),
            },
        }
    }

    /// Whether the opening is complete: protocol and user are known.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Calls { .. })
    }

    pub(super) fn is_tracker(&self) -> bool {
        matches!(self.stage, Stage::Calls { kind: ProtocolKind::Served(Protocol::InterTracker), .. })
    }

    pub(super) fn left(&self, connection: &Connection) {
        connection.set_left();
        if self.is_tracker() {
            self.service.on_tracker_disconnected(connection.number());
        }
    }

    pub(super) fn can_take_call(&self, connection: &Connection) -> bool {
        connection.can_take_call() && (self.is_tracker() || self.service.has_room())
    }

    /// Completes when [`Self::can_take_call`] may have changed.
    pub(super) async fn can_take_call_changed(&self, connection: &Connection) {
        if connection.can_take_call() {
            tokio::select! {
                () = self.service.room() => {}
                () = connection.changed() => {}
            }
        } else {
            connection.changed().await;
        }
    }

    /// Decodes `new` bytes after the `rest` of earlier ones; leaves in `rest` what is incomplete or must wait.
    pub(super) fn take(
        &mut self,
        connection: &Rc<Connection>,
        rest: &mut Vec<u8>,
        new: &[u8],
    ) -> Result<(), CloseKind> {
        if rest.is_empty() {
            let used = self.consume(connection, new)?;
            rest.extend_from_slice(&new[used..]);
            return Ok(());
        }
        rest.extend_from_slice(new);
        self.take_rest(connection, rest)
    }

    /// Decodes what had to wait; `None` if nothing did.
    pub(super) fn take_left_over(
        &mut self,
        connection: &Rc<Connection>,
        rest: &mut Vec<u8>,
    ) -> Option<Result<(), CloseKind>> {
        self.left_over.then(|| self.take_rest(connection, rest))
    }

    fn take_rest(&mut self, connection: &Rc<Connection>, rest: &mut Vec<u8>) -> Result<(), CloseKind> {
        let used = self.consume(connection, rest)?;
        if used == rest.len() {
            // An idle connection keeps no buffer.
            *rest = Vec::new();
        } else {
            rest.drain(..used);
        }
        Ok(())
    }

    /// Decodes whole frames from the front of `bytes`; returns the bytes consumed.
    fn consume(&mut self, connection: &Rc<Connection>, bytes: &[u8]) -> Result<usize, CloseKind> {
        let mut used = 0;
        self.left_over = false;
        loop {
            let left = &bytes[used..];
            if self.is_open() && !left.is_empty() && !self.can_take_call(connection) {
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
                        self.stage = check_header(&self.service, connection, header)?;
                    }
                    Err(error) => {
                        tracing::debug!("closed a connection: {error}");
                        return Err(CloseKind::Silent);
                    }
                },
                Stage::Calls { kind, user, real_user } => match split_frame(left, connection.max_frame_bytes()) {
                    Ok(None) => return Ok(used),
                    Ok(Some((Frame::Ping, consumed))) => used += consumed,
                    Ok(Some((Frame::Bytes(frame), consumed))) => {
                        used += consumed;
                        take_call(&self.service, connection, *kind, (&*user, real_user.as_ref()), frame)?;
                    }
                    Err(error @ FrameError::TooLong { .. }) => {
                        tracing::warn!(%user, "closed a connection: {error} (jobtracker.rpc.max-frame-bytes)");
                        connection.send_fatal(IO_EXCEPTION, &format!("{error} (jobtracker.rpc.max-frame-bytes)"));
                        return Err(CloseKind::WithMessage);
                    }
                    Err(error) => {
                        tracing::debug!(%user, "closed a connection: {error}");
                        return Err(CloseKind::Silent);
                    }
                },
            }
        }
    }
}

fn check_header<S: Service>(
    service: &Rc<S>,
    connection: &Rc<Connection>,
    header: ConnectionHeader,
) -> Result<Stage, CloseKind> {
    let Some(kind) = ProtocolKind::from_class_name(&header.protocol) else {
        tracing::debug!(protocol = %header.protocol, "closed a connection with an unknown protocol");
        return Err(CloseKind::Silent);
    };
    // The stock server lets a client without a name act as the server's own user.
    let (user, real_user) = match header.user {
        Some(ConnectionUser { effective, real }) if !effective.is_empty() => (effective, real),
        Some(_) | None => return Err(refuse_connection(connection, "a connection must name its user")),
    };
    if let Some(name) = std::iter::once(&user).chain(&real_user).find(|name| name.len() > USER_NAME_BYTES) {
        let (shown, bytes) = (excerpt(name), name.len());
        let refusal = format!("the name of user {shown} has {bytes} bytes; the limit is {USER_NAME_BYTES}");
        return Err(refuse_connection(connection, &refusal));
    }
    let introduced = Introduced {
        user: user.into(),
        real_user: real_user.map(Arc::from),
        protocol: Arc::from(&*header.protocol),
        address: connection.address(),
    };
    if let ConnectionCheck::Pending(decision) = service.check_connection(&introduced) {
        connection.check.begin();
        let connection = connection.clone();
        tokio::task::spawn_local(async move {
            let decided = decision.await;
            connection.check.decide(decided);
            connection.wake();
        });
    }
    connection.set_open(kind == ProtocolKind::Served(Protocol::InterTracker));
    Ok(Stage::Calls { kind, user: introduced.user, real_user: introduced.real_user })
}

pub(super) fn refuse_connection(connection: &Rc<Connection>, refusal: &str) -> CloseKind {
    connection.send_fatal(AUTHORIZATION_EXCEPTION, refusal);
    CloseKind::WithMessage
}

const DISALLOWED_EXCEPTION: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";
const AUTHORIZATION_EXCEPTION: &str = "org.apache.hadoop.security.authorize.AuthorizationException";

fn take_call<S: Service>(
    service: &Rc<S>,
    connection: &Rc<Connection>,
    kind: ProtocolKind,
    (user, real_user): (&Arc<str>, Option<&Arc<str>>),
    frame: &[u8],
) -> Result<(), CloseKind> {
    let begun = connection.shared().clock.elapsed();
    let pending = |id| PendingCall::new(connection.clone(), id, user.clone(), real_user.cloned(), frame.len());
    let error = match (decode_call(kind.read_as(), frame), kind) {
        (Ok(CallFrame { id, call }), ProtocolKind::Served(_)) => {
            if matches!(call, Call::InterTracker(InterTrackerCall::Heartbeat { .. })) {
                connection.set_sent_heartbeat();
                service.keep_frame(frame);
                service.handle_call(call, pending(id).timed_since(begun));
                service.keep_frame(&[]);
            } else {
                service.handle_call(call, pending(id));
            }
            return Ok(());
        }
        // A protocol's version may be requested on a connection of any other.
        (Ok(CallFrame { id, call: call @ Call::ProtocolVersion { .. } }), ProtocolKind::Foreign) => {
            service.handle_call(call, pending(id));
            return Ok(());
        }
        (Ok(CallFrame { id, call }), ProtocolKind::Foreign) => (id, no_such_method(call.method().name)),
        (Ok(CallFrame { id, .. }) | Err(CallError::Method { id, .. }), ProtocolKind::Nameless) => {
            (id, "java.lang.NullPointerException: the connection names no protocol".to_owned())
        }
        (Err(CallError::Method { id, text }), _) => {
            pending(id).answer(&CallAnswer::Error(RemoteError::verbatim(text)));
            return Ok(());
        }
        (Err(CallError::Disallowed { id, text }), _) => {
            tracing::debug!("refused a TaskTracker: {text}");
            pending(id).answer(&CallAnswer::Error(RemoteError::new(DISALLOWED_EXCEPTION, text)));
            return Ok(());
        }
        (Err(CallError::Close(error)), _) => {
            tracing::debug!(%user, "closed a connection: {error}");
            return Err(CloseKind::Silent);
        }
    };
    pending(error.0).answer(&CallAnswer::Error(RemoteError::io(error.1)));
    Ok(())
}

fn no_such_method(name: &str) -> String {
    format!("java.lang.NoSuchMethodException: {name}: the JobTracker does not serve this connection's protocol")
}
