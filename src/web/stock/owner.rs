//! The requests of these pages about jobs.

use crate::engine::{Caller, Refusal};
use crate::model::{JobId, PastSearch, TaskId};

use super::super::owner_gone::OwnerGone;
use super::data::{
    FailureFilter, StockAttempts, StockCounterGroup, StockFailures, StockJob, StockPast, StockPastJobs, StockTasks,
    TaskFilter, TaskList,
};

/// What a read of a job answers: none for an unknown one.
pub(crate) type StockRead<T> = Result<Result<Option<T>, Refusal>, OwnerGone>;

/// The way to the jobs. A job's access lists must let a `viewer` see it; without methods of its own there are none.
pub trait StockOwner: Send + Sync + 'static {
    /// Whether a caller whose name is believed may do everything.
    fn is_administrator(&self, _caller: Caller) -> impl Future<Output = Result<bool, OwnerGone>> + Send {
        std::future::ready(Ok(false))
    }

    fn stock_job(&self, _job: JobId, _viewer: Option<Caller>) -> impl Future<Output = StockRead<StockJob>> + Send {
        std::future::ready(Err(OwnerGone))
    }

    /// A page of its tasks, from the `start` of those that the filter lists.
    fn stock_tasks(
        &self,
        _job: JobId,
        _viewer: Option<Caller>,
        _list: (TaskList, TaskFilter),
        _start: u32,
    ) -> impl Future<Output = StockRead<StockTasks>> + Send {
        std::future::ready(Err(OwnerGone))
    }

    /// The attempts of a task; the inner none: the job has no such task.
    fn stock_attempts(
        &self,
        _task: TaskId,
        _viewer: Option<Caller>,
    ) -> impl Future<Output = StockRead<Option<StockAttempts>>> + Send {
        std::future::ready(Err(OwnerGone))
    }

    /// The counters of a task, or of one of its attempts; the inner none: there is no such one.
    fn stock_counters(
        &self,
        _task: TaskId,
        _attempt: Option<i32>,
        _viewer: Option<Caller>,
    ) -> impl Future<Output = StockRead<Option<Vec<StockCounterGroup>>>> + Send {
        std::future::ready(Err(OwnerGone))
    }

    /// At most `count` jobs that are over, from the `first` on. Does not use the owner thread.
    fn stock_past_jobs(
        &self,
        _search: PastSearch,
        _first: u64,
        _count: u64,
    ) -> impl Future<Output = Result<StockPastJobs, OwnerGone>> + Send {
        std::future::ready(Ok(StockPastJobs::default()))
    }

    /// A job that is over, with its attempts; none: it is not over, or the database has lost it. Does not use the owner thread
    /// unless there is a viewer.
    fn stock_past(&self, _job: JobId, _viewer: Option<Caller>) -> impl Future<Output = StockRead<StockPast>> + Send {
        std::future::ready(Ok(Ok(None)))
    }

    /// The path of a job's history file, or the name alone while it is not written; the inner none: the job is not over.
    fn stock_history_place(
        &self,
        _job: JobId,
        _viewer: Option<Caller>,
    ) -> impl Future<Output = StockRead<Option<String>>> + Send {
        std::future::ready(Ok(Ok(None)))
    }

    fn stock_history_file(
        &self,
        _job: JobId,
        _viewer: Option<Caller>,
    ) -> impl Future<Output = StockRead<Vec<u8>>> + Send {
        std::future::ready(Ok(Ok(None)))
    }

    /// The configuration of a job, by name, secrets blanked.
    fn stock_conf(
        &self,
        _job: JobId,
        _viewer: Option<Caller>,
    ) -> impl Future<Output = StockRead<Vec<(String, String)>>> + Send {
        std::future::ready(Ok(Ok(None)))
    }

    fn stock_failures(
        &self,
        _job: JobId,
        _viewer: Option<Caller>,
        _filter: FailureFilter,
    ) -> impl Future<Output = StockRead<StockFailures>> + Send {
        std::future::ready(Err(OwnerGone))
    }
}
