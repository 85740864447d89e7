//! The reading side of a connection: one task, one read for each heartbeat.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::connection::{Connection, Waiting};
use super::conversation::{Conversation, Ended, Service};

/// Bytes read at once. A heartbeat fits; longer frames take several reads.
pub(super) const READ_BYTES: usize = 64 << 10;

/// What may come of a call, of a client or of a tracker, while there is no room for more: most calls fit.
pub(super) const SHORT_CALL_BYTES: usize = 4 << 10;
const SHORT_HEARTBEAT_BYTES: usize = 64 << 10;

/// Reads of a client that is no longer listened to.
const MAX_READS_OUT: usize = 64;

/// Reads calls until the client leaves, or says something that cannot be understood.
pub(super) async fn read_calls<S: Service>(
    connection: Rc<Connection>,
    mut read: OwnedReadHalf,
    mut conversation: Conversation<S>,
) {
    let ended = read_until_end(&connection, &mut read, &mut conversation).await;
    connection.set_begun(0);
    conversation.left(&connection);
    if ended == Some(Ended::WithLastWord) {
        read_out(&connection, &mut read).await;
    }
}

async fn read_until_end<S: Service>(
    connection: &Rc<Connection>,
    read: &mut OwnedReadHalf,
    conversation: &mut Conversation<S>,
) -> Option<Ended> {
    // Holds a frame's beginning between reads, and nothing when idle.
    let mut rest: Vec<u8> = Vec::new();
    loop {
        while conversation.is_open() && !conversation.may_call(connection) {
            conversation.may_have_changed(connection).await;
            if connection.is_broken() {
                return None;
            }
        }
        let outcome = match conversation.take_left_over(connection, &mut rest) {
            Some(outcome) => outcome,
            None => {
                let most_bytes = room_to_read(connection, rest.len()).await;
                if connection.is_broken() {
                    return None;
                }
                match read_into(read, connection, conversation, &mut rest, most_bytes).await {
                    Ok(outcome) => outcome,
                    Err(_) => return None,
                }
            }
        };
        connection.set_begun(rest.len());
        if let Err(ended) = outcome {
            return Some(ended);
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
        if begun_bytes < short_bytes || connection.is_broken() {
            return short_bytes.saturating_sub(begun_bytes).max(1);
        }
        tokio::select! {
            () = connection.calls().room() => {}
            () = connection.changed() => {}
        }
    }
}

/// One read into the buffer that all connections share, and what it completes. An error when the client has left.
async fn read_into<S: Service>(
    read: &mut OwnedReadHalf,
    connection: &Rc<Connection>,
    conversation: &mut Conversation<S>,
    rest: &mut Vec<u8>,
    most_bytes: usize,
) -> io::Result<Result<(), Ended>> {
    std::future::poll_fn(|context| {
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
    fn waits(&self, frame_begun: bool) -> Waiting {
        match (self.is_open(), frame_begun) {
            (false, _) => Waiting::Opening,
            (true, true) => Waiting::RestOfFrame,
            (true, false) if self.is_tracker() => Waiting::Heartbeat,
            (true, false) => Waiting::Call,
        }
    }
}
