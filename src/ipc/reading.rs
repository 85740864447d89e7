//! The reading side of a connection: one task, one read for each heartbeat.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::connection::{Connection, READ_BYTES, WaitingFor};
use super::session::{CloseKind, Service, Session, refuse_connection};

/// Bytes of a client's or a tracker's call that are read while the memory bound is reached: most calls fit.
pub(super) const SHORT_CALL_BYTES: usize = 4 << 10;
const SHORT_HEARTBEAT_BYTES: usize = 64 << 10;

/// Maximum reads while draining a rejected client.
const MAX_DRAIN_READS: usize = 64;

enum ReadEnd {
    /// The client disconnected or was dropped.
    Disconnected,
    Closed(CloseKind),
    /// Another server takes the connection over.
    Detached,
}

/// Reads calls until the client disconnects, breaks the protocol, or the connection is detached. `rest`: bytes received
/// earlier and not decoded.
pub(super) async fn read_calls<S: Service>(
    connection: Rc<Connection>,
    mut read: OwnedReadHalf,
    mut session: Session<S>,
    mut rest: Vec<u8>,
) {
    let end = read_until_close(&connection, &mut read, &mut session, &mut rest).await;
    connection.set_begun(0);
    match end {
        ReadEnd::Detached => connection.detach(read, session.introduction(), rest).await,
        ReadEnd::Disconnected | ReadEnd::Closed(CloseKind::Silent) => session.left(&connection),
        ReadEnd::Closed(CloseKind::WithMessage) => {
            session.left(&connection);
            drain_input(&connection, &mut read).await;
        }
    }
}

async fn read_until_close<S: Service>(
    connection: &Rc<Connection>,
    read: &mut OwnedReadHalf,
    session: &mut Session<S>,
    // An incomplete frame between reads; empty when idle.
    rest: &mut Vec<u8>,
) -> ReadEnd {
    loop {
        loop {
            // Whatever it waits for: the other server would not check it again.
            if let Some(refusal) = connection.check.take_refusal() {
                return ReadEnd::Closed(refuse_connection(connection, &refusal));
            }
            if !session.is_open() || session.can_take_call(connection) {
                break;
            }
            if connection.is_leaving() {
                if !connection.check.is_due() {
                    return ReadEnd::Detached;
                }
                connection.abandon();
                return ReadEnd::Disconnected;
            }
            session.can_take_call_changed(connection).await;
            if connection.is_broken() {
                return ReadEnd::Disconnected;
            }
        }
        let outcome = match session.take_left_over(connection, rest) {
            Some(outcome) => outcome,
            None => {
                let most_bytes = wait_for_read_room(connection, rest.len()).await;
                if connection.is_broken() {
                    return ReadEnd::Disconnected;
                }
                match read_into(read, connection, session, rest, most_bytes).await {
                    Ok(outcome) => outcome,
                    Err(_) if connection.is_leaving() => return ReadEnd::Detached,
                    Err(_) => return ReadEnd::Disconnected,
                }
            }
        };
        connection.set_begun(rest.len());
        if let Err(ended) = outcome {
            return ReadEnd::Closed(ended);
        }
        connection.set_stage(session.waits(!rest.is_empty()));
    }
}

/// Waits for memory for more of a call, of which `begun_bytes` have arrived; returns how much may be read.
async fn wait_for_read_room(connection: &Connection, begun_bytes: usize) -> usize {
    let short_bytes = if connection.is_tracker() { SHORT_HEARTBEAT_BYTES } else { SHORT_CALL_BYTES };
    loop {
        if connection.calls().has_room() {
            return READ_BYTES;
        }
        if begun_bytes < short_bytes || connection.is_broken() || connection.is_leaving() {
            return short_bytes.saturating_sub(begun_bytes).max(1);
        }
        tokio::select! {
            () = connection.calls().room() => {}
            () = connection.changed() => {}
        }
    }
}

/// One read into the shared buffer, and the calls it completes. An error when the client disconnected or the connection is detached.
async fn read_into<S: Service>(
    read: &mut OwnedReadHalf,
    connection: &Rc<Connection>,
    session: &mut Session<S>,
    rest: &mut Vec<u8>,
    most_bytes: usize,
) -> io::Result<Result<(), CloseKind>> {
    std::future::poll_fn(|context| {
        if connection.is_leaving() {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        connection.read_by(context.waker());
        let mut buffer = connection.shared().read_buffer.borrow_mut();
        let mut read_buffer = ReadBuf::new(&mut buffer[..most_bytes]);
        ready!(Pin::new(&mut *read).poll_read(context, &mut read_buffer))?;
        let filled = read_buffer.filled();
        if filled.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(Ok(session.take(connection, rest, filled)))
    })
    .await
}

/// Reads and discards until the client closes: closing a socket with unread bytes resets it, and the error would be
/// lost. Bounded: the connection has the timeout of an opening.
async fn drain_input(connection: &Rc<Connection>, read: &mut OwnedReadHalf) {
    connection.set_stage(WaitingFor::Opening);
    connection.shutdown_write();
    for _ in 0..MAX_DRAIN_READS {
        let last = std::future::poll_fn(|context| {
            if connection.is_leaving() {
                return Poll::Ready(true);
            }
            connection.read_by(context.waker());
            let mut buffer = connection.shared().read_buffer.borrow_mut();
            let mut read_buffer = ReadBuf::new(&mut buffer);
            let read = ready!(Pin::new(&mut *read).poll_read(context, &mut read_buffer));
            Poll::Ready(read.is_err() || read_buffer.filled().is_empty())
        });
        if last.await {
            return;
        }
    }
}

impl<S: Service> Session<S> {
    pub(super) fn waits(&self, frame_begun: bool) -> WaitingFor {
        match (self.is_open(), frame_begun) {
            (false, _) => WaitingFor::Opening,
            (true, true) => WaitingFor::RestOfFrame,
            (true, false) if self.is_tracker() => WaitingFor::Heartbeat,
            (true, false) => WaitingFor::Call,
        }
    }
}
