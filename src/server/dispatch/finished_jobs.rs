//! Queries about tasks and events of jobs that finished before a restart: read from the database, on the pool, few at a
//! time.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::ReportKind;
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::mapreduce::Job;
use crate::model::{AttemptId, FactNumber, JobId};
use crate::server::owner::Owner;
use crate::store::{FinishedJobReader, StoreError};
use crate::wire::protocol::{Value, encode_response};

const CONCURRENT_READS: usize = 2;

/// Answers from the database, if there is one.
pub(super) struct FinishedJobs {
    reader: OnceCell<FinishedJobReader>,
    permits: Arc<Semaphore>,
}

impl FinishedJobs {
    pub(super) fn new() -> Self {
        Self { reader: OnceCell::new(), permits: Arc::new(Semaphore::new(CONCURRENT_READS)) }
    }

    pub(super) fn read_by(&self, reader: FinishedJobReader) {
        // There is one database, so the first reader is the right one.
        let _ = self.reader.set(reader);
    }

    /// The reader, if there is a database.
    pub(super) fn reader(&self) -> Option<FinishedJobReader> {
        self.reader.get().cloned()
    }

    /// Leave to read, as long as it is kept.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.permits.clone().acquire_owned().await.ok()
    }

    /// Answers `pending` with the result of `read`; returns it if there is no database.
    pub(super) fn answer(
        &self,
        owner: &Rc<Owner>,
        pending: PendingCall,
        read: impl FnOnce(&FinishedJobReader) -> Result<Value, StoreError> + Send + 'static,
    ) -> Result<(), PendingCall> {
        let Some(reader) = self.reader.get().cloned() else { return Err(pending) };
        let (owner, permits) = (owner.clone(), self.permits.clone());
        tokio::task::spawn_local(async move {
            let _permit = permits.acquire().await;
            let id = pending.id();
            // Encoded there too: the answer may be long.
            let read = move || {
                let value = read(&reader)?;
                let mut response = Vec::new();
                encode_response(&mut response, id, &value);
                Ok::<_, StoreError>(response)
            };
            let answer = match tokio::task::spawn_blocking(read).await {
                // Everything read is durable.
                Ok(Ok(response)) => return pending.answer_encoded(response),
                Ok(Err(error)) => CallAnswer::Error(RemoteError::io(error)),
                Err(error) => {
                    CallAnswer::Error(RemoteError::io(format_args!("the JobTracker failed internally: {error}")))
                }
            };
            owner.answer(pending, answer, FactNumber::default());
        });
        Ok(())
    }
}

pub(super) fn task_reports(reader: &FinishedJobReader, job: JobId, kind: ReportKind) -> Result<Value, StoreError> {
    let job = reader.job(job)?.map(Job::from_stored);
    Ok(Value::TaskReports(job.map(|job| kind.of(&job)).unwrap_or_default()))
}

pub(super) fn diagnostics(reader: &FinishedJobReader, attempt: AttemptId) -> Result<Value, StoreError> {
    let job = reader.job(attempt.task.job)?.map(Job::from_stored);
    let texts = job.and_then(|job| job.diagnostics(job.key_of(attempt.task)?, attempt.number));
    Ok(Value::Strings(texts.unwrap_or_default()))
}
