//! Queries about tasks and events of jobs that finished before a restart: read from the database, on the pool, few at a
//! time.

use std::rc::Rc;

use crate::engine::TaskReportKind;
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::mapreduce::Job;
use crate::model::{AttemptId, FactNumber, JobId};
use crate::server::owner::Owner;
use crate::server::shown_jobs::JobSources;
use crate::store::{FinishedJobReader, StoreError};
use crate::wire::protocol::{Value, encode_response};

/// Answers `pending` with the result of `read`; returns it if there is no database.
pub(super) fn answer(
    jobs: &JobSources,
    owner: &Rc<Owner>,
    pending: PendingCall,
    read: impl FnOnce(&FinishedJobReader) -> Result<Value, StoreError> + Send + 'static,
) -> Result<(), PendingCall> {
    let Some(reader) = jobs.reader() else { return Err(pending) };
    let (owner, jobs) = (owner.clone(), jobs.clone());
    tokio::task::spawn_local(async move {
        let _permit = jobs.permit().await;
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
            Err(error) => CallAnswer::Error(RemoteError::io(format_args!("the JobTracker failed internally: {error}"))),
        };
        owner.answer(pending, answer, FactNumber::default());
    });
    Ok(())
}

pub(super) fn task_reports(reader: &FinishedJobReader, job: JobId, kind: TaskReportKind) -> Result<Value, StoreError> {
    let job = reader.job(job)?.map(Job::from_stored);
    Ok(Value::TaskReports(job.map(|job| kind.of(&job)).unwrap_or_default()))
}

pub(super) fn diagnostics(reader: &FinishedJobReader, attempt: AttemptId) -> Result<Value, StoreError> {
    let job = reader.job(attempt.task.job)?.map(Job::from_stored);
    let texts = job.and_then(|job| job.diagnostics(job.key_of(attempt.task)?, attempt.number));
    Ok(Value::Strings(texts.unwrap_or_default()))
}
