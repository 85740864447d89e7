//! The jobs of the stock pages, for the web server: of the owner's memory, else of the database.

use tokio::sync::oneshot;

use crate::engine::Caller;
use crate::model::{JobId, PastSearch, TaskId};
use crate::store::PastJob;
use crate::web::{
    FailureFilter, MOST_FAILURES, OwnerGone, StockAttempts, StockCounterGroup, StockFailures, StockHistoryPlace,
    StockJob, StockOwner, StockPast, StockPastJob, StockPastJobs, StockRead, StockTasks, TaskFilter, TaskList,
};

use super::handle::OwnerHandle;
use super::history::log_file;
use super::stock_jobs::{Found, JobSource, TaskWalk};
use super::stock_requests::StockRequest;

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

    /// A page of the tasks of a job.
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

    /// The failures of a job.
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
