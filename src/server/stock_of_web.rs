//! The jobs of the stock pages with their configurations, for the web server: from the views, else from the database and the history files. The owner is asked only who may see a job, where access lists are on.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::config::blanked::shown_value;
use crate::config::xml;
use crate::engine::{Caller, Refusal, Watched};
use crate::mapreduce::{FinishedJob, Job};
use crate::model::{JobId, PastSearch, TaskId};
use crate::scheduler::AppId;
use crate::store::{PastJob, PastPlace};
use crate::web::{
    FailureFilter, OwnerGone, StockAttempts, StockCounterGroup, StockFailures, StockJob, StockOwner, StockPast,
    StockPastJob, StockPastJobs, StockRead, StockTasks, TaskFilter, TaskList,
};

use super::handle::OwnerHandle;
use super::history::log_file;
use super::job_requests::{check_viewer, is_administrator};
use super::stock_jobs::StockSource;

fn past_job(job: PastJob) -> StockPastJob {
    let PastJob { id, name, user, submit_ms, history_path } = job;
    let log_file = log_file(id, submit_ms, &user, &name, history_path.as_deref());
    StockPastJob { id, name, user, submit_ms, log_file }
}

impl OwnerHandle {
    /// What `read` makes of a job, with what the owner says beside facts of what is `wanted`; none of an unknown one. Its access
    /// lists must let a `viewer` see it.
    async fn read_stock<T: Send + 'static>(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        wanted: Option<Watched>,
        read: impl FnOnce(&StockSource) -> T + Send + 'static,
    ) -> StockRead<T> {
        let watched = self.look_at_job(id, wanted).await?;
        let Some(watched) = watched.filter(|watched| watched.job.finish_ms().is_none()) else {
            return self.read_ended_stock(id, viewer, read).await;
        };
        if let Err(refusal) = self.check_viewer(id, viewer, None).await? {
            return Ok(Err(refusal));
        }
        let source = StockSource::watched(watched, self.are_acls_on);
        let read = tokio::task::spawn_blocking(move || read(&source));
        Ok(Ok(Some(read.await.map_err(|_| OwnerGone)?)))
    }

    /// The same of a job that is over.
    async fn read_ended_stock<T: Send + 'static>(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        read: impl FnOnce(&StockSource) -> T + Send + 'static,
    ) -> StockRead<T> {
        let Some(reader) = self.job_sources.reader() else { return Ok(Ok(None)) };
        let head = if viewer.is_some() { self.past_head(id).await? } else { None };
        let head = head.map(|(head, _)| Job::from_finished(head, AppId::new(0)));
        if let Err(refusal) = self.check_viewer(id, viewer, head).await? {
            return Ok(Err(refusal));
        }
        // Its end may be durable before it is reported.
        let views = self.shown_views();
        let withheld = views.and_then(|views| views.job(id).map(|job| views.shown_end(job)));
        let are_acls_on = self.are_acls_on;
        let read = move || {
            let (head, stored) = (logged(id, reader.finished(id)).flatten()?, logged(id, reader.job(id)).flatten()?);
            Some(read(&StockSource::stored(head, stored, withheld, are_acls_on)))
        };
        Ok(Ok(self.read_past(read).await?))
    }

    /// Whether a viewer may see a job; `head`: as the database has it, if it is over.
    async fn check_viewer(
        &self,
        id: JobId,
        viewer: Option<Caller>,
        head: Option<Job>,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        let Some(viewer) = viewer else { return Ok(Ok(())) };
        self.requests.ask(move |thread| check_viewer(thread, id, head, viewer)).await
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
        let Some((_, place)) = self.past_head(id).await? else { return Ok(Ok(None)) };
        let read = move |source: &StockSource| past_of(source, &place);
        self.read_ended_stock(id, viewer, read).await
    }

    pub(super) async fn find_history(&self, id: JobId, viewer: Option<Caller>) -> StockRead<Option<String>> {
        let Some((head, place)) = self.past_head(id).await? else {
            let is_known = self.shown_views().is_some_and(|views| views.job(id).is_some());
            let not_over = is_known.then_some(None);
            return Ok(self.check_viewer(id, viewer, None).await?.map(|()| not_over));
        };
        let path = place.history_path.as_deref();
        let log_file = log_file(id, head.submit_ms, &head.spec.user, &head.spec.name, path);
        let head = Job::from_finished(head, AppId::new(0));
        let found = Some(Some(log_file));
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
        self.requests.ask(move |thread| is_administrator(thread, caller)).await
    }

    async fn stock_past(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockPast> {
        self.read_past_job(job, viewer).await
    }

    async fn stock_history_place(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Option<String>> {
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
        self.read_stock(job, viewer, Some(Watched::Job(job)), StockSource::job).await
    }

    async fn stock_tasks(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        (list, filter): (TaskList, TaskFilter),
        start: u32,
    ) -> StockRead<StockTasks> {
        let read = move |source: &StockSource| source.tasks(list, filter, start);
        self.read_stock(job, viewer, Some(Watched::Job(job)), read).await
    }

    async fn stock_attempts(&self, task: TaskId, viewer: Option<Caller>) -> StockRead<Option<StockAttempts>> {
        let read = move |source: &StockSource| source.attempts(task);
        self.read_stock(task.job, viewer, Some(Watched::Task(task)), read).await
    }

    async fn stock_counters(
        &self,
        task: TaskId,
        attempt: Option<i32>,
        viewer: Option<Caller>,
    ) -> StockRead<Option<Vec<StockCounterGroup>>> {
        let read = move |source: &StockSource| source.task_counters(task, attempt);
        self.read_stock(task.job, viewer, Some(Watched::Task(task)), read).await
    }

    async fn stock_failures(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        filter: FailureFilter,
    ) -> StockRead<StockFailures> {
        self.read_stock(job, viewer, None, move |source| source.failures(filter)).await
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

fn past_of(source: &StockSource, place: &PastPlace) -> StockPast {
    let job = source.job();
    let path = place.history_path.as_deref();
    StockPast {
        launch_ms: place.running_ms.unwrap_or(0),
        log_file: log_file(job.id, job.submit_ms, &job.user, &job.name, path),
        attempts: source.past_attempts(),
        job,
    }
}
