//! The requests of the web server to the owner of all state. `server` implements [`Owner`]; tests have their own.

use std::sync::Arc;

use crate::api::{
    BudgetImageStatus, JobCounter, JobDetail, JobEvent, JobTasks, LiveAttempt, LogTicket, OrderQuote, PriceHistory,
    Report, SpendingHistory, Statement, SwitchPlan, UploadRules, WhatIfAnswer, Workers,
};
use crate::engine::{
    Caller, ClusterSnapshot, Container, DeadlineChange, DeadlineQuestion, Explained, JobSnapshot, PauseTarget, Refusal,
};
use crate::latency::LatencyCounts;
use crate::market::{Acl, Answer, HistoryPage, MarketError, ReportRequest, ServletRequest, StatementPage};
use crate::model::{ApplicationId, AttemptId, Credits, JobId, QueueName};
use crate::views::{Generation, JobView, LastExplanation, LookAt, Shown};

use super::applications::ApplicationOwner;
use super::job_files::{FileRefusal, JobFile, JobFileRequest, NewUpload, UploadSink};
use super::pages::JobFilter;
use super::stock::StockOwner;

pub use super::owner_gone::{LedgerUnreadable, OwnerGone};

/// The way to the owner of all state. Without methods of its own it answers that the owner is gone.
pub trait Owner: ApplicationOwner + JobPartsOwner + StockOwner + Send + Sync + 'static {
    /// Passes a `/scheduler` request to the engine. Completes when everything that the answer shows is durable.
    ///
    /// # Errors
    ///
    /// [`OwnerGone`] if no answer will come. The operation may have been performed.
    fn market(&self, _request: ServletRequest) -> impl Future<Output = Result<MarketReply, OwnerGone>> + Send {
        gone()
    }

    /// Whether it is a JobTracker that runs: only then what asks one, or changes something, has an address.
    fn is_live(&self) -> bool {
        true
    }

    /// Whether there is a market now, and whether it rules. Answers at once.
    fn market_presence(&self) -> MarketPresence;

    /// Reads a part of a queue's durable ledger entries; none if the queue never existed. Does not use the owner
    /// thread.
    fn statement(
        &self,
        queue: QueueName,
        page: StatementPage,
    ) -> impl Future<Output = Result<Option<Statement>, LedgerUnreadable>> + Send;

    /// Reads the durable prices over time. Does not use the owner thread.
    fn price_history(&self, page: HistoryPage) -> impl Future<Output = Result<PriceHistory, LedgerUnreadable>> + Send;

    /// Reads what a queue has paid over time; none if the queue never existed. Does not use the owner thread.
    fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> impl Future<Output = Result<Option<SpendingHistory>, LedgerUnreadable>> + Send;

    /// Reads a report. Does not use the owner thread.
    fn report(&self, request: ReportRequest) -> impl Future<Output = Result<Report, LedgerUnreadable>> + Send;

    /// Why a job has the slots that it has; none for an unknown job. `sees_names`: whether other queues may be named.
    fn explain(
        &self,
        _job: JobId,
        _sees_names: bool,
    ) -> impl Future<Output = Result<Option<Box<Explained>>, OwnerGone>> + Send {
        gone()
    }

    /// A job with its attempts, or with those that have not ended, from the `first` on, as an answer before has named it; none for
    /// an unknown job. The job's access lists must let
    /// a `viewer` see it.
    fn tasks(
        &self,
        _job: JobId,
        _is_running_only: bool,
        _viewer: Option<Caller>,
        _first: u64,
    ) -> impl Future<Output = Result<Result<Option<JobTasks>, Refusal>, OwnerGone>> + Send {
        gone()
    }

    /// All workers.
    fn workers(&self) -> impl Future<Output = Result<Workers, OwnerGone>> + Send {
        gone()
    }

    /// Stops or resumes the start of work in a part of the cluster, in the name of a caller. Completes when the change is
    /// durable.
    fn change_starts(
        &self,
        _part: ClusterPart,
        _is_stopped: bool,
        _caller: Caller,
    ) -> impl Future<Output = Result<Result<MarketReply, Refusal>, OwnerGone>> + Send {
        gone()
    }

    /// Changes a job in the name of a caller; forms of pages name no user. Completes when the change is durable.
    fn change_job(
        &self,
        _job: JobId,
        _change: JobChange,
        _caller: Caller,
    ) -> impl Future<Output = Result<Result<(), Refusal>, OwnerGone>> + Send {
        gone()
    }

    /// Whether a user may see the logs of an attempt's job.
    fn check_view_logs(
        &self,
        _attempt: AttemptId,
        _user: Arc<str>,
    ) -> impl Future<Output = Result<Result<(), Refusal>, OwnerGone>> + Send {
        gone()
    }

    /// A ticket for the logs of an attempt, for a user who may see them; none if the key of the job is not kept. Does
    /// not use the owner thread.
    fn log_ticket(
        &self,
        _attempt: AttemptId,
    ) -> impl Future<Output = Result<Option<LogTicket>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(None))
    }

    /// Whether a job would be accepted with its deadline; none unless the constraint scheduler rules. Changes nothing.
    fn what_if(
        &self,
        _question: DeadlineQuestion,
    ) -> impl Future<Output = Result<Option<WhatIfAnswer>, OwnerGone>> + Send {
        gone()
    }

    /// What a switch of the scheduler would do now. Asks the owner thread, one plan at a time. Changes nothing.
    fn plan_switch(&self, _question: PlanQuestion) -> impl Future<Output = Result<SwitchPlan, PlanRefusal>> + Send {
        gone()
    }

    /// What a deadline order of a queue would buy at the next tick. Changes nothing.
    fn quote_order(
        &self,
        _queue: QueueName,
        _max_rate: Credits,
        _question: DeadlineQuestion,
    ) -> impl Future<Output = Result<Result<OrderQuote, MarketError>, OwnerGone>> + Send {
        gone()
    }

    /// The response to a call of job clients, by a signer.
    fn read_by_call(&self, _read: SignedRead) -> impl Future<Output = Result<Vec<u8>, ReadRefusal>> + Send {
        gone()
    }

    /// Begins to store a file that a client hands over for a job.
    fn begin_upload(&self, _upload: NewUpload) -> impl Future<Output = Result<UploadSink, FileRefusal>> + Send {
        std::future::ready(Err(FileRefusal::absent()))
    }

    /// How often the owner of a job was called in vain at its end, and why; none: it was reached, or no URL is called.
    fn failed_notification(&self, _job: JobId) -> Option<String> {
        None
    }

    /// How files are handed over. Answers at once.
    fn upload_rules(&self) -> UploadRules {
        UploadRules::default()
    }

    /// A file of a job for a worker that knows its token.
    fn job_file(&self, _request: JobFileRequest) -> impl Future<Output = Result<JobFile, FileRefusal>> + Send {
        std::future::ready(Err(FileRefusal::absent()))
    }

    /// A snapshot of the cluster; the jobs of its report may be missing or old. Does not use the owner thread.
    fn overview(&self) -> impl Future<Output = Result<Arc<ClusterSnapshot>, OwnerGone>> + Send;

    /// All that is shown at one moment, facts and what is none. Does not use the owner thread.
    fn shown(&self, _at: LookAt) -> impl Future<Output = Result<Shown, OwnerGone>> + Send {
        async move { Ok(Shown { overview: self.overview().await?, ..Shown::default() }) }
    }

    /// What was shown at one of the last generations; none: it is not kept. Does not use the owner thread.
    fn shown_at(&self, _generation: Generation) -> Option<Shown> {
        None
    }

    /// Why a job has no more slots, as the owner said it a moment ago; none: it has not said it in time. Does not use the owner
    /// thread, which says it of the jobs that are asked for here with all else that is no fact.
    fn last_explanation(&self, _job: JobId) -> impl Future<Output = Result<Option<LastExplanation>, OwnerGone>> + Send {
        std::future::ready(Ok(None))
    }

    /// A job that is over with its attempts, as it was before its end; none of an unknown one. Does not use the owner thread.
    fn ended_job(&self, _job: JobId) -> impl Future<Output = Result<Option<Arc<JobView>>, OwnerGone>> + Send {
        std::future::ready(Ok(None))
    }

    /// Containers of an application that are complete, with higher numbers than `after`, at most so many. Does not use the
    /// owner thread.
    fn complete_containers(
        &self,
        _application: ApplicationId,
        _after: u64,
        _failed_only: bool,
        _most: usize,
    ) -> impl Future<Output = Result<Vec<Container>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// A job down to its attempts; none of an unknown one. Its access lists must let the viewer see it. Does not use the owner
    /// thread while they are off.
    fn job_detail(
        &self,
        _job: JobId,
        _viewer: Caller,
    ) -> impl Future<Output = Result<Result<Option<JobDetail>, Refusal>, OwnerGone>> + Send {
        std::future::ready(Ok(Ok(None)))
    }

    /// The newest jobs that pass a filter, at most so many, and how many more there are. Does not use the owner thread.
    fn jobs(
        &self,
        filter: JobFilter,
        most: usize,
    ) -> impl Future<Output = Result<(Vec<JobSnapshot>, u64), OwnerGone>> + Send {
        let overview = self.overview();
        async move {
            let overview = overview.await?;
            let passing = || overview.jobs.iter().filter(|job| filter.passes(job));
            Ok((passing().take(most).cloned().collect(), passing().skip(most).count() as u64))
        }
    }

    /// The attempts that hold slots. Does not use the owner thread.
    fn live_attempts(&self) -> impl Future<Output = Result<Vec<LiveAttempt>, OwnerGone>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// The present content of the ACL file, or the last one that could be read. Never blocks.
    fn acl(&self) -> impl Future<Output = Arc<Acl>> + Send {
        std::future::ready(Arc::default())
    }

    /// What the daemon has counted of its own work; none where there is no daemon. Answers at once, even if the owner does not.
    fn own_work(&self) -> Option<OwnWork> {
        None
    }

    /// Health of the daemon. Answers at once, even if the owner does not.
    fn health(&self) -> Health;
}

async fn gone<T, E: From<OwnerGone>>() -> Result<T, E> {
    Err(OwnerGone.into())
}

/// A part of the cluster in which work starts or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterPart {
    /// A worker, which is drained.
    Worker(String),
    /// A job, which is held, or a queue, which is paused.
    Work(PauseTarget),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// Moves it to another pool.
    Pool(String),
    /// Gives it another priority, by Hadoop's name.
    Priority(String),
    /// Gives it another deadline, or none.
    Deadline(DeadlineChange),
    Kill,
    EndAttempt {
        attempt: AttemptId,
        /// As FAILED instead of KILLED.
        is_failure: bool,
    },
}

/// Whether there is a market, and whether it assigns the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketPresence {
    /// There is none.
    Absent,
    /// It keeps accounts while another scheduler assigns the slots.
    Idle,
    /// It keeps accounts while another scheduler assigns the slots, and changes of jobs must be signed
    /// (`jobtracker.job-changes`).
    Signing,
    /// It assigns the slots.
    Ruling,
}

/// The answer to a `/scheduler` request, or its refusal.
pub type MarketReply = Result<Answer, MarketError>;

/// The text of a daemon that has nothing to complain of.
pub(crate) const HEALTHY: &str = "ok";

/// How many histories of jobs were written since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryTotals {
    /// Histories that were written.
    pub(crate) written: u64,
    /// Failed attempts to write one, or a user's copy of one.
    pub(crate) failures: u64,
    /// Finished jobs whose histories are not written yet.
    pub(crate) waiting: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The owner's thread runs. If not, the daemon should be restarted.
    pub is_alive: bool,
    /// Jobs can be submitted and run: the store accepts facts and the RPC port is open.
    pub is_ready: bool,
    /// One line for people: [`HEALTHY`], or what is wrong.
    pub text: String,
    /// What is wrong with the ACL file; the last valid list stays in force.
    pub acl_error: Option<String>,
    /// When this was seen, epoch ms.
    pub at_ms: i64,
    /// Why the store cannot write at present: what needs it waits.
    pub unwritable: Option<String>,
    /// Why the image of the budgets cannot be updated at present.
    pub budget_error: Option<String>,
    /// How far that image is behind.
    pub budgets: Option<BudgetImageStatus>,
    /// What the store accepted and cannot restore after a restart.
    pub store_error: Option<String>,
    /// Senders that are refused because they stopped the daemon by a bug.
    pub refused_senders: Option<String>,
    /// Invariants of the program that were found broken.
    pub defect: Option<String>,
    /// How many were found broken: more than 0 is a defect.
    pub invariant_violations: u64,
    pub histories: HistoryTotals,
    /// Store updates without a row to change: more than 0 is a defect.
    pub rowless_updates: u64,
    /// Requests that wait for news of an application.
    pub waiting_calls: u64,
}

impl Health {
    /// Problems that do not keep jobs from running.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = &str> {
        [&self.refused_senders, &self.defect, &self.store_error, &self.acl_error, &self.budget_error]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

/// The way to them. It does not use the owner thread; who may see a job is asked before. Without methods of its own there are
/// none.
pub trait JobPartsOwner: Send + Sync + 'static {
    /// The counters of a job, by group and name, of one that runs as far as its attempts are done; none of an unknown job.
    fn job_counters(
        &self,
        _job: JobId,
    ) -> impl Future<Output = Result<Option<Vec<JobCounter>>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(None))
    }

    /// The completion events of a job from a number on, at most so many.
    fn job_events(
        &self,
        _job: JobId,
        _first: usize,
        _most: usize,
    ) -> impl Future<Output = Result<Vec<JobEvent>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(Vec::new()))
    }
}

/// What the threads of a daemon have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnWork {
    /// Times from the frames of heartbeats to their answers.
    pub(crate) heartbeats: LatencyCounts,
    /// Times of commits to `state.db`.
    pub(crate) commits: LatencyCounts,
    /// Facts that are not durable yet.
    pub(crate) facts_waiting: u64,
    /// Reloads of the configuration that changed what they say.
    pub(crate) reloads_done: u64,
    /// Reloads that changed nothing: something was wrong.
    pub(crate) reloads_failed: u64,
    pub(crate) limits: Vec<UsedLimit>,
    /// Most tasks of unfinished jobs; none: as many as there are.
    pub(crate) max_tasks: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedLimit {
    pub(crate) name: &'static str,
    /// How much there is.
    pub(crate) used: u64,
    /// How much there may be.
    pub(crate) most: u64,
}

impl UsedLimit {
    /// How full it is; 1: no more of it.
    pub(super) fn ratio(self) -> f64 {
        self.used as f64 / self.most.max(1) as f64
    }
}

/// A call of job clients, by a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRead {
    /// The call, as RPC frames it.
    pub(crate) frame: Vec<u8>,
    pub(crate) user: Arc<str>,
    /// Whether the signature proves the role `admin`.
    pub(crate) has_admin_role: bool,
}

/// Why a read is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadRefusal {
    /// It is no call that reads something of a job.
    #[error("{0}")]
    NotARead(String),
    /// The answer is too long to be kept.
    #[error("the answer is longer than {0} bytes: ask by RPC")]
    TooLong(u64),
    /// The owner is gone, or has too much to do.
    #[error("{0}")]
    Unavailable(String),
}

impl From<OwnerGone> for ReadRefusal {
    fn from(gone: OwnerGone) -> Self {
        Self::Unavailable(gone.to_string())
    }
}

/// A switch that might be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanQuestion {
    /// The scheduler, by name or class name.
    pub to: String,
    /// Where jobs move whose queue it lacks.
    pub move_to: Option<String>,
    pub by: String,
    /// Whether budgets and bids may be shown.
    pub sees_money: bool,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanRefusal {
    /// The name.
    #[error("{0}")]
    UnknownScheduler(String),
    /// Somebody else asks.
    #[error("only administrators see what a switch would do, who sign in by jobtracker open")]
    NotAdministrator,
    /// A name is believed, and no name shows money.
    #[error(
        "a plan of a switch to the market has budgets and bids: expected an administrator who signs in by jobtracker open, or, \
         where there are no keys to sign in with, jobtracker scheduler plan dynamic on the machine of the JobTracker"
    )]
    Private,
    /// The files of the scheduler.
    #[error("{0}")]
    Files(String),
    /// One at a time.
    #[error("another plan is being made: ask again in a second")]
    Busy,
    /// No answer will come.
    #[error("{0}")]
    Gone(#[from] OwnerGone),
}
