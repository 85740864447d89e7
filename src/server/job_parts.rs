//! Counters and completion events of jobs, from the database.

use std::collections::BTreeMap;

use crate::api::{CounterSpread, JobCounter, JobEvent};
use crate::mapreduce::{AttemptRole, Job, StoredJob};
use crate::model::{AttemptState, JobId, Kind};
use crate::scheduler::AppId;
use crate::store::{FinishedJobReader, StoreError};
use crate::web::{JobPartsOwner, LedgerUnreadable};
use crate::wire::{Counters, TaskCompletionEvent};

use super::handle::OwnerHandle;

/// Tasks up to which each counter's spread over them is shown.
const MOST_SPREAD_TASKS: usize = 20_000;

/// A counter by the names of its group and its own.
type CounterKey = (String, String);

impl JobPartsOwner for OwnerHandle {
    async fn job_counters(&self, job: JobId) -> Result<Option<Vec<JobCounter>>, LedgerUnreadable> {
        self.read_job(move |reader| counters_of(reader, job)).await
    }

    async fn job_events(&self, job: JobId, first: usize, most: usize) -> Result<Vec<JobEvent>, LedgerUnreadable> {
        self.read_job(move |reader| events_of(reader, job, first, most)).await
    }
}

impl OwnerHandle {
    async fn read_job<T: Default + Send + 'static>(
        &self,
        read: impl FnOnce(&FinishedJobReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        let Some(reader) = self.job_sources.reader() else { return Ok(T::default()) };
        let permit = self.job_sources.permit().await;
        read_on_pool(move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            read(&reader)
        })
        .await
    }
}

/// What a blocking read finds.
pub(super) async fn read_on_pool<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, LedgerUnreadable> {
    let read = tokio::task::spawn_blocking(read).await;
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
        task: match (event.attempt.task.kind, event.is_map) {
            (Kind::Map, true) => "map",
            (Kind::Map, false) => "setup or cleanup",
            // Events of setup and cleanup tasks in reduce slots look the same.
            (Kind::Reduce, _) => "reduce",
        },
        status: event.status.name(),
        tracker: event.tracker_http.0.clone().unwrap_or_default(),
        run_time_ms: event.run_time_ms,
    }
}
