//! Jobs that are over and configurations of jobs, for the stock pages: from the database and the history files.

use std::collections::BTreeMap;
use std::fmt::Display;

use tokio::sync::oneshot;

use crate::config::blanked::shown_value;
use crate::config::xml;
use crate::engine::{Caller, Refusal};
use crate::mapreduce::{FinishedJob, Job, TaskKey};
use crate::model::{JobId, Kind};
use crate::scheduler::AppId;
use crate::store::PastPlace;
use crate::web::{OwnerGone, PastAttempt, PastKind, StockHistoryPlace, StockPast, StockRead};

use super::handle::OwnerHandle;
use super::history::log_file;
use super::stock_jobs::{Found, JobSource};
use super::stock_requests::StockRequest;

impl OwnerHandle {
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

    /// A job that is over, with its attempts.
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

    /// Where the history of a job is.
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

    /// The lines of a job's history.
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
