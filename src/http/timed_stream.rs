//! A connection whose writes do not wait for ever.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::in_hand::InHand;

/// A peer is slow that takes less than this in the time it has.
const PROGRESS_BYTES: usize = 16 << 10;

/// A stream that fails a write when the peer takes less than [`PROGRESS_BYTES`] of it in `patience`, or the rest.
#[derive(Debug)]
pub(super) struct TimedStream<S> {
    stream: S,
    patience: Duration,
    /// Runs from when a write had to wait.
    deadline: Option<Pin<Box<Sleep>>>,
    taken_bytes: usize,
    /// Hears when all is written.
    in_hand: Arc<InHand>,
}

impl<S> TimedStream<S> {
    pub(super) fn new(stream: S, patience: Duration, in_hand: Arc<InHand>) -> Self {
        TimedStream { stream, patience, deadline: None, taken_bytes: 0, in_hand }
    }

    /// Passes on the outcome of a write, or the end of patience with it.
    fn timed(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = &written {
            self.taken_bytes += outcome.as_ref().map_or(0, |bytes| *bytes);
            if self.taken_bytes >= PROGRESS_BYTES {
                self.forget_deadline();
            }
            return written;
        }
        let patience = self.patience;
        if self.deadline.is_none() {
            self.taken_bytes = 0;
        }
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        deadline.as_mut().poll(context).map(|()| Err(io::Error::new(ErrorKind::TimedOut, "the client stopped reading")))
    }

    fn forget_deadline(&mut self) {
        self.deadline = None;
        self.taken_bytes = 0;
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // All that there was is written.
        self.forget_deadline();
        self.in_hand.all_is_written();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
