//! What is asked about tasks and events of jobs that were over before a restart is read from the database, on the pool,
//! few at a time.

use std::cell::OnceCell;
use std::rc::Rc;

use tokio::sync::Semaphore;

use crate::engine::ReportKind;
use crate::ipc::{Answer, RemoteError, Ticket};
use crate::mapreduce::Job;
use crate::model::{AttemptId, FactNumber, JobId};
use crate::server::owner::Owner;
use crate::store::{FinishedJobReader, StoreError};
use crate::wire::protocol::{Value, encode_response};

/// Reads that go on at one time.
const AT_ONE_TIME: usize = 2;

/// Answers out of the database, where there is one.
pub(super) struct FinishedJobs {
    reader: OnceCell<FinishedJobReader>,
    turns: Rc<Semaphore>,
}

// === impl FinishedJobs ===

impl FinishedJobs {
    pub(super) fn new() -> Self {
        Self { reader: OnceCell::new(), turns: Rc::new(Semaphore::new(AT_ONE_TIME)) }
    }

    /// From now on they are read by `reader`.
    pub(super) fn read_by(&self, reader: FinishedJobReader) {
        // There is one database, so whoever was told first is right.
        let _ = self.reader.set(reader);
    }

    /// Answers `ticket` with what `read` finds; gives it back where there is no database.
    pub(super) fn answer(
        &self,
        owner: &Rc<Owner>,
        ticket: Ticket,
        read: impl FnOnce(&FinishedJobReader) -> Result<Value, StoreError> + Send + 'static,
    ) -> Result<(), Ticket> {
        let Some(reader) = self.reader.get().cloned() else { return Err(ticket) };
        let (owner, turns) = (owner.clone(), self.turns.clone());
        tokio::task::spawn_local(async move {
            let _turn = turns.acquire().await;
            let id = ticket.id();
            // Encoded there too: the answer may be long.
            let read = move || {
                let value = read(&reader)?;
                let mut response = Vec::new();
                encode_response(&mut response, id, &value);
                Ok::<_, StoreError>(response)
            };
            let answer = match tokio::task::spawn_blocking(read).await {
                // What is read is durable.
                Ok(Ok(response)) => return ticket.answer_encoded(response),
                Ok(Err(error)) => Answer::Error(RemoteError::io(error)),
                Err(error) => Answer::Error(RemoteError::io(format_args!("the JobTracker failed at it: {error}"))),
            };
            owner.answer(ticket, answer, FactNumber::default());
        });
        Ok(())
    }
}

/// Reports on tasks of a job.
pub(super) fn task_reports(reader: &FinishedJobReader, job: JobId, kind: ReportKind) -> Result<Value, StoreError> {
    let job = reader.job(job)?.map(Job::from_stored);
    Ok(Value::TaskReports(job.map(|job| kind.of(&job)).unwrap_or_default()))
}

/// What an attempt said that went wrong.
pub(super) fn diagnostics(reader: &FinishedJobReader, attempt: AttemptId) -> Result<Value, StoreError> {
    let job = reader.job(attempt.task.job)?.map(Job::from_stored);
    let texts = job.and_then(|job| job.diagnostics(job.key_of(attempt.task)?, attempt.number));
    Ok(Value::Strings(texts.unwrap_or_default()))
}
