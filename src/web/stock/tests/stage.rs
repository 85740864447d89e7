//! The cluster of the recorded answers, as plain values, behind the addresses of the web server.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::super::super::state::JobForms;
use crate::api::{PriceHistory, Report, SpendingHistory, Statement, WhatIfAnswer};
use crate::engine::{
    Caller, ClusterSnapshot, DeadlineQuestion, JobSnapshot, LiveJob, QueueSnapshot, Refusal, ReportedCounts,
    TrackerSnapshot, WindowCounts,
};
use crate::http::{LocalCaller, ServedNames, WebLimits};
use crate::market::{HistoryPage, ReportRequest, StatementPage};
use crate::model::{AttemptState, JobId, Kind, PastSearch, PerKind, Priority, QueueName, RunState, TaskId};
use crate::views::ListedState;
use crate::web::applications::ApplicationOwner;
use crate::web::owner::{Health, JobChange, LedgerUnreadable, MarketPresence, Owner, OwnerGone};
use crate::web::state::{ServedPorts, WebState};
use crate::web::stock::{
    FailureFilter, StockAttempt, StockAttempts, StockCounter, StockCounterGroup, StockFailures, StockJob, StockOwner,
    StockPast, StockPastJobs, StockPlace, StockRead, StockSettings, StockTally, StockTask, StockTasks, TASKS_PER_PAGE,
    TaskFilter, TaskList,
};

/// 22 November 2026, 03:50:00 UTC.
pub(super) const START: i64 = 1_795_319_400_000;

/// When the recorded cluster said what it says, ms after that minute.
pub(super) fn at(minute: i64, second: i64) -> i64 {
    START + (minute - 50) * 60_000 + second * 1_000
}

/// Answers with these jobs and this snapshot.
#[derive(Clone, Default)]
pub(super) struct Recorded {
    pub(super) overview: ClusterSnapshot,
    pub(super) jobs: Vec<StockJob>,
    pub(super) tasks: Vec<StockTask>,
    pub(super) attempts: Vec<StockAttempt>,
    pub(super) split_nodes: Vec<String>,
    pub(super) counters: Vec<StockCounterGroup>,
    pub(super) now_ms: i64,
    pub(super) changes: Arc<std::sync::Mutex<Vec<(JobId, JobChange)>>>,
    pub(super) refuses: bool,
    /// Jobs that let no caller change them.
    pub(super) closed: Vec<JobId>,
    pub(super) past: StockPastJobs,
    pub(super) past_job: Option<StockPast>,
    pub(super) history: Option<Vec<u8>>,
    pub(super) conf: Option<Vec<(String, String)>>,
    pub(super) settings: StockSettings,
    /// Who asks, at the Unix socket.
    pub(super) local_caller: Option<LocalCaller>,
    pub(super) market: Option<MarketPresence>,
    /// The users that access lists name for every job; none: they are off.
    pub(super) members: Option<&'static [&'static str]>,
    /// What was asked of jobs that are over.
    pub(super) searched: Arc<std::sync::Mutex<Vec<(PastSearch, u64, u64)>>>,
}

/// What an address answered.
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) kind: String,
    pub(super) location: Option<String>,
    pub(super) cookie: Option<String>,
    pub(super) body: String,
}

impl Recorded {
    pub(super) async fn get(&self, target: &str) -> Answered {
        self.ask("GET", target, "", &[]).await
    }

    pub(super) async fn post(&self, target: &str, form: &str) -> Answered {
        self.ask("POST", target, form, &[("content-type", "application/x-www-form-urlencoded")]).await
    }

    pub(super) async fn ask(&self, method: &str, target: &str, body: &str, headers: &[(&str, &str)]) -> Answered {
        self.served(method, target, body, headers, JobForms::ForAll, false).await
    }

    pub(super) async fn served(
        &self,
        method: &str,
        target: &str,
        body: &str,
        headers: &[(&str, &str)],
        job_forms: JobForms,
        are_acls_on: bool,
    ) -> Answered {
        let state = WebState {
            owner: self.clone(),
            names: ServedNames::new(Some(["master".to_owned()]), "jobtracker.web.hosts"),
            host: "master".to_owned(),
            shows_money: true,
            job_forms,
            stock: StockSettings { host: "localhost".to_owned(), are_acls_on, ..self.settings.clone() },
            job_page_prefix: String::new(),
            container_slot: crate::model::Capability::new(1_024, 1),
            sessions: crate::web::Sessions::new(crate::model::SessionKey::new([7; 32]), 60),
            streams: crate::web::EventStreams::default(),
            plays: None,
            ports: ServedPorts::default(),
            limits: WebLimits::default(),
        };
        let router = crate::web::routes::routes(Arc::new(state));
        let mut request = Request::builder().method(method).uri(target).header("host", "master");
        if let Some(caller) = self.local_caller {
            request = request.extension(caller);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let response = TowerToHyperService::new(router).call(request).await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (status, kind, location, cookie) =
            (response.status(), header("content-type").unwrap_or_default(), header("location"), header("set-cookie"));
        let body = to_bytes(response.into_body(), 16 << 20).await.unwrap();
        Answered { status, kind, location, cookie, body: String::from_utf8(body.to_vec()).unwrap() }
    }
}

pub(super) fn tally(total: u32, pending: u32, running: u32, finished: u32, killed: u32) -> StockTally {
    StockTally { total, pending, running, finished, killed, ..StockTally::default() }
}

/// A job of the recorded run.
pub(super) fn job(number: i32, name: &str, state: RunState) -> StockJob {
    let id: JobId = format!("job_202611220350_{number:04}").parse().unwrap();
    StockJob {
        id,
        name: name.to_owned(),
        user: "root".to_owned(),
        queue: "default".to_owned(),
        priority: Priority::Normal,
        state,
        job_file: format!("file:/tmp/hadoop-mapred/mapred/staging/{}/.staging/{id}/job.xml", "root"),
        submit_host: Some("client".to_owned()),
        submit_address: Some("127.0.0.1".to_owned()),
        acls: None,
        submit_ms: at(50, 33),
        finish_ms: None,
        failure_info: "NA".to_owned(),
        scheduling_info: None,
        progress: PerKind::default(),
        work: PerKind::default(),
        setup: tally(2, 0, 0, 1, 1),
        cleanup: tally(2, 2, 0, 0, 0),
        flaky: Vec::new(),
        counters: Vec::new(),
        graphs: PerKind::default(),
    }
}

/// The counters in a recorded JSON body, of jobs and of tasks.
pub(super) fn counters_of(body: &str) -> Vec<StockCounterGroup> {
    let value: serde_json::Value = serde_json::from_str(body.trim()).unwrap();
    let groups = value.get("jobCounterGroupsInfo").or_else(|| value.get("taskCounterGroupsInfo")).unwrap();
    let number = |counter: &serde_json::Value, name: &str| counter.get(name).and_then(|value| value.as_i64());
    let groups = groups.as_array().unwrap().iter().map(|group| {
        let counters = group.get("jobCountersInfo").or_else(|| group.get("taskCountersInfo")).unwrap();
        let counters = counters.as_array().unwrap().iter().map(|counter| StockCounter {
            name: counter["name"].as_str().unwrap().to_owned(),
            map_value: number(counter, "mapValue").unwrap_or(0),
            reduce_value: number(counter, "reduceValue").unwrap_or(0),
            total_value: number(counter, "totalValue").or_else(|| number(counter, "value")).unwrap(),
        });
        StockCounterGroup { name: group["groupName"].as_str().unwrap().to_owned(), counters: counters.collect() }
    });
    groups.collect()
}

/// A row of the lists.
pub(super) fn row(job: &StockJob) -> JobSnapshot {
    JobSnapshot {
        id: job.id,
        name: job.name.clone(),
        user: job.user.clone(),
        queue: job.queue.clone(),
        priority: job.priority,
        state: job.state,
        submit_ms: job.submit_ms,
        finish_ms: job.finish_ms,
        tasks: PerKind::new(job.work.map.total, job.work.reduce.total),
        finished: PerKind::new(job.work.map.finished, job.work.reduce.finished),
        running: PerKind::default(),
        live: LiveJob { progress: job.progress, ..LiveJob::default() },
        cost: None,
        failure_info: if job.failure_info == "NA" { String::new() } else { job.failure_info.clone() },
    }
}

pub(super) fn queue(name: &str) -> QueueSnapshot {
    QueueSnapshot { name: name.to_owned(), ..QueueSnapshot::default() }
}

/// A tracker: attempts, its own failures, and tasks that it was given and that succeeded.
pub(super) fn tracker(host: &str, port: i32, attempts: u32, failures: i32, tasks: [u64; 2]) -> TrackerSnapshot {
    let windows = tasks.map(|count| WindowCounts { since_start: count, last_day: 0, last_hour: count });
    TrackerSnapshot {
        name: format!("tracker_{host}:streaming_only/127.0.0.1:{port}"),
        host: host.to_owned(),
        http_port: port,
        slots: PerKind::new(2, 2),
        healthy: true,
        reported: ReportedCounts { attempts, task_failures: failures, ..ReportedCounts::default() },
        task_windows: windows,
        ..TrackerSnapshot::default()
    }
}

/// An attempt on a worker.
pub(super) fn attempt(id: &str, state: AttemptState, (host, port): (&str, u16), started_ms: i64) -> StockAttempt {
    StockAttempt {
        id: id.parse().unwrap(),
        state,
        progress: if state == AttemptState::Succeeded { 1.0 } else { 0.0 },
        start_ms: started_ms,
        shuffle_ms: 0,
        sort_ms: 0,
        finish_ms: if state == AttemptState::Running { 0 } else { started_ms },
        diagnostics: Vec::new(),
        tracker: StockPlace::new(
            format!("tracker_{host}:streaming_only/127.0.0.1:{port}"),
            Some(host.to_owned()),
            port,
            format!("/default-rack/{host}"),
        ),
        cleanup_tracker: None,
        counters: 0,
    }
}

impl ApplicationOwner for Recorded {}

impl crate::web::JobPartsOwner for Recorded {}

impl StockOwner for Recorded {
    async fn stock_past(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockPast> {
        Ok(self.lets_see(viewer.as_ref()).map(|()| self.past_job.clone().filter(|past| past.job.id == job)))
    }

    async fn stock_history_place(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Option<String>> {
        let past = self.past_job.as_ref().filter(|past| past.job.id == job);
        let over = past.map(|past| Some(past.log_file.clone()));
        let is_known = self.jobs.iter().any(|known| known.id == job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| over.or(is_known.then_some(None))))
    }

    async fn stock_history_file(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Vec<u8>> {
        let is_known = self.past_job.as_ref().is_some_and(|past| past.job.id == job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| self.history.clone().filter(|_| is_known)))
    }

    async fn stock_conf(&self, job: JobId, viewer: Option<Caller>) -> StockRead<Vec<(String, String)>> {
        let is_known = self.jobs.iter().any(|known| known.id == job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| self.conf.clone().filter(|_| is_known)))
    }

    async fn stock_past_jobs(&self, search: PastSearch, first: u64, count: u64) -> Result<StockPastJobs, OwnerGone> {
        self.searched.lock().unwrap().push((search, first, count));
        Ok(self.past.clone())
    }

    async fn is_administrator(&self, caller: Caller) -> Result<bool, OwnerGone> {
        Ok(&*caller.user == "root")
    }

    async fn stock_job(&self, job: JobId, viewer: Option<Caller>) -> StockRead<StockJob> {
        Ok(self.lets_see(viewer.as_ref()).map(|()| self.jobs.iter().find(|known| known.id == job).cloned()))
    }

    async fn stock_tasks(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        (list, filter): (TaskList, TaskFilter),
        start: u32,
    ) -> StockRead<StockTasks> {
        let kind = if list == TaskList::Work(Kind::Reduce) { Kind::Reduce } else { Kind::Map };
        let of_list = |task: &&StockTask| match filter {
            TaskFilter::All => true,
            TaskFilter::Listed(ListedState::Running) => task.finish_ms == 0,
            TaskFilter::Listed(ListedState::Complete) => task.finish_ms > 0,
            _ => false,
        };
        let tasks: Vec<_> = self.tasks.iter().filter(|task| task.id.kind == kind).filter(of_list).cloned().collect();
        let total = u32::try_from(tasks.len()).unwrap();
        let page = tasks.into_iter().skip(start as usize).take(TASKS_PER_PAGE as usize).collect();
        let is_known = self.jobs.iter().any(|known| known.id == job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| is_known.then_some(StockTasks { tasks: page, total })))
    }

    async fn stock_attempts(&self, task: TaskId, viewer: Option<Caller>) -> StockRead<Option<StockAttempts>> {
        let attempts: Vec<_> = self.attempts.iter().filter(|attempt| attempt.id.task == task).cloned().collect();
        let split_nodes = self.split_nodes.clone();
        let found = (!attempts.is_empty()).then_some(StockAttempts { is_housekeeping: false, attempts, split_nodes });
        let is_known = self.jobs.iter().any(|known| known.id == task.job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| is_known.then_some(found)))
    }

    async fn stock_counters(
        &self,
        task: TaskId,
        _: Option<i32>,
        viewer: Option<Caller>,
    ) -> StockRead<Option<Vec<StockCounterGroup>>> {
        let is_known = self.jobs.iter().any(|known| known.id == task.job);
        let counters = (!self.counters.is_empty()).then(|| self.counters.clone());
        Ok(self.lets_see(viewer.as_ref()).map(|()| is_known.then_some(counters)))
    }

    async fn stock_failures(
        &self,
        job: JobId,
        viewer: Option<Caller>,
        filter: FailureFilter,
    ) -> StockRead<StockFailures> {
        let listed = |attempt: &&StockAttempt| filter.kinds[attempt.id.task.kind] && filter.lists(attempt.state);
        let attempts = self.attempts.iter().filter(|attempt| attempt.id.task.job == job).filter(listed);
        let found = StockFailures { attempts: attempts.cloned().collect(), is_cut: false };
        let is_known = self.jobs.iter().any(|known| known.id == job);
        Ok(self.lets_see(viewer.as_ref()).map(|()| is_known.then_some(found)))
    }
}

impl Recorded {
    /// What access lists say of a caller.
    fn allows(&self, caller: Option<&Caller>) -> Result<(), Refusal> {
        match (self.members, caller) {
            (Some(members), Some(caller)) if !members.contains(&&*caller.user) => {
                Err(Refusal::AccessDenied(format!("User {} is in no list", caller.user)))
            }
            _ => Ok(()),
        }
    }

    /// Whether a viewer may see jobs.
    fn lets_see(&self, viewer: Option<&Caller>) -> Result<(), Refusal> {
        match self.refuses {
            true => Err(Refusal::AccessDenied("User mallory cannot <see> it".to_owned())),
            false => self.allows(viewer),
        }
    }
}

impl Owner for Recorded {
    fn market_presence(&self) -> MarketPresence {
        self.market.unwrap_or(MarketPresence::Absent)
    }

    async fn statement(&self, _: QueueName, _: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        Ok(None)
    }

    async fn price_history(&self, _: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        Err(LedgerUnreadable(String::new()))
    }

    async fn spending_history(
        &self,
        _: QueueName,
        _: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        Ok(None)
    }

    async fn report(&self, _: ReportRequest) -> Result<Report, LedgerUnreadable> {
        Err(LedgerUnreadable(String::new()))
    }

    async fn change_job(
        &self,
        job: JobId,
        change: JobChange,
        caller: Caller,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        if let Err(refusal) = self.allows(Some(&caller)) {
            return Ok(Err(refusal));
        }
        if self.closed.contains(&job) {
            return Ok(Err(Refusal::AccessDenied(format!("{job} is closed"))));
        }
        self.changes.lock().unwrap().push((job, change));
        Ok(Ok(()))
    }

    async fn what_if(&self, _: DeadlineQuestion) -> Result<Option<WhatIfAnswer>, OwnerGone> {
        Ok(None)
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        Ok(Arc::new(self.overview.clone()))
    }

    fn health(&self) -> Health {
        Health { is_alive: true, is_ready: true, at_ms: self.now_ms, ..Health::default() }
    }
}
