//! Completion events of jobs that were over before a restart are read from the database, on the pool, few at a time.

use std::cell::OnceCell;
use std::rc::Rc;

use tokio::sync::Semaphore;

use crate::engine::FactNumber;
use crate::server::owner::Owner;
use crate::server::rpc::{Answer, RemoteError, Ticket};
use crate::store::EventReader;
use crate::wire::JobId;
use crate::wire::protocol::Value;

/// Reads that go on at one time.
const AT_ONE_TIME: usize = 4;

/// Answers out of the database, where there is one.
pub(super) struct StoredEvents {
    reader: OnceCell<EventReader>,
    turns: Rc<Semaphore>,
}

// === impl StoredEvents ===

impl StoredEvents {
    pub(super) fn new() -> Self {
        Self { reader: OnceCell::new(), turns: Rc::new(Semaphore::new(AT_ONE_TIME)) }
    }

    /// From now on events are read by `reader`.
    pub(super) fn read_by(&self, reader: EventReader) {
        // There is one database, so whoever was told first is right.
        let _ = self.reader.set(reader);
    }

    /// Answers `ticket` with a part of a job's list; gives it back where there is no database.
    pub(super) fn answer(
        &self,
        owner: &Rc<Owner>,
        job: JobId,
        (from, max): (usize, usize),
        ticket: Ticket,
    ) -> Result<(), Ticket> {
        let Some(reader) = self.reader.get().cloned() else { return Err(ticket) };
        let (owner, turns) = (owner.clone(), self.turns.clone());
        tokio::task::spawn_local(async move {
            let _turn = turns.acquire().await;
            let answer = match tokio::task::spawn_blocking(move || reader.events(job, from, max)).await {
                Ok(Ok(events)) => Answer::Value(Value::CompletionEvents(events)),
                Ok(Err(error)) => Answer::Error(RemoteError::io(error)),
                Err(error) => Answer::Error(RemoteError::io(format_args!("the JobTracker failed at it: {error}"))),
            };
            // What is read is durable.
            owner.answer(ticket, answer, FactNumber::default());
        });
        Ok(())
    }
}
