//! Notes: values in `meta` that other threads keep through the writer thread, the only one that writes.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::queue::Message;
use super::sink::FactSink;

/// How often somebody who waits for a note looks whether waiting still makes sense.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Where notes are handed in.
#[derive(Clone, Debug)]
pub(super) struct NoteSink {
    sender: mpsc::Sender<Message>,
    sink: FactSink,
}

/// A note that has not become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoteError {
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// The store cannot write, and the one who waited has no more time.
    #[error("the store cannot write")]
    Failing,
}

// === impl NoteSink ===

impl NoteSink {
    pub(super) fn new(sender: mpsc::Sender<Message>, sink: FactSink) -> Self {
        Self { sender, sink }
    }

    /// Keeps a note and waits until it is durable: with a failing store for as long as `is_patient` says so.
    pub(super) fn keep(&self, key: &'static str, value: &str, is_patient: impl Fn() -> bool) -> Result<(), NoteError> {
        let (done, told) = mpsc::channel();
        let note = Message::Note { key, value: value.to_owned(), done };
        self.sender.send(note).map_err(|_| NoteError::Closed)?;
        loop {
            match told.recv_timeout(LOOK_INTERVAL) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(NoteError::Closed),
                Err(RecvTimeoutError::Timeout) => {
                    let is_failing = !self.sink.durable().borrow().health.is_good();
                    if is_failing && !is_patient() {
                        return Err(NoteError::Failing);
                    }
                }
            }
        }
    }
}
