//! The reading side of a connection: one task, one read for each heartbeat.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::connection::{Connection, Waiting};
use super::session::{Conversation, Ended, Service};

/// Bytes read at once. A heartbeat fits; longer frames take several reads.
pub(super) const READ_BYTES: usize = 64 << 10;

/// What may come of a call, of a client or of a tracker, while there is no room for more: most calls fit.
pub(super) const SHORT_CALL_BYTES: usize = 4 << 10;
const SHORT_HEARTBEAT_BYTES: usize = 64 << 10;

/// Reads of a client that is no longer listened to.
const MAX_READS_OUT: usize = 64;

/// Why nothing more is read.
enum End {
    /// The client has left, or was given up.
    Left,
    /// The conversation is over.
    Over(Ended),
    /// Somebody else goes on with it.
    Carried,
}

/// Reads calls until the client leaves, or says something that cannot be understood; or somebody else goes on. `rest` is
/// what was read before and not taken.
pub(super) async fn read_calls<S: Service>(
    connection: Rc<Connection>,
    mut read: OwnedReadHalf,
    mut conversation: Conversation<S>,
    mut rest: Vec<u8>,
) {
    let end = read_until_end(&connection, &mut read, &mut conversation, &mut rest).await;
    connection.set_begun(0);
    match end {
        End::Carried => connection.carry(read, conversation.introduction(), rest).await,
        End::Left | End::Over(Ended::Silently) => conversation.left(&connection),
        End::Over(Ended::WithLastWord) => {
            conversation.left(&connection);
            read_out(&connection, &mut read).await;
        }
    }
}

async fn read_until_end<S: Service>(
    connection: &Rc<Connection>,
    read: &mut OwnedReadHalf,
    conversation: &mut Conversation<S>,
    // Holds a frame's beginning between reads, and nothing when idle.
    rest: &mut Vec<u8>,
) -> End {
    loop {
        while conversation.is_open() && !conversation.may_call(connection) {
            if connection.is_leaving() {
                return End::Carried;
            }
            conversation.may_have_changed(connection).await;
            if connection.is_broken() {
                return End::Left;
            }
        }
        let outcome = match conversation.take_left_over(connection, rest) {
            Some(outcome) => outcome,
            None => {
                let most_bytes = room_to_read(connection, rest.len()).await;
                if connection.is_broken() {
                    return End::Left;
                }
                match read_into(read, connection, conversation, rest, most_bytes).await {
                    Ok(outcome) => outcome,
                    Err(_) if connection.is_leaving() => return End::Carried,
                    Err(_) => return End::Left,
                }
            }
        };
        connection.set_begun(rest.len());
        if let Err(ended) = outcome {
            return End::Over(ended);
        }
        connection.set_stage(conversation.waits(!rest.is_empty()));
    }
}

/// Waits until more of a call may be kept, of which `begun_bytes` have come; tells how much may be read.
async fn room_to_read(connection: &Connection, begun_bytes: usize) -> usize {
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

/// One read into the buffer that all connections share, and what it completes. An error when the client has left, or
/// somebody else is to read.
async fn read_into<S: Service>(
    read: &mut OwnedReadHalf,
    connection: &Rc<Connection>,
    conversation: &mut Conversation<S>,
    rest: &mut Vec<u8>,
    most_bytes: usize,
) -> io::Result<Result<(), Ended>> {
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
        Poll::Ready(Ok(conversation.take(connection, rest, filled)))
    })
    .await
}

/// Reads what the client still says, to no avail, until it closes: a socket that is closed with unread bytes in it is
/// reset, and the last word lost. Not for long: the connection counts as one whose opening does not end.
async fn read_out(connection: &Rc<Connection>, read: &mut OwnedReadHalf) {
    connection.set_stage(Waiting::Opening);
    connection.end_writing();
    for _ in 0..MAX_READS_OUT {
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

/// What a connection waits for between calls.
impl<S: Service> Conversation<S> {
    pub(super) fn waits(&self, frame_begun: bool) -> Waiting {
        match (self.is_open(), frame_begun) {
            (false, _) => Waiting::Opening,
            (true, true) => Waiting::RestOfFrame,
            (true, false) if self.is_tracker() => Waiting::Heartbeat,
            (true, false) => Waiting::Call,
        }
    }
}
