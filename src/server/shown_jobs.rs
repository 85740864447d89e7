//! Where else than in the owner's memory jobs are read, and what is shown of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::api::{CounterSpread, JobCounter, JobDetail, JobEvent, TaskAttempt};
use crate::engine::TaskCursor;
use crate::mapreduce::{AttemptRole, Job, StoredAttempt, StoredJob};
use crate::model::{AttemptState, JobId, Kind};
use crate::scheduler::AppId;
use crate::store::{FinishedJobReader, StoreError};
use crate::views::JobView;
use crate::web::{LedgerUnreadable, OwnerGone};
use crate::wire::{Counters, TaskCompletionEvent, worker_name};

/// Most attempts of a job that a page is made of.
const MOST_ATTEMPTS: usize = 20_000;
/// Most attempts that hold slots, on a page.
pub(super) const MOST_LIVE: usize = 50_000;

/// Concurrent reads of one kind.
const READS_AT_ONE_TIME: usize = 2;

/// The database, where jobs of before a restart are read, few at a time.
#[derive(Clone, Debug)]
pub(crate) struct JobSources {
    finished: Option<FinishedJobReader>,
    permits: Arc<Semaphore>,
}

impl JobSources {
    pub(super) fn new(finished: Option<FinishedJobReader>) -> Self {
        Self { finished, permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }

    /// The database of finished jobs, where there is one.
    pub(super) fn reader(&self) -> Option<FinishedJobReader> {
        self.finished.clone()
    }

    /// Leave to read, as long as it is kept.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.permits.clone().acquire_owned().await.ok()
    }

    /// A job of before a restart; none if it cannot be read.
    pub(super) async fn finished(&self, job: JobId) -> Option<StoredJob> {
        let reader = self.finished.clone()?;
        let permit = self.permit().await?;
        let read = spawn_blocking(move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            reader.job(job)
        });
        match read.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!("cannot read the attempts of {job}: {error}");
                None
            }
            Err(_) => None,
        }
    }

    /// What a blocking `read` finds; nothing without a database.
    pub(super) async fn read_job<T: Default + Send + 'static>(
        &self,
        read: impl FnOnce(&FinishedJobReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        let Some(reader) = self.reader() else { return Ok(T::default()) };
        let permit = self.permit().await;
        read_on_pool(move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            read(&reader)
        })
        .await
    }
}

pub(super) async fn detail_of(job: Arc<JobView>, is_over: bool) -> Result<JobDetail, OwnerGone> {
    spawn_blocking(move || job.detail(is_over, MOST_ATTEMPTS)).await.map_err(|_| OwnerGone)
}

/// Tasks up to which each counter's spread over them is shown.
const MOST_SPREAD_TASKS: usize = 20_000;

/// A counter by the names of its group and its own.
type CounterKey = (String, String);

pub(super) async fn read_on_pool<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, LedgerUnreadable> {
    let read = spawn_blocking(read).await;
    let unreadable = |reason: String| LedgerUnreadable(reason);
    read.map_err(|error| unreadable(error.to_string()))?.map_err(|error| unreadable(error.to_string()))
}

/// The counters of a job, by group and name. Blocks on the disk.
pub(super) fn counters_of(reader: &FinishedJobReader, id: JobId) -> Result<Option<Vec<JobCounter>>, StoreError> {
    let Some(stored) = reader.any_job(id)? else { return Ok(None) };
    let mut spreads = spreads(&stored);
    let totals = match reader.finished(id)? {
        Some(head) => Job::from_finished(head, AppId::new(0)).counters(&Default::default()),
        None => Job::from_stored(stored).counters(&Default::default()),
    };
    let mut counters: Vec<JobCounter> = Vec::new();
    for group in totals.unwrap_or_default().groups {
        for counter in &group.counters {
            let key = (group.name.0.clone(), counter.name.0.clone());
            counters.push(JobCounter {
                group: group.display_name.trim().to_owned(),
                group_id: group.name.to_string(),
                id: counter.name.to_string(),
                name: counter.display_name.as_ref().unwrap_or(&counter.name).to_string(),
                value: counter.value,
                tasks: spreads.remove(&key).and_then(CounterSpread::of),
            });
        }
    }
    counters.sort_by(|left, right| (&left.group, &left.name).cmp(&(&right.group, &right.name)));
    Ok(Some(counters))
}

/// What each task that is done has counted; empty of a job with very many.
fn spreads(stored: &StoredJob) -> BTreeMap<CounterKey, Vec<i64>> {
    let mut values: BTreeMap<CounterKey, Vec<i64>> = BTreeMap::new();
    let is_done = |state| state == AttemptState::Succeeded;
    let done = stored.attempts.iter().filter(|attempt| attempt.role == AttemptRole::Work && is_done(attempt.state));
    let done: Vec<_> = done.filter_map(|attempt| attempt.counters.as_ref()).collect();
    if done.len() > MOST_SPREAD_TASKS {
        return values;
    }
    for counters in done {
        let Counters { groups } = counters.to_counters();
        for group in groups {
            for counter in group.counters {
                values.entry((group.name.0.clone(), counter.name.0)).or_default().push(counter.value);
            }
        }
    }
    values
}

/// The completion events of a job. Blocks on the disk.
pub(super) fn events_of(
    reader: &FinishedJobReader,
    id: JobId,
    first: usize,
    most: usize,
) -> Result<Vec<JobEvent>, StoreError> {
    Ok(reader.events(id, first, most)?.iter().map(event_of).collect())
}

fn event_of(event: &TaskCompletionEvent) -> JobEvent {
    JobEvent {
        number: event.event_id,
        attempt: event.attempt,
        task: event.task(),
        status: event.status.name(),
        tracker: event.tracker_http.0.clone().unwrap_or_default(),
        run_time_ms: event.run_time_ms,
    }
}

/// Most attempts in an answer, each with a status of up to a kibibyte: what a client may be owed at a time is far more.
pub(super) const MOST_LISTED: usize = 20_000;
/// An answer ends with the attempt that reaches this size, bytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// The attempts of a job of before a restart from the `first` on, and which one follows.
pub(super) fn stored_attempts(stored: &StoredJob, first: TaskCursor) -> (Vec<TaskAttempt>, Option<u64>) {
    let spec = &stored.accepted.spec;
    let word = |number: i32, count: u32, work: &str| match i64::from(number) - i64::from(count) {
        ..0 => work.to_owned(),
        0 => "cleanup".to_owned(),
        _ => "setup".to_owned(),
    };
    let line = |attempt: &StoredAttempt| {
        let task = attempt.id.task;
        let http = stored.events.iter().rev().find(|event| event.attempt == attempt.id);
        TaskAttempt {
            attempt: attempt.id,
            task: match task.kind {
                Kind::Map => word(task.number, spec.maps, "map"),
                Kind::Reduce => word(task.number, spec.reduces, "reduce"),
            },
            state: attempt.state.name().to_owned(),
            worker: Some(worker_name(&attempt.tracker).to_owned()),
            http: http.map(|event| event.http.to_string()),
            input: None,
            since_ms: attempt.launch_ms,
            finish_ms: (attempt.finish_ms > 0).then_some(attempt.finish_ms),
            percent: if attempt.state == AttemptState::Succeeded { 100 } else { 0 },
            status: attempt.state_text.clone(),
            diagnostics: TaskAttempt::shown_diagnostics(attempt.diagnostics.clone()),
        }
    };
    let (mut attempts, mut bytes) = (Vec::new(), 0);
    let from = usize::try_from(first.position()).unwrap_or(usize::MAX);
    for (at, attempt) in stored.attempts.iter().enumerate().skip(from) {
        if attempts.len() >= MOST_LISTED || bytes >= MOST_BYTES {
            return (attempts, Some(TaskCursor::behind(at as u64).0));
        }
        let attempt = line(attempt);
        bytes += attempt.shown_bytes();
        attempts.push(attempt);
    }
    (attempts, None)
}
