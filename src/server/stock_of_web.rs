//! The jobs of the stock pages with their configurations, for the web server: of the owner's memory, else of the database and the history files.

use std::collections::BTreeMap;
use std::fmt::Display;

use tokio::sync::oneshot;

use crate::config::blanked::shown_value;
use crate::config::xml;
use crate::engine::{Caller, Refusal};
use crate::mapreduce::{FinishedJob, Job, TaskKey};
use crate::model::{JobId, Kind, PastSearch, TaskId};
use crate::scheduler::AppId;
use crate::store::{PastJob, PastPlace};
use crate::web::{
    FailureFilter, MOST_FAILURES, OwnerGone, PastAttempt, PastKind, StockAttempts, StockCounterGroup, StockFailures,
    StockHistoryPlace, StockJob, StockOwner, StockPast, StockPastJob, StockPastJobs, StockRead, StockTasks, TaskFilter,
    TaskList,
};

use super::handle::OwnerHandle;
use super::history::log_file;
use super::job_requests::StockRequest;
use super::stock_jobs::{Found, JobSource, TaskWalk};

fn past_job(job: PastJob) -> StockPastJob {
    let PastJob { id, name, user, submit_ms, history_path } = job;
    let log_file = log_file(id, submit_ms, &user, &name, history_path.as_deref());
    StockPastJob { id, name, user, submit_ms, log_file }
}

impl OwnerHandle {
    /// What `read` makes of a job; none of an unknown one. Its access lists must let a `viewer` see it.
    async fn read_stock<T: Send + 'static>(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        read: impl Fn(&JobSource<'_>) -> T + Clone + Send + 'static,
    ) -> StockRead<T> {
        let (reply, answer) = oneshot::channel();
        let of_memory = read.clone();
        self.request_stock(StockRequest::of_job(id, viewer.clone(), of_memory, reply)).await?;
        let (is_known, are_acls_on) = match answer.await.map_err(|_| OwnerGone)? {
            Ok(Found::Live(value)) => return Ok(Ok(Some(value))),
            Ok(Found::NotInMemory { is_known, are_acls_on }) => (is_known, are_acls_on),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Some(reader) = self.job_sources.reader() else { return Ok(Ok(None)) };
        let on_disk = move || {
            let source = JobSource::stored(&reader, id, are_acls_on)?;
            let value = read(&source);
            match source {
                JobSource::Stored { head, .. } => Some((value, head)),
                JobSource::Live { .. } => None,
            }
        };
        let _permit = self.job_sources.permit().await;
        let found = tokio::task::spawn_blocking(on_disk).await.ok().flatten();
        let Some((value, head)) = found else { return Ok(Ok(None)) };
        // Who may see a job that memory knows was asked above.
        if !is_known && let Some(viewer) = viewer.filter(|_| are_acls_on) {
            let (reply, answer) = oneshot::channel();
            self.request_stock(StockRequest::of_forgotten(*head, viewer, reply)).await?;
            if let Err(refusal) = answer.await.map_err(|_| OwnerGone)? {
                return Ok(Err(refusal));
            }
        }
        Ok(Ok(Some(value)))
    }

    async fn read_stock_tasks(&self, id: JobId, viewer: Option<Caller>, walk: TaskWalk) -> StockRead<StockTasks> {
        let (mut walk, mut all) = (walk, StockTasks::default());
        loop {
            let read = self.read_stock(id, viewer.clone(), move |source| source.tasks_part(walk)).await?;
            let (mut part, next) = match read {
                Ok(Some(part)) => part,
                Ok(None) => return Ok(Ok(None)),
                Err(refusal) => return Ok(Err(refusal)),
            };
            all.tasks.append(&mut part.tasks);
            all.total = part.total;
            match next {
                Some(next) => walk = next,
                None => return Ok(Ok(Some(all))),
            }
        }
    }

    async fn read_stock_failures(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        filter: FailureFilter,
    ) -> StockRead<StockFailures> {
        let (mut from, mut all) = (0, StockFailures::default());
        loop {
            let room = MOST_FAILURES - all.attempts.len();
            let read = self.read_stock(id, viewer.clone(), move |source| source.failures(filter, from, room)).await?;
            let (mut part, next) = match read {
                Ok(Some(part)) => part,
                Ok(None) => return Ok(Ok(None)),
                Err(refusal) => return Ok(Err(refusal)),
            };
            all.attempts.append(&mut part.attempts);
            all.is_cut |= part.is_cut;
            match next {
                Some(next) => from = next,
                None => return Ok(Ok(Some(all))),
            }
        }
    }

    /// Whether a viewer may see a job; `head`: as the database has it, if it is over.
    async fn check_viewer(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        head: Option<Job>,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        let Some(viewer) = viewer else { return Ok(Ok(())) };
        let (reply, answer) = oneshot::channel();
        self.request_stock(StockRequest::of_job(id, Some(viewer.clone()), |_| (), reply)).await?;
        let is_known = match answer.await.map_err(|_| OwnerGone)? {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(Found::Live(())) => true,
            Ok(Found::NotInMemory { is_known, .. }) => is_known,
        };
        let Some(head) = head.filter(|_| !is_known) else { return Ok(Ok(())) };
        let (reply, answer) = oneshot::channel();
        self.request_stock(StockRequest::of_forgotten(head, viewer, reply)).await?;
        answer.await.map_err(|_| OwnerGone)
    }

    /// What a blocking `read` finds, at most so many at a time as other reads of finished jobs.
    async fn read_past<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Result<Option<T>, OwnerGone> {
        let permit = self.job_sources.permit().await;
        let read = move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            read()
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| OwnerGone)
    }

    pub(super) async fn read_past_job(&self, id: JobId, viewer: Option<Caller>) -> StockRead<StockPast> {
        let Some(reader) = self.job_sources.reader() else { return Ok(Ok(None)) };
        let are_acls_on = viewer.is_some();
        let read = move || {
            let source = JobSource::stored(&reader, id, are_acls_on)?;
            let place = logged(id, reader.past_place(id)).flatten()?;
            let past = past_of(&source, place);
            let JobSource::Stored { head, .. } = source else { return None };
            Some((past, *head))
        };
        let Some((past, head)) = self.read_past(read).await? else { return Ok(Ok(None)) };
        Ok(self.check_viewer(id, viewer, Some(head)).await?.map(|()| Some(past)))
    }

    pub(super) async fn find_history(&self, id: JobId, viewer: Option<Caller>) -> StockRead<StockHistoryPlace> {
        let Some((head, place)) = self.past_head(id).await? else {
            let is_known = self.shown_views().is_some_and(|views| views.job(id).is_some());
            let not_over = is_known.then_some(StockHistoryPlace::NotOver);
            return Ok(self.check_viewer(id, viewer, None).await?.map(|()| not_over));
        };
        let path = place.history_path.as_deref();
        let log_file = log_file(id, head.submit_ms, &head.spec.user, &head.spec.name, path);
        let head = Job::from_finished(head, AppId::new(0));
        let found = Some(StockHistoryPlace::Over { log_file });
        Ok(self.check_viewer(id, viewer, Some(head)).await?.map(|()| found))
    }

    pub(super) async fn read_history(&self, id: JobId, viewer: Option<Caller>) -> StockRead<Vec<u8>> {
        let (Some(reader), Some(content)) = (self.job_sources.reader(), self.history_content.clone()) else {
            return Ok(Ok(None));
        };
        let head = self.past_head(id).await?.map(|(head, _)| Job::from_finished(head, AppId::new(0)));
        if let Err(refusal) = self.check_viewer(id, viewer, head).await? {
            return Ok(Err(refusal));
        }
        let read = move || logged(id, content.lines(&reader, id)).flatten();
        Ok(Ok(self.read_past(read).await?))
    }

    /// The names and values of a job's job.xml, by name, the secret ones blanked.
    pub(super) async fn read_job_conf(&self, id: JobId, viewer: Option<Caller>) -> StockRead<Vec<(String, String)>> {
        let (Some(reader), Some(content)) = (self.job_sources.reader(), self.history_content.clone()) else {
            return Ok(Ok(None));
        };
        let head = self.past_head(id).await?.map(|(head, _)| Job::from_finished(head, AppId::new(0)));
        if let Err(refusal) = self.check_viewer(id, viewer, head).await? {
            return Ok(Err(refusal));
        }
        let read = move || {
            let bytes = logged(id, content.job_xml(&reader, id)).flatten()?;
            logged(id, xml::parse(&bytes).map(shown_properties))
        };
        Ok(Ok(self.read_past(read).await?))
    }

    async fn past_head(&self, id: JobId) -> Result<Option<(FinishedJob, PastPlace)>, OwnerGone> {
        let Some(reader) = self.job_sources.reader() else { return Ok(None) };
        let read = move || {
            let head = logged(id, reader.finished(id)).flatten()?;
            Some((head, logged(id, reader.past_place(id)).flatten()?))
        };
        self.read_past(read).await
    }
}

impl StockOwner for OwnerHandle {
    async fn is_administrator(&self, caller: Caller) -> Result<bool, OwnerGone> {
        let (reply, answer) = oneshot::channel();
        self.request_stock(StockRequest::of_administrator(caller, reply)).await?;
        answer.await.map_err(|_| OwnerGone)
    }

    async fn stock_past(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockPast> {
        self.read_past_job(job, viewer).await
    }

    async fn stock_history_place(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockHistoryPlace> {
        self.find_history(job, viewer).await
    }

    async fn stock_history_file(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Vec<u8>> {
        self.read_history(job, viewer).await
    }

    async fn stock_conf(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Vec<(String, String)>> {
        self.read_job_conf(job, viewer).await
    }

    async fn stock_past_jobs(&self, search: PastSearch, first: u64, count: u64) -> Result<StockPastJobs, OwnerGone> {
        let Some(reader) = self.job_sources.reader() else { return Ok(StockPastJobs::default()) };
        let _permit = self.job_sources.permit().await;
        let read = move || reader.past_jobs(&search, first, count);
        match tokio::task::spawn_blocking(read).await.map_err(|_| OwnerGone)? {
            Ok(found) => Ok(StockPastJobs { jobs: found.jobs.into_iter().map(past_job).collect(), total: found.total }),
            Err(error) => {
                tracing::warn!("cannot list jobs that are over: {error}");
                Err(OwnerGone)
            }
        }
    }

    async fn stock_job(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockJob> {
        self.read_stock(job, viewer, |source: &JobSource<'_>| source.job()).await
    }

    async fn stock_tasks(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        (list, filter): (TaskList, TaskFilter),
        start: u32,
    ) -> StockRead<StockTasks> {
        self.read_stock_tasks(job, viewer, TaskWalk { list, filter, start, from: 0, seen: 0 }).await
    }

    async fn stock_attempts(&self, task: TaskId, viewer: Option<Caller>) -> StockRead<Option<StockAttempts>> {
        self.read_stock(task.job, viewer, move |source| source.attempts(task)).await
    }

    async fn stock_counters(
        &self,
        task: TaskId,
        attempt: Option<i32>,
        viewer: Option<Caller>,
    ) -> StockRead<Option<Vec<StockCounterGroup>>> {
        self.read_stock(task.job, viewer, move |source| source.task_counters(task, attempt)).await
    }

    async fn stock_failures(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        filter: FailureFilter,
    ) -> StockRead<StockFailures> {
        self.read_stock_failures(job, viewer, filter).await
    }
}

/// A value, or a line of the log that says why there is none.
fn logged<T, E: Display>(id: JobId, read: Result<T, E>) -> Option<T> {
    read.inspect_err(|error| tracing::warn!("cannot read {id} for a page: {error}")).ok()
}

pub(super) fn shown_properties(document: xml::Document) -> Vec<(String, String)> {
    let properties = document.properties.into_iter().filter_map(|property| {
        let value = shown_value(&property.name, &property.value?).into_owned();
        Some((property.name, value))
    });
    // Of two values of a name the last one counts.
    let by_name: BTreeMap<String, String> = properties.collect();
    by_name.into_iter().collect()
}

fn past_of(source: &JobSource<'_>, place: PastPlace) -> StockPast {
    let job = source.job();
    let path = place.history_path.as_deref();
    let total = source.total();
    let setups = Kind::ALL.map(|kind| (PastKind::Setup, TaskKey::Setup(kind)));
    let maps = (0..total.map).map(|number| (PastKind::Map, TaskKey::Work(Kind::Map, number)));
    let reduces = (0..total.reduce).map(|number| (PastKind::Reduce, TaskKey::Work(Kind::Reduce, number)));
    let cleanups = Kind::ALL.map(|kind| (PastKind::Cleanup, TaskKey::Cleanup(kind)));
    let keys = setups.into_iter().chain(maps).chain(reduces).chain(cleanups);
    let attempts = keys.flat_map(|(kind, key)| {
        let attempts = source.ended_attempts(key).into_iter();
        attempts.map(move |attempt| PastAttempt { kind, attempt })
    });
    StockPast {
        launch_ms: place.running_ms.unwrap_or(0),
        log_file: log_file(job.id, job.submit_ms, &job.user, &job.name, path),
        attempts: attempts.collect(),
        job,
    }
}
