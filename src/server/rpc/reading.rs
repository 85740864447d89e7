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

/// Reads calls until the client leaves, or says something that cannot be understood.
pub(super) async fn read_calls<S: Service>(
    connection: Rc<Connection>,
    mut read: OwnedReadHalf,
    mut conversation: Conversation<S>,
) {
    read_until_end(&connection, &mut read, &mut conversation).await;
    conversation.left(&connection);
}

async fn read_until_end<S: Service>(
    connection: &Rc<Connection>,
    read: &mut OwnedReadHalf,
    conversation: &mut Conversation<S>,
) {
    // Holds a frame's beginning between reads, and nothing when idle.
    let mut rest: Vec<u8> = Vec::new();
    loop {
        while conversation.is_open() && !conversation.may_call(connection) {
            conversation.may_have_changed(connection).await;
            if connection.is_broken() {
                return;
            }
        }
        let outcome = match conversation.take_left_over(connection, &mut rest) {
            Some(outcome) => outcome,
            None => match read_into(read, connection, conversation, &mut rest).await {
                Ok(outcome) => outcome,
                Err(_) => return,
            },
        };
        if outcome.is_err() {
            return;
        }
        connection.set_stage(conversation.waits(!rest.is_empty()));
    }
}

/// One read into the buffer that all connections share, and what it completes. An error when the client has left.
async fn read_into<S: Service>(
    read: &mut OwnedReadHalf,
    connection: &Rc<Connection>,
    conversation: &mut Conversation<S>,
    rest: &mut Vec<u8>,
) -> io::Result<Result<(), Ended>> {
    std::future::poll_fn(|context| {
        let mut buffer = connection.shared().read_buffer.borrow_mut();
        let mut read_buffer = ReadBuf::new(&mut buffer);
        ready!(Pin::new(&mut *read).poll_read(context, &mut read_buffer))?;
        let filled = read_buffer.filled();
        if filled.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(Ok(conversation.take(connection, rest, filled)))
    })
    .await
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
