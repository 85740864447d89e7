//! What is shown of jobs and workers, from the owner a page at a time, from the views and from the database: no event for the owner but the question, where access lists are on, who may see a job.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::api::{CounterSpread, JobCounter, JobDetail, JobEvent, JobTasks, LiveAttempt, TaskAttempt, Workers};
use crate::clock::wall_ms;
use crate::engine::{Caller, Container, JobSnapshot, Refusal, TaskCursor, TaskPage};
use crate::mapreduce::{AttemptRole, Job, StoredAttempt, StoredJob};
use crate::model::{ApplicationId, AttemptState, JobId, Kind};
use crate::scheduler::AppId;
use crate::store::{FinishedJobReader, StoreError};
use crate::views::{JobView, Views, ViewsReader};
use crate::web::{ClusterPart, JobFilter, JobPartsOwner, LedgerUnreadable, MarketReply, Owner as _, OwnerGone};
use crate::wire::{Counters, TaskCompletionEvent, worker_name};

use super::end_notification::FailedNotifications;
use super::handle::OwnerHandle;
use super::paged_reads::PagedRequest;
use super::submission::MapInputs;

/// Most attempts of a job that a page is made of.
pub(super) const MOST_ATTEMPTS: usize = 20_000;
/// Most attempts that hold slots, on a page.
pub(super) const MOST_LIVE: usize = 50_000;

impl OwnerHandle {
    /// Says whether access lists are on.
    #[must_use]
    pub(crate) fn with_acls(mut self, are_acls_on: bool) -> Self {
        self.are_acls_on = are_acls_on;
        self
    }

    /// Adds why owners of jobs were called in vain at their ends.
    #[must_use]
    pub(crate) fn with_failed_notifications(mut self, failed: FailedNotifications) -> Self {
        self.failed_notifications = failed;
        self
    }

    /// What facts have made, as it was published last.
    pub(super) fn shown_views(&self) -> Option<Views> {
        self.views.as_ref().map(ViewsReader::views)
    }

    /// A job down to its attempts; none of an unknown one.
    pub(super) async fn read_detail(
        &self,
        job: JobId,
        viewer: Caller,
    ) -> Result<Result<Option<JobDetail>, Refusal>, OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.views();
        if self.are_acls_on && !viewer.has_admin_role {
            // Who may see the logs of an attempt may see the job.
            let attempt = job.task(Kind::Map, 0).attempt(0);
            match self.check_view_logs(attempt, viewer.user).await? {
                Ok(()) => {}
                Err(refusal @ Refusal::AccessDenied(_)) => return Ok(Err(refusal)),
                // Memory does not know the job, nor its list.
                Err(_) => return Ok(Ok(None)),
            }
        }
        let known = views.job(job).cloned();
        if let Some(known) = known.filter(|known| known.finish_ms().is_none()) {
            return detail_of(known, false).await.map(|detail| Ok(Some(detail)));
        }
        match self.job_sources.finished(job).await {
            Some(stored) => detail_of(Arc::new(JobView::of_stored(&stored)), true).await.map(|detail| Ok(Some(detail))),
            None => Ok(Ok(None)),
        }
    }

    /// The newest jobs that pass a filter, at most so many, and how many more there are.
    pub(super) async fn read_jobs(&self, filter: JobFilter, most: usize) -> Result<(Vec<JobSnapshot>, u64), OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.clone();
        let read = spawn_blocking(move || views.jobs(|job| filter.passes(job), most));
        read.await.map_err(|_| OwnerGone)
    }

    /// What holds slots now.
    pub(super) async fn read_live_attempts(&self) -> Result<Vec<LiveAttempt>, OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.views();
        spawn_blocking(move || views.live_attempts(MOST_LIVE)).await.map_err(|_| OwnerGone)
    }

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

async fn detail_of(job: Arc<JobView>, is_over: bool) -> Result<JobDetail, OwnerGone> {
    spawn_blocking(move || job.detail(is_over, MOST_ATTEMPTS)).await.map_err(|_| OwnerGone)
}

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
        task: event.task(),
        status: event.status.name(),
        tracker: event.tracker_http.0.clone().unwrap_or_default(),
        run_time_ms: event.run_time_ms,
    }
}

/// Most attempts in an answer, each with a status of up to a kibibyte: what a client may be owed at a time is far more.
const MOST_LISTED: usize = 20_000;
/// An answer ends with the attempt that reaches this size, bytes.
const MOST_BYTES: usize = 1 << 20;
const MOST_WORKERS: usize = 100_000;

impl OwnerHandle {
    /// Adds the jobs in the database: those of before a restart, and keys of tickets.
    #[must_use]
    pub(crate) fn with_finished_jobs(mut self, finished: FinishedJobReader) -> Self {
        self.job_sources.set_finished(finished);
        self
    }

    /// Adds the files of submitted jobs.
    #[must_use]
    pub(crate) fn with_map_inputs(mut self, inputs: MapInputs) -> Self {
        self.job_sources.set_inputs(inputs);
        self
    }

    /// Heartbeats go between two pages. Jobs of before a restart are read from the database, what maps read from the job's own file.
    pub(super) async fn read_tasks(
        &self,
        job: JobId,
        is_running_only: bool,
        viewer: Option<Caller>,
        first: u64,
    ) -> Result<Result<Option<JobTasks>, Refusal>, OwnerGone> {
        let mut from = TaskCursor(first);
        let mut attempts: Vec<(TaskAttempt, Option<i64>)> = Vec::new();
        let mut bytes = 0;
        let last = loop {
            let viewer = viewer.clone();
            let asked = self.request_page(|reply| PagedRequest::Tasks { job, is_running_only, viewer, from, reply });
            let mut page = match asked.await? {
                Ok(Some(page)) => page,
                other => return Ok(other.map(|_| None)),
            };
            bytes += page.attempts.iter().map(|(attempt, _)| attempt.shown_bytes()).sum::<usize>();
            attempts.append(&mut page.attempts);
            match page.next.filter(|_| attempts.len() < MOST_LISTED && bytes < MOST_BYTES) {
                Some(next) => from = next,
                None => break page,
            }
        };
        let TaskPage { state, user, output, submit_dir, is_over, is_in_store_alone, next, .. } = last;
        let mut next = next.map(|TaskCursor(next)| next);
        let attempts = if is_in_store_alone {
            let stored = self.job_sources.finished(job).await.filter(|_| !is_running_only);
            let attempts;
            (attempts, next) = stored.map(|stored| stored_attempts(&stored, TaskCursor(first))).unwrap_or_default();
            attempts
        } else {
            let inputs = self.job_sources.inputs.as_ref().filter(|_| !is_over);
            match inputs {
                Some(inputs) => inputs.add_to(job, &user, submit_dir, attempts).await,
                None => attempts.into_iter().map(|(attempt, _)| attempt).collect(),
            }
        };
        Ok(Ok(Some(JobTasks { job, state: state.to_owned(), user, output, attempts, next })))
    }

    /// A job that is over with its attempts.
    pub(super) async fn read_ended(&self, job: JobId) -> Option<Arc<JobView>> {
        self.job_sources.finished(job).await.map(|stored| Arc::new(JobView::of_stored(&stored)))
    }

    /// Complete containers of an application with higher numbers than `after`, at most so many.
    pub(super) async fn read_complete(
        &self,
        application: ApplicationId,
        after: u64,
        failed_only: bool,
        most: usize,
    ) -> Result<Vec<Container>, LedgerUnreadable> {
        let Some(on_disk) = &self.applications_on_disk else { return Ok(Vec::new()) };
        let read = on_disk.containers().complete(application, after, failed_only, most);
        read.await.map_err(|refusal| LedgerUnreadable(refusal.to_string()))
    }

    pub(super) async fn read_workers(&self) -> Result<Workers, OwnerGone> {
        let mut workers = Vec::new();
        let mut after: Option<Arc<str>> = None;
        loop {
            let mut page = self.request_page(|reply| PagedRequest::Workers { after, reply }).await?;
            workers.append(&mut page.workers);
            let is_full = workers.len() >= MOST_WORKERS;
            match page.next {
                Some(next) if !is_full => after = Some(next),
                next => return Ok(Workers { at_ms: wall_ms(), workers, has_more: next.is_some() }),
            }
        }
    }

    pub(super) async fn request_starts(
        &self,
        part: ClusterPart,
        is_stopped: bool,
        caller: Caller,
    ) -> Result<Result<MarketReply, Refusal>, OwnerGone> {
        self.request_page(|reply| PagedRequest::Starts { part, is_stopped, caller, reply }).await
    }
}

/// The attempts of a job of before a restart from the `first` on, and which one follows.
fn stored_attempts(stored: &StoredJob, first: TaskCursor) -> (Vec<TaskAttempt>, Option<u64>) {
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
