//! Answers over HTTP that grow with a job or the cluster, requested from the owner a page at a time: heartbeats go between two
//! pages. Jobs of before a restart are read from the database, what maps read from the job's own file.

use std::sync::Arc;

use crate::api::{JobTasks, TaskAttempt, Workers};
use crate::clock::wall_ms;
use crate::engine::{Caller, Container, Refusal, TaskCursor, TaskPage};
use crate::mapreduce::{StoredAttempt, StoredJob};
use crate::model::{ApplicationId, AttemptState, JobId, Kind};
use crate::store::FinishedJobReader;
use crate::views::JobView;
use crate::web::{ClusterPart, LedgerUnreadable, MarketReply, OwnerGone};
use crate::wire::worker_name;

use super::handle::OwnerHandle;
use super::paged_reads::PagedRequest;
use super::submission::MapInputs;

/// Most attempts in an answer, each with a status of up to a kibibyte: what a client may be owed at a time is far more.
const MOST_ATTEMPTS: usize = 20_000;
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
            match page.next.filter(|_| attempts.len() < MOST_ATTEMPTS && bytes < MOST_BYTES) {
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
        if attempts.len() >= MOST_ATTEMPTS || bytes >= MOST_BYTES {
            return (attempts, Some(TaskCursor::behind(at as u64).0));
        }
        let attempt = line(attempt);
        bytes += attempt.shown_bytes();
        attempts.push(attempt);
    }
    (attempts, None)
}
