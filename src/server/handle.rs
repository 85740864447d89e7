//! Access to the owner from other threads.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::api::{
    JobDetail, JobTasks, LiveAttempt, LogTicket, OrderQuote, PriceHistory, Report, SpendingHistory, Statement,
    SwitchPlan, UploadRules, WhatIfAnswer, Workers,
};
use crate::clock::wall_ms;
use crate::config::settings::LoadOptions;
use crate::engine::{
    ApplicationRequest, Caller, ClusterSnapshot, Container, DeadlineQuestion, Explained, JobSnapshot, Refusal, Watched,
};
use crate::ipc::RpcMeter;
use crate::market::{
    Acl, Answer, HistoryPage, MarketError, OperationKind, ReportRequest, ServletRequest, StatementPage,
};
use crate::model::{ApplicationId, AttemptId, Credits, FactNumber, JobId, LOG_TICKET_MS, QueueName};
use crate::store::{BudgetStatus, Durable, LedgerReader, StoreError, StoreMeter};
use crate::views::{Generation, JobView, LastExplanation, LookAt, Shown, ViewsReader, WatchedJob};
use crate::web::{
    ApplicationReply, ClusterPart, FileRefusal, Health, JobChange, JobFile, JobFileRequest, JobFilter,
    LedgerUnreadable, MarketPresence, MarketReply, NewUpload, NewsWait, OwnWork, OwnerGone, PlanQuestion, PlanRefusal,
    ReadRefusal, SignedRead, UploadSink,
};

use super::accounts::Accounts;
use super::acl_file::AclFile;
use super::application_requests::{ApplicationOfWeb, ApplicationUsers};
use super::application_waits::{ApplicationWaits, WaitingCalls};
use super::applications_on_disk::ApplicationsOnDisk;
use super::broken_invariants::BrokenInvariants;
use super::dispatch::Dispatcher;
use super::end_notification::FailedNotifications;
use super::fair_pool::StuckThreads;
use super::health_text::HealthText;
use super::history::{HistoryContent, HistoryCounts};
use super::job_files_of_web::{JobFilesOfWeb, no_job_files, refused_upload};
use super::job_requests::{StockRequest, change_job, check_upload, check_view_logs, explain, job_request};
use super::ledger_reads::Ledger;
use super::market_request::market;
use super::meters::{Meters, ReloadCounts};
use super::owner::{Owner, complaint_of};
use super::paged_reads::{JobSources, PagedRequest};
use super::quarantine::RefusedSenders;
use super::serving_flag::ServingFlag;
use super::shared_presence::SharedPresence;
use super::signed_reads::{ReadRequest, answer_read};
use super::submission::{AwaitedFiles, Submissions, Uploads};
use super::switch_plans::{PlannedSwitches, ReadWish, answer_plan};
use super::volatile_source::{FAILING_TIMEOUT, VIEWS_TIMEOUT};

/// Queued requests; further senders wait.
const WAITING_REQUESTS: usize = 256;

/// Sends requests to the owner. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub struct OwnerHandle {
    requests: mpsc::Sender<Request>,
    market: SharedPresence,
    acl: Option<Arc<AclFile>>,
    budget: Option<BudgetStatus>,
    store: watch::Receiver<Durable>,
    serving: ServingFlag,
    pub(super) views: Option<ViewsReader>,
    ledger: Option<Ledger>,
    stuck_threads: Option<StuckThreads>,
    awaited_files: AwaitedFiles,
    broken_invariants: BrokenInvariants,
    histories: HistoryCounts,
    pub(super) history_content: Option<HistoryContent>,
    refused_senders: Option<RefusedSenders>,
    pub(super) job_sources: JobSources,
    job_files: Option<JobFilesOfWeb>,
    pub(super) application_users: ApplicationUsers,
    pub(super) applications_on_disk: Option<ApplicationsOnDisk>,
    pub(super) waiting_calls: WaitingCalls,
    pub(super) accounts: Arc<Accounts>,
    pub(super) are_acls_on: bool,
    pub(super) failed_notifications: FailedNotifications,
    pub(super) meters: Meters,
    switches: Option<PlannedSwitches>,
}

/// Requests of other threads, for `Requests::answer`.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: mpsc::Receiver<Request>,
    serving: ServingFlag,
}

#[derive(Debug)]
enum Request {
    Market(Box<ServletRequest>, oneshot::Sender<MarketReply>),
    Explain(JobId, bool, oneshot::Sender<Option<Box<Explained>>>),
    /// A job that might be submitted to a queue, with an order of at most this rate.
    QuoteOrder(Box<(QueueName, Credits, DeadlineQuestion)>, oneshot::Sender<Result<OrderQuote, MarketError>>),
    WhatIf(DeadlineQuestion, oneshot::Sender<Option<WhatIfAnswer>>),
    ChangeJob(JobId, JobChange, Caller, oneshot::Sender<Result<(), Refusal>>),
    CheckViewLogs(AttemptId, Arc<str>, oneshot::Sender<Result<(), Refusal>>),
    PlanSwitch(Box<ReadWish>, oneshot::Sender<SwitchPlan>),
    Paged(PagedRequest),
    Stock(StockRequest),
    Read(Box<ReadRequest>),
    Application(Box<ApplicationOfWeb>),
    /// Whether a user may hand over files for a job; `true`: it has begun before.
    CheckUpload(JobId, Arc<str>, bool, oneshot::Sender<Result<(), Refusal>>),
}

impl OwnerHandle {
    /// A handle and its receiver. With a market, `acl`: users that may sign, `budget`: state of the budget file.
    pub(crate) fn new(
        store: watch::Receiver<Durable>,
        market: SharedPresence,
        acl: Option<Arc<AclFile>>,
        budget: Option<BudgetStatus>,
    ) -> (Self, Requests) {
        let (sender, requests) = mpsc::channel(WAITING_REQUESTS);
        let serving = ServingFlag::default();
        let handle = Self {
            requests: sender,
            market,
            acl,
            budget,
            store,
            serving: serving.clone(),
            views: None,
            ledger: None,
            stuck_threads: None,
            awaited_files: AwaitedFiles::default(),
            broken_invariants: BrokenInvariants::default(),
            histories: HistoryCounts::default(),
            history_content: None,
            refused_senders: None,
            job_sources: JobSources::default(),
            job_files: None,
            application_users: ApplicationUsers::default(),
            applications_on_disk: None,
            waiting_calls: WaitingCalls::default(),
            accounts: Arc::new(Accounts::new()),
            are_acls_on: false,
            failed_notifications: FailedNotifications::default(),
            meters: Meters::default(),
            switches: None,
        };
        (handle, Requests { requests, serving })
    }

    /// Adds what pages and metrics show.
    #[must_use]
    pub fn with_views(self, views: ViewsReader) -> Self {
        Self { views: Some(views), ..self }
    }

    /// Adds what the RPC server counts, and the most tasks of unfinished jobs.
    #[must_use]
    pub(crate) fn with_rpc_meter(self, rpc: RpcMeter, max_tasks: Option<u64>) -> Self {
        Self { meters: self.meters.with_rpc(rpc, max_tasks), ..self }
    }

    #[must_use]
    pub(crate) fn with_store_meter(self, store: StoreMeter) -> Self {
        Self { meters: self.meters.with_store(store), ..self }
    }

    /// Adds where plans of a switch of the scheduler read its files.
    #[must_use]
    pub(crate) fn with_switch_plans(self, sources: LoadOptions) -> Self {
        Self { switches: Some(PlannedSwitches::new(sources)), ..self }
    }

    pub(crate) fn reload_counts(&self) -> ReloadCounts {
        self.meters.reload_counts()
    }

    /// Adds the ledger, for statements and histories.
    #[must_use]
    pub(crate) fn with_ledger(self, ledger: LedgerReader) -> Self {
        Self { ledger: Some(Ledger::new(ledger)), ..self }
    }

    /// Adds the threads for files of jobs, and whether these can be reached, for health.
    #[must_use]
    pub(crate) fn with_health_of_files(self, stuck_threads: StuckThreads, awaited_files: AwaitedFiles) -> Self {
        Self { stuck_threads: Some(stuck_threads), awaited_files, ..self }
    }

    #[must_use]
    pub(crate) fn with_broken_invariants(self, broken_invariants: BrokenInvariants) -> Self {
        Self { broken_invariants, ..self }
    }

    /// Adds the counts of histories, for metrics, and what their files say, for pages.
    #[must_use]
    pub(crate) fn with_histories(self, histories: HistoryCounts, content: HistoryContent) -> Self {
        Self { histories, history_content: Some(content), ..self }
    }

    /// Adds the senders that are refused, for health.
    #[must_use]
    pub(crate) fn with_refused_senders(self, refused_senders: RefusedSenders) -> Self {
        Self { refused_senders: Some(refused_senders), ..self }
    }

    /// Adds the files of jobs; `port`: the one of the web server.
    #[must_use]
    pub(crate) fn with_job_files(self, submissions: &Submissions, rules: UploadRules, port: u16) -> Self {
        Self { job_files: Some(JobFilesOfWeb::new(submissions, rules, port)), ..self }
    }

    /// Adds whose requests about applications are taken, and those in the database.
    #[must_use]
    pub(crate) fn with_applications(self, application_users: ApplicationUsers, on_disk: ApplicationsOnDisk) -> Self {
        Self { application_users, applications_on_disk: Some(on_disk), ..self }
    }

    /// Reads the ledger on a thread of the pool, within the concurrency limit.
    async fn read_ledger<T: Send + 'static>(
        &self,
        limit: impl FnOnce(&Ledger) -> &Arc<Semaphore>,
        read: impl FnOnce(&LedgerReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        match &self.ledger {
            Some(ledger) => ledger.read(limit, read).await,
            None => Err(LedgerUnreadable("there is no ledger".to_owned())),
        }
    }

    /// The views, what is durable now, and how long a page may wait for them.
    fn present_views(&self) -> Result<(&ViewsReader, FactNumber, Duration), OwnerGone> {
        let views = self.views.as_ref().filter(|_| !self.requests.is_closed()).ok_or(OwnerGone)?;
        let store = self.store.borrow();
        let limit = if store.health.is_good() { VIEWS_TIMEOUT } else { FAILING_TIMEOUT };
        Ok((views, store.number, limit))
    }

    /// What the views show, of all that was durable when the call came.
    async fn look(&self, at: LookAt) -> Result<Shown, OwnerGone> {
        let (views, durable, limit) = self.present_views()?;
        views.look(at, durable, limit).await.ok_or(OwnerGone)
    }

    /// The same of a job, and what the owner says beside facts of what is `wanted`.
    pub(super) async fn look_at_job(
        &self,
        job: JobId,
        wanted: Option<Watched>,
    ) -> Result<Option<WatchedJob>, OwnerGone> {
        let (views, durable, limit) = self.present_views()?;
        Ok(views.watched_job(job, wanted, durable, limit).await)
    }

    /// A change was made through this handle and is durable: what is shown from now on has it.
    fn show_change(&self) {
        if let Some(views) = &self.views {
            views.require(self.store.borrow().number);
        }
    }

    pub(super) async fn request_page<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> PagedRequest,
    ) -> Result<T, OwnerGone> {
        self.request(|reply| Request::Paged(request(reply))).await
    }

    pub(super) async fn request_stock(&self, request: StockRequest) -> Result<(), OwnerGone> {
        self.requests.send(Request::Stock(request)).await.map_err(|_| OwnerGone)
    }

    pub(super) async fn ask_application(
        &self,
        request: ApplicationRequest,
        wait: NewsWait,
    ) -> Result<ApplicationReply, OwnerGone> {
        self.request(|reply| Request::Application(Box::new(ApplicationOfWeb { request, wait, reply }))).await
    }

    async fn request<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, OwnerGone> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| OwnerGone)?;
        answer.await.map_err(|_| OwnerGone)
    }
}

impl crate::web::Owner for OwnerHandle {
    async fn market(&self, request: ServletRequest) -> Result<MarketReply, OwnerGone> {
        let answered = self.request(|reply| Request::Market(Box::new(request), reply)).await;
        if let Ok(Ok(Answer::Frame | Answer::Queue(_) | Answer::Job(_))) = &answered {
            self.show_change();
        }
        answered
    }

    fn market_presence(&self) -> MarketPresence {
        self.market.get()
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Ok(self.look(LookAt::Cluster).await?.overview)
    }

    async fn overview_with_jobs(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Ok(self.look(LookAt::Policy).await?.overview)
    }

    async fn shown(&self, at: LookAt) -> Result<Shown, OwnerGone> {
        self.look(at).await
    }

    fn shown_at(&self, generation: Generation) -> Option<Shown> {
        self.views.as_ref()?.at(generation)
    }

    async fn last_explanation(&self, job: JobId) -> Result<Option<LastExplanation>, OwnerGone> {
        Ok(self.views.as_ref().ok_or(OwnerGone)?.explanation(job, VIEWS_TIMEOUT).await)
    }

    async fn ended_job(&self, job: JobId) -> Result<Option<Arc<JobView>>, OwnerGone> {
        Ok(self.read_ended(job).await)
    }

    async fn complete_containers(
        &self,
        application: ApplicationId,
        after: u64,
        failed_only: bool,
        most: usize,
    ) -> Result<Vec<Container>, LedgerUnreadable> {
        self.read_complete(application, after, failed_only, most).await
    }

    async fn job_detail(&self, job: JobId, viewer: Caller) -> Result<Result<Option<JobDetail>, Refusal>, OwnerGone> {
        self.read_detail(job, viewer).await
    }

    async fn jobs(&self, filter: JobFilter, most: usize) -> Result<(Vec<JobSnapshot>, u64), OwnerGone> {
        self.read_jobs(filter, most).await
    }

    async fn live_attempts(&self) -> Result<Vec<LiveAttempt>, OwnerGone> {
        self.read_live_attempts().await
    }

    async fn explain(&self, job: JobId, sees_names: bool) -> Result<Option<Box<Explained>>, OwnerGone> {
        self.request(|reply| Request::Explain(job, sees_names, reply)).await
    }

    async fn tasks(
        &self,
        job: JobId,
        is_running_only: bool,
        viewer: Option<Caller>,
        first: u64,
    ) -> Result<Result<Option<JobTasks>, Refusal>, OwnerGone> {
        self.read_tasks(job, is_running_only, viewer, first).await
    }

    async fn workers(&self) -> Result<Workers, OwnerGone> {
        self.read_workers().await
    }

    async fn change_starts(
        &self,
        part: ClusterPart,
        is_stopped: bool,
        caller: Caller,
    ) -> Result<Result<MarketReply, Refusal>, OwnerGone> {
        let answered = self.request_starts(part, is_stopped, caller).await;
        self.show_change();
        answered
    }

    async fn change_job(
        &self,
        job: JobId,
        change: JobChange,
        caller: Caller,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        let answered = self.request(|reply| Request::ChangeJob(job, change, caller, reply)).await;
        self.show_change();
        answered
    }

    async fn check_view_logs(&self, attempt: AttemptId, user: Arc<str>) -> Result<Result<(), Refusal>, OwnerGone> {
        self.request(|reply| Request::CheckViewLogs(attempt, user, reply)).await
    }

    async fn read_by_call(&self, read: SignedRead) -> Result<Vec<u8>, ReadRefusal> {
        answer_read(read, async |read| self.requests.send(Request::Read(read)).await.map_err(|_| OwnerGone)).await
    }

    async fn log_ticket(&self, attempt: AttemptId) -> Result<Option<LogTicket>, LedgerUnreadable> {
        let Some(jobs) = self.job_sources.reader() else { return Ok(None) };
        let key = self.read_ledger(|ledger| &ledger.statements, move |_| jobs.log_key(attempt.task.job)).await?;
        let expires_ms = wall_ms().saturating_add(LOG_TICKET_MS);
        Ok(key.map(|key| LogTicket { attempt, expires_ms, ticket: key.ticket(attempt, expires_ms) }))
    }

    async fn what_if(&self, question: DeadlineQuestion) -> Result<Option<WhatIfAnswer>, OwnerGone> {
        self.request(|reply| Request::WhatIf(question, reply)).await
    }

    async fn plan_switch(&self, question: PlanQuestion) -> Result<SwitchPlan, PlanRefusal> {
        let switches = self.switches.as_ref().ok_or(OwnerGone)?;
        let read = switches.read(question, self.market.get() != MarketPresence::Absent).await?;
        Ok(self.request(|reply| Request::PlanSwitch(Box::new(read), reply)).await?)
    }

    async fn quote_order(
        &self,
        queue: QueueName,
        max_rate: Credits,
        question: DeadlineQuestion,
    ) -> Result<Result<OrderQuote, MarketError>, OwnerGone> {
        let question = Box::new((queue, max_rate, question));
        self.request(|reply| Request::QuoteOrder(question, reply)).await
    }

    async fn statement(&self, queue: QueueName, page: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.statement(&queue, page)).await
    }

    async fn price_history(&self, page: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.prices, move |reader| reader.price_history(page)).await
    }

    async fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.spending_history(&queue, page)).await
    }

    async fn report(&self, request: ReportRequest) -> Result<Report, LedgerUnreadable> {
        let now_ms = crate::clock::wall_ms();
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.report(&request, now_ms)).await
    }

    async fn begin_upload(&self, upload: NewUpload) -> Result<UploadSink, FileRefusal> {
        let uploads = &self.job_files.as_ref().ok_or_else(no_job_files)?.uploads;
        Uploads::check_user(&upload.user)?;
        let (job, user) = (upload.file.job, upload.user.clone());
        let has_begun = uploads.has(job, &user);
        let checked = self.request(|reply| Request::CheckUpload(job, user, has_begun, reply)).await;
        let checked = checked.map_err(|gone| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, gone))?;
        checked.map_err(refused_upload)?;
        uploads.begin(upload)
    }

    fn failed_notification(&self, job: JobId) -> Option<String> {
        self.failed_notifications.of(job)
    }

    fn upload_rules(&self) -> UploadRules {
        self.job_files.as_ref().map(|files| files.rules.clone()).unwrap_or_default()
    }

    async fn job_file(&self, request: JobFileRequest) -> Result<JobFile, FileRefusal> {
        let JobFilesOfWeb { sender, port, .. } = self.job_files.as_ref().ok_or_else(no_job_files)?;
        sender.send(request, *port).await
    }

    async fn acl(&self) -> Arc<Acl> {
        match &self.acl {
            Some(acl) => acl.latest().await,
            None => Arc::default(),
        }
    }

    fn own_work(&self) -> Option<OwnWork> {
        let most = self.requests.max_capacity();
        self.meters.read((most.saturating_sub(self.requests.capacity()) as u64, most as u64))
    }

    fn health(&self) -> Health {
        let is_alive = !self.requests.is_closed();
        let is_serving = self.serving.is_set();
        let Durable { health: store, missed_updates, .. } = self.store.borrow().clone();
        let store_error = missed_updates.complaint();
        let acl_error = self.acl.as_ref().and_then(|acl| acl.error()).or_else(|| self.application_users.error());
        let budget_error = self.budget.as_ref().and_then(BudgetStatus::last_error);
        let defect = self.broken_invariants.complaint();
        let awaited = self.awaited_files.reason();
        let can_stage = awaited.is_none();
        let are_all_stuck = self.stuck_threads.as_ref().is_some_and(StuckThreads::are_all);
        let refused_senders = self.refused_senders.as_ref().and_then(RefusedSenders::complaint);
        let complaints = [&refused_senders, &defect, &store_error, &acl_error, &budget_error];
        let text = HealthText {
            is_alive,
            is_serving,
            store: &store,
            stuck: self.stuck_threads.as_ref(),
            awaited: awaited.as_deref(),
            complaint: complaints.into_iter().flatten().next().map(String::as_str),
        };
        let text = text.to_string();
        let is_ready = is_alive && is_serving && store.is_good() && !are_all_stuck && can_stage;
        Health {
            is_alive,
            is_ready,
            text,
            acl_error,
            unwritable: complaint_of(&store),
            at_ms: wall_ms(),
            budgets: self.budget.as_ref().map(BudgetStatus::read),
            budget_error,
            store_error,
            rowless_updates: missed_updates.updates,
            waiting_calls: self.waiting_calls.count(),
            refused_senders,
            defect,
            invariant_violations: self.broken_invariants.violations(),
            histories: self.histories.read(),
        }
    }
}

impl Requests {
    /// The flag for whether calls are taken.
    pub(crate) fn serving(&self) -> ServingFlag {
        self.serving.clone()
    }

    /// Answers requests, one per turn. Completes when all handles are dropped; or, after `stopping` completes, when all
    /// queued requests are answered.
    pub(crate) async fn answer(
        mut self,
        owner: Rc<Owner>,
        dispatcher: Rc<Dispatcher>,
        waits: Rc<ApplicationWaits>,
        stopping: impl Future<Output = ()>,
    ) {
        let mut in_hand = JoinSet::new();
        let mut stopping = pin!(stopping);
        let mut is_stopping = false;
        loop {
            let request = tokio::select! {
                request = self.requests.recv() => request,
                Some(_) = in_hand.join_next() => continue,
                () = &mut stopping, if !is_stopping => {
                    is_stopping = true;
                    self.requests.close();
                    waits.end_all();
                    continue;
                }
            };
            match request {
                Some(Request::Market(request, reply)) if matches!(request.query.kind, OperationKind::OfJob(_)) => {
                    job_request(&owner, &dispatcher, *request, reply, &mut in_hand);
                }
                Some(Request::CheckViewLogs(attempt, user, reply)) => {
                    check_view_logs(&owner, &dispatcher, attempt, user, reply, &mut in_hand);
                }
                Some(Request::Market(request, reply)) => market(&owner, *request, reply, &mut in_hand),
                Some(Request::Explain(job, sees_names, reply)) => {
                    explain(&owner, job, sees_names, reply, &mut in_hand);
                }
                Some(Request::ChangeJob(job, change, caller, reply)) => {
                    change_job(&owner, &dispatcher, (job, change, caller), reply, &mut in_hand);
                }
                Some(Request::PlanSwitch(read, reply)) => answer_plan(&owner, &read, reply, &mut in_hand),
                Some(Request::Paged(request)) => request.answer(&owner, &mut in_hand),
                Some(Request::Stock(request)) => request.make(&owner, &dispatcher, &mut in_hand),
                Some(Request::Read(request)) => request.make(&dispatcher, &mut in_hand),
                Some(Request::Application(request)) => request.ask(&owner, &dispatcher, &waits, &mut in_hand),
                Some(Request::CheckUpload(job, user, has_begun, reply)) => {
                    // The requester may have left.
                    let _ = reply.send(check_upload(&owner, job, &user, has_begun));
                }
                Some(Request::QuoteOrder(asked, reply)) => {
                    let ((queue, max_rate, question), now) = (*asked, owner.clock().now());
                    let quote = owner.with_engine(|engine| engine.quote_order(&queue, max_rate, &question, now));
                    let _ = reply.send(quote);
                }
                Some(Request::WhatIf(question, reply)) => {
                    let now = owner.clock().now();
                    let _ = reply.send(owner.with_engine(|engine| engine.what_if(&question, now)));
                }
                None => break,
            }
            // Heartbeats go first.
            tokio::task::yield_now().await;
        }
        while in_hand.join_next().await.is_some() {}
    }
}

#[cfg(test)]
#[path = "tests/handle.rs"]
mod tests;
