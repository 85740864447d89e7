//! Sets values of `meta` from other threads, through the writer thread, the only one that writes.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::fact_sender::FactSender;
use super::queue::Message;

/// How often a waiting caller checks the store's health.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct MetaWriter {
    sender: mpsc::Sender<Message>,
    facts: FactSender,
}

/// A value that has not become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MetaWriteError {
    #[error("the store is closed")]
    Closed,
    /// The store cannot write, and the caller may not wait longer.
    #[error("the store cannot write")]
    Failing,
}

impl MetaWriter {
    pub(super) fn new(sender: mpsc::Sender<Message>, facts: FactSender) -> Self {
        Self { sender, facts }
    }

    /// Sets a value and waits until it is durable; while the store fails, only as long as `may_wait` returns true.
    pub(super) fn persist(
        &self,
        key: &'static str,
        value: &str,
        may_wait: impl Fn() -> bool,
    ) -> Result<(), MetaWriteError> {
        let (done, written) = mpsc::channel();
        let message = Message::Meta { key, value: value.to_owned(), can_wait: may_wait(), done };
        self.sender.send(message).map_err(|_| MetaWriteError::Closed)?;
        loop {
            match written.recv_timeout(CHECK_INTERVAL) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(MetaWriteError::Closed),
                Err(RecvTimeoutError::Timeout) => {
                    let is_failing = !self.facts.durable().borrow().health.is_good();
                    if is_failing && !may_wait() {
                        return Err(MetaWriteError::Failing);
                    }
                }
            }
        }
    }
}
