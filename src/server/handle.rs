//! Access to the owner from other threads.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

use crate::api::{
    JobCounter, JobDetail, JobEvent, JobTasks, LiveAttempt, LogTicket, OrderQuote, PriceHistory, Report,
    SpendingHistory, Statement, SwitchPlan, TaskAttempt, UploadRules, WhatIfAnswer, Workers,
};
use crate::clock::wall_ms;
use crate::config::Settings;
use crate::engine::{
    Caller, ClusterSnapshot, Container, DeadlineQuestion, Explained, JobSnapshot, Read, Refusal, TaskCursor, TaskPage,
    Watched,
};
use crate::ipc::RpcMeter;
use crate::market::{
    Acl, Answer, HistoryPage, MarketError, OperationKind, ReportRequest, ServletRequest, StatementPage,
};
use crate::model::{ApplicationId, AttemptId, Credits, FactNumber, JobId, Kind, LOG_TICKET_MS, QueueName};
use crate::store::{BudgetStatus, Durable, FinishedJobReader, LedgerReader, StoreError, StoreMeter};
use crate::views::{Generation, JobView, LastExplanation, LookAt, Shown, Views, ViewsReader, WatchedJob};
use crate::web::{
    ClusterPart, FileRefusal, Health, JobChange, JobFile, JobFileRequest, JobFilter, JobPartsOwner, LedgerUnreadable,
    MarketPresence, MarketReply, NewUpload, OwnWork, OwnerGone, PlanQuestion, PlanRefusal, ReadRefusal, SignedRead,
    UploadSink,
};

use super::accounts::Accounts;
use super::acl_file::AclFile;
use super::application_requests::ApplicationUsers;
use super::application_waits::WaitingCalls;
use super::applications_on_disk::ApplicationsOnDisk;
use super::broken_invariants::BrokenInvariants;
use super::end_notification::FailedNotifications;
use super::health::HealthSources;
use super::history::{HistoryContent, HistoryWriter};
use super::job_files_of_web::{JobFilesOfWeb, no_job_files, refused_upload};
use super::job_requests::{change_job, change_starts, check_view_logs, explain};
use super::ledger_reads::LedgerReads;
use super::market_request::{job_request, market_request};
use super::meters::{Meters, ReloadCounts};
use super::owner_requests::{RequestSender, Requests};
use super::quarantine::RefusedSenders;
use super::serving_flag::ServingFlag;
use super::shared_presence::SharedPresence;
use super::shown_jobs::{
    JobSources, MOST_BYTES, MOST_LISTED, MOST_LIVE, counters_of, detail_of, events_of, stored_attempts,
};
use super::signed_reads::answer_read;
use super::submission::{MapInputs, Submissions, Uploads};
use super::switch_plans::{PlannedSwitches, answer_plan};
use super::volatile_source::{FAILING_TIMEOUT, VIEWS_TIMEOUT};

/// Sends requests to the owner, and answers what needs no owner. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub struct OwnerHandle {
    pub(super) requests: RequestSender,
    market: SharedPresence,
    acl: Option<Arc<AclFile>>,
    store: watch::Receiver<Durable>,
    views: Option<ViewsReader>,
    ledger: Option<LedgerReads>,
    health: HealthSources,
    pub(super) history_content: Option<HistoryContent>,
    pub(super) job_sources: JobSources,
    map_inputs: MapInputs,
    job_files: Option<JobFilesOfWeb>,
    pub(super) application_users: ApplicationUsers,
    pub(super) applications_on_disk: Option<ApplicationsOnDisk>,
    pub(super) waiting_calls: WaitingCalls,
    pub(super) accounts: Arc<Accounts>,
    pub(super) are_acls_on: bool,
    failed_notifications: FailedNotifications,
    meters: Meters,
    switches: PlannedSwitches,
}

/// What a handle is made of.
pub(crate) struct HandleParts<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) store: watch::Receiver<Durable>,
    pub(crate) market: SharedPresence,
    /// Users that may sign; none without a market.
    pub(crate) acl: Option<Arc<AclFile>>,
    /// State of the budget file; none without a market.
    pub(crate) budget: Option<BudgetStatus>,
    pub(crate) views: Option<ViewsReader>,
    pub(crate) web: Option<WebSources>,
    pub(crate) submissions: &'a Submissions,
    pub(crate) history_writer: &'a HistoryWriter,
    pub(crate) failed_notifications: FailedNotifications,
    pub(crate) broken_invariants: BrokenInvariants,
    pub(crate) rpc: RpcMeter,
}

/// What a session opens for requests of the web.
pub struct WebSources {
    pub(crate) ledger: LedgerReader,
    /// The jobs in the database: those of before a restart, and keys of tickets.
    pub(crate) finished_jobs: FinishedJobReader,
    pub(crate) store_meter: StoreMeter,
    pub(crate) application_users: ApplicationUsers,
    pub(crate) applications_on_disk: ApplicationsOnDisk,
    pub(crate) refused_senders: RefusedSenders,
    pub(crate) upload_rules: UploadRules,
    /// The port of the web server.
    pub(crate) port: u16,
}

/// Most workers in an answer.
const MOST_WORKERS: usize = 100_000;

/// A value that shows no fact.
fn without_facts<T>(value: T) -> Read<T> {
    Read { value, wait_for: FactNumber::default() }
}

impl OwnerHandle {
    /// A handle, and the requests that come by it.
    pub(crate) fn new(parts: HandleParts<'_>) -> (Self, Requests) {
        let HandleParts { settings, store, market, acl, submissions, history_writer, web, .. } = parts;
        let serving = ServingFlag::default();
        let (sender, requests) = Requests::channel(serving.clone());
        let waiting_calls = WaitingCalls::default();
        let web = web.as_ref();
        let application_users = web.map(|web| web.application_users.clone()).unwrap_or_default();
        let health = HealthSources {
            store: store.clone(),
            serving,
            acl: acl.clone(),
            application_users: application_users.clone(),
            budget: parts.budget,
            stuck_threads: submissions.stuck(),
            awaited_files: submissions.awaited_files().clone(),
            broken_invariants: parts.broken_invariants,
            histories: history_writer.counts(),
            refused_senders: web.map(|web| web.refused_senders.clone()),
            waiting_calls: waiting_calls.clone(),
        };
        let meters = Meters {
            rpc: parts.rpc,
            store: web.map(|web| web.store_meter.clone()),
            reloads: ReloadCounts::default(),
            max_tasks: settings.job_limits.max_live_tasks,
        };
        let handle = Self {
            requests: sender,
            market,
            acl,
            store,
            views: parts.views,
            ledger: web.map(|web| LedgerReads::new(web.ledger.clone())),
            health,
            history_content: Some(history_writer.content()),
            job_sources: JobSources::new(web.map(|web| web.finished_jobs.clone())),
            map_inputs: MapInputs::new(settings),
            job_files: web.map(|web| JobFilesOfWeb::new(submissions, web.upload_rules.clone(), web.port)),
            application_users,
            applications_on_disk: web.map(|web| web.applications_on_disk.clone()),
            waiting_calls,
            accounts: Arc::new(Accounts::new()),
            are_acls_on: settings.queues.acls_enabled,
            failed_notifications: parts.failed_notifications,
            meters,
            switches: PlannedSwitches::new(settings.sources.clone()),
        };
        (handle, requests)
    }

    pub(crate) fn reload_counts(&self) -> ReloadCounts {
        self.meters.reloads.clone()
    }

    /// Reads the ledger on a thread of the pool, within the concurrency limit.
    async fn read_ledger<T: Send + 'static>(
        &self,
        limit: impl FnOnce(&LedgerReads) -> &Arc<Semaphore>,
        read: impl FnOnce(&LedgerReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerUnreadable> {
        match &self.ledger {
            Some(ledger) => ledger.read(limit, read).await,
            None => Err(LedgerUnreadable("there is no ledger".to_owned())),
        }
    }

    /// What facts have made, as it was published last.
    pub(super) fn shown_views(&self) -> Option<Views> {
        self.views.as_ref().map(ViewsReader::views)
    }

    /// The views, what is durable now, and how long a page may wait for them.
    fn present_views(&self) -> Result<(&ViewsReader, FactNumber, Duration), OwnerGone> {
        let views = self.views.as_ref().filter(|_| !self.requests.is_closed()).ok_or(OwnerGone)?;
        let store = self.store.borrow();
        let limit = if store.health.is_good() { VIEWS_TIMEOUT } else { FAILING_TIMEOUT };
        Ok((views, store.number, limit))
    }

    /// What the views show of a job, and what the owner says beside facts of what is `wanted`.
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
}

impl crate::web::Owner for OwnerHandle {
    async fn market(&self, request: ServletRequest) -> Result<MarketReply, OwnerGone> {
        let answered = match request.query.kind {
            OperationKind::OfJob(_) => self.requests.ask(|thread| job_request(thread, request)).await,
            _ => self.requests.ask(|thread| market_request(thread, request)).await,
        };
        if let Ok(Ok(Answer::Frame | Answer::Queue(_) | Answer::Job(_))) = &answered {
            self.show_change();
        }
        answered
    }

    fn market_presence(&self) -> MarketPresence {
        self.market.get()
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Ok(self.shown(LookAt::Cluster).await?.overview)
    }

    /// Of all that was durable when the call came.
    async fn shown(&self, at: LookAt) -> Result<Shown, OwnerGone> {
        let (views, durable, limit) = self.present_views()?;
        views.look(at, durable, limit).await.ok_or(OwnerGone)
    }

    fn shown_at(&self, generation: Generation) -> Option<Shown> {
        self.views.as_ref()?.at(generation)
    }

    async fn last_explanation(&self, job: JobId) -> Result<Option<LastExplanation>, OwnerGone> {
        Ok(self.views.as_ref().ok_or(OwnerGone)?.explanation(job, VIEWS_TIMEOUT).await)
    }

    async fn ended_job(&self, job: JobId) -> Result<Option<Arc<JobView>>, OwnerGone> {
        Ok(self.job_sources.finished(job).await.map(|stored| Arc::new(JobView::of_stored(&stored))))
    }

    async fn complete_containers(
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

    async fn job_detail(&self, job: JobId, viewer: Caller) -> Result<Result<Option<JobDetail>, Refusal>, OwnerGone> {
        let views = self.shown_views().ok_or(OwnerGone)?;
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
        let (known, is_over) = match known.filter(|known| known.finish_ms().is_none()) {
            Some(known) => (Some(known), false),
            None => (self.ended_job(job).await?, true),
        };
        let Some(known) = known else { return Ok(Ok(None)) };
        detail_of(known, is_over).await.map(|detail| Ok(Some(detail)))
    }

    async fn jobs(&self, filter: JobFilter, most: usize) -> Result<(Vec<JobSnapshot>, u64), OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.clone();
        spawn_blocking(move || views.jobs(|job| filter.passes(job), most)).await.map_err(|_| OwnerGone)
    }

    async fn live_attempts(&self) -> Result<Vec<LiveAttempt>, OwnerGone> {
        let views = self.shown_views().ok_or(OwnerGone)?;
        spawn_blocking(move || views.live_attempts(MOST_LIVE)).await.map_err(|_| OwnerGone)
    }

    async fn explain(&self, job: JobId, sees_names: bool) -> Result<Option<Box<Explained>>, OwnerGone> {
        self.requests.ask(move |thread| explain(thread, job, sees_names)).await
    }

    /// Heartbeats go between two pages. Jobs of before a restart are read from the database, what maps read from the job's own file.
    async fn tasks(
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
            let page = self.requests.read(move |engine, _| {
                match engine.task_page(job, is_running_only, viewer.as_ref(), from) {
                    Ok(Read { value, wait_for }) => Read { value: Ok(value), wait_for },
                    Err(refusal) => without_facts(Err(refusal)),
                }
            });
            let mut page = match page.await? {
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
        let next = next.map(|TaskCursor(next)| next);
        let (attempts, next) = match () {
            () if is_in_store_alone => {
                let stored = self.job_sources.finished(job).await.filter(|_| !is_running_only);
                stored.map(|stored| stored_attempts(&stored, TaskCursor(first))).unwrap_or_default()
            }
            () if is_over => (attempts.into_iter().map(|(attempt, _)| attempt).collect(), next),
            () => (self.map_inputs.add_to(job, &user, submit_dir, attempts).await, next),
        };
        Ok(Ok(Some(JobTasks { job, state: state.to_owned(), user, output, attempts, next })))
    }

    async fn workers(&self) -> Result<Workers, OwnerGone> {
        let mut workers = Vec::new();
        let mut after: Option<Arc<str>> = None;
        loop {
            let mut page = self.requests.read(move |engine, now| engine.worker_page(after.as_deref(), now)).await?;
            workers.append(&mut page.workers);
            let is_full = workers.len() >= MOST_WORKERS;
            match page.next {
                Some(next) if !is_full => after = Some(next),
                next => return Ok(Workers { at_ms: wall_ms(), workers, has_more: next.is_some() }),
            }
        }
    }

    async fn change_starts(
        &self,
        part: ClusterPart,
        is_stopped: bool,
        caller: Caller,
    ) -> Result<Result<MarketReply, Refusal>, OwnerGone> {
        let answered = self.requests.ask(move |thread| change_starts(thread, part, is_stopped, caller)).await;
        self.show_change();
        answered
    }

    async fn change_job(
        &self,
        job: JobId,
        change: JobChange,
        caller: Caller,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        let answered = self.requests.ask(move |thread| change_job(thread, job, change, caller)).await;
        self.show_change();
        answered
    }

    async fn check_view_logs(&self, attempt: AttemptId, user: Arc<str>) -> Result<Result<(), Refusal>, OwnerGone> {
        self.requests.ask(move |thread| check_view_logs(thread, attempt, user)).await
    }

    async fn read_by_call(&self, read: SignedRead) -> Result<Vec<u8>, ReadRefusal> {
        answer_read(&self.requests, read).await
    }

    async fn log_ticket(&self, attempt: AttemptId) -> Result<Option<LogTicket>, LedgerUnreadable> {
        let Some(jobs) = self.job_sources.reader() else { return Ok(None) };
        let key = self.read_ledger(|ledger| &ledger.statements, move |_| jobs.log_key(attempt.task.job)).await?;
        let expires_ms = wall_ms().saturating_add(LOG_TICKET_MS);
        Ok(key.map(|key| LogTicket { attempt, expires_ms, ticket: key.ticket(attempt, expires_ms) }))
    }

    async fn what_if(&self, question: DeadlineQuestion) -> Result<Option<WhatIfAnswer>, OwnerGone> {
        self.requests.read(move |engine, now| without_facts(engine.what_if(&question, now))).await
    }

    async fn plan_switch(&self, question: PlanQuestion) -> Result<SwitchPlan, PlanRefusal> {
        let read = self.switches.read(question, self.market.get() != MarketPresence::Absent).await?;
        Ok(self.requests.ask(move |thread| answer_plan(thread, &read)).await?)
    }

    async fn quote_order(
        &self,
        queue: QueueName,
        max_rate: Credits,
        question: DeadlineQuestion,
    ) -> Result<Result<OrderQuote, MarketError>, OwnerGone> {
        let quote =
            self.requests.read(move |engine, now| without_facts(engine.quote_order(&queue, max_rate, &question, now)));
        quote.await
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
        let now_ms = wall_ms();
        self.read_ledger(|ledger| &ledger.statements, move |reader| reader.report(&request, now_ms)).await
    }

    async fn begin_upload(&self, upload: NewUpload) -> Result<UploadSink, FileRefusal> {
        let uploads = &self.job_files.as_ref().ok_or_else(no_job_files)?.uploads;
        Uploads::check_user(&upload.user)?;
        let (job, user) = (upload.file.job, upload.user.clone());
        let has_begun = uploads.has(job, &user);
        let checked = self.requests.read(move |engine, _| {
            without_facts(match has_begun && engine.is_id_of_before(job) {
                true => Ok(()),
                false => engine.check_upload(job, &user),
            })
        });
        let checked = checked.await.map_err(|gone| FileRefusal::new(StatusCode::SERVICE_UNAVAILABLE, gone))?;
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
        self.meters.read(self.requests.waiting())
    }

    fn health(&self) -> Health {
        self.health.read(!self.requests.is_closed())
    }
}

impl JobPartsOwner for OwnerHandle {
    async fn job_counters(&self, job: JobId) -> Result<Option<Vec<JobCounter>>, LedgerUnreadable> {
        self.job_sources.read_job(move |reader| counters_of(reader, job)).await
    }

    async fn job_events(&self, job: JobId, first: usize, most: usize) -> Result<Vec<JobEvent>, LedgerUnreadable> {
        self.job_sources.read_job(move |reader| events_of(reader, job, first, most)).await
    }
}
