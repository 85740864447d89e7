//! A web server on a free port, its owner, and a client that speaks bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use jobtracker::api::{
    Explanation, JobTasks, LogTicket, OrderQuote, PriceHistory, PricePoint, Report, SetKey, SpendingHistory, Statement,
    SwitchPlan, SwitchRefusal, WhatIfAnswer, Workers,
};
use jobtracker::engine::{Caller, ClusterSnapshot, DeadlineQuestion, Explained, Refusal};
use jobtracker::market::signature::sign;
use jobtracker::market::{
    Acl, Answer, ContainerUse, HistoryPage, Key, Market, MarketConfig, MarketError, Operation, OperationKind, QueueUse,
    ReportRequest, ServletRequest, StatementPage, budget_file,
};
use jobtracker::model::{AttemptId, Credits, JobId, Now, PerKind, PerPool, QueueName};
use jobtracker::web::{
    ApplicationOwner, ClusterPart, Health, JobChange, JobForms, JobPartsOwner, LedgerUnreadable, MarketPresence,
    MarketReply, Owner, OwnerGone, PlanQuestion, PlanRefusal, PlayForm, PlayRefusal, PlayRun, PlayState, Plays,
    ServedNames, ServedPorts, StockOwner, StockSettings, WebLimits, WebState, serve,
};

/// When the market started, epoch ms.
pub const START_MS: i64 = 1_700_000_000_000;
/// The server's clock, epoch ms. It stands still.
pub const NOW_MS: i64 = START_MS + 60_000;
const SLOTS: PerPool<u32> = PerPool::new(6, 2, 0);
const INTERVAL_MS: u64 = 20_000;
const ACL: &str = "alice user alicekey-abc\nroot admin rootkey\n";
const BUDGETS: &str = "alice 100.0 0.5\nbob 10.0 1.0\n";

/// A market without a cluster.
pub struct Cluster {
    pub market: Mutex<Market>,
    pub acl: Mutex<Arc<Acl>>,
    /// How often the list of users was asked for.
    pub acl_looks: AtomicUsize,
    pub overview: Mutex<Arc<ClusterSnapshot>>,
    pub health: Mutex<Health>,
    /// What the ledger tells, and what of it was asked for.
    pub statement: Mutex<Result<Option<Statement>, LedgerUnreadable>>,
    pub pages: Mutex<Vec<(QueueName, StatementPage)>>,
    /// What is reported, and what of it was asked for.
    pub report: Mutex<Result<Report, LedgerUnreadable>>,
    pub reports: Mutex<Vec<ReportRequest>>,
    /// Which histories were asked for: the price's, or a queue's.
    pub history_pages: Mutex<Vec<(Option<QueueName>, HistoryPage)>>,
    /// What jobs are told, without names and with them.
    pub explanations: Mutex<BTreeMap<(JobId, bool), Explanation>>,
    /// The changes of jobs by forms.
    pub changes: Mutex<Vec<(JobId, JobChange)>>,
    /// The switches that were asked about.
    pub plan_questions: Mutex<Vec<PlanQuestion>>,
    /// Of each question about a deadline, whether it knew a class of jobs.
    pub knew_class: Mutex<Vec<bool>>,
    /// The plays that were begun, and what has become of them.
    pub plays: Arc<PlaysOfForms>,
    presence: MarketPresence,
    /// Nobody answers any more.
    pub gone: AtomicBool,
    /// Answers wait for `release`.
    pub held: AtomicBool,
    /// A request has reached the owner.
    pub asked: Notify,
    pub release: Notify,
}

/// Plays that run until a test says what has become of them.
#[derive(Debug, Default)]
pub struct PlaysOfForms(pub Mutex<Vec<PlayRun>>);

impl Plays for PlaysOfForms {
    fn begin(&self, form: PlayForm, by: &str) -> Result<String, PlayRefusal> {
        let mut runs = self.0.lock().unwrap();
        if runs.iter().any(|run| matches!(run.state, PlayState::Running)) {
            return Err(PlayRefusal::Busy { retry_s: 17 });
        }
        if form.nodes == "0" {
            let expected = "a whole number from 1 to 10000".to_owned();
            return Err(PlayRefusal::Field { field: "nodes", value: form.nodes, expected });
        }
        let id = format!("a-{}", runs.len() + 1);
        let (by, state) = (by.to_owned(), PlayState::Running);
        runs.insert(0, PlayRun { id: id.clone(), form, by, begun_ms: NOW_MS, kept_until_ms: None, state });
        Ok(id)
    }

    fn all(&self) -> Vec<PlayRun> {
        self.0.lock().unwrap().clone()
    }

    fn conf_dir(&self) -> Option<PathBuf> {
        Some("/etc/the conf".into())
    }
}

/// The owner's handle.
#[derive(Clone)]
pub struct Handle(pub Arc<Cluster>);

/// A running server.
pub struct Stage {
    pub cluster: Arc<Cluster>,
    pub address: SocketAddr,
    pub serving: JoinHandle<()>,
    pub shutdown: Option<oneshot::Sender<()>>,
    timestamp_ms: AtomicI64,
}

/// An answer, taken apart.
#[derive(Debug)]
pub struct Answered {
    pub status_line: String,
    pub headers: String,
    pub body: String,
}

// === impl Handle ===

impl Handle {
    async fn gate(&self) -> Result<(), OwnerGone> {
        self.0.asked.notify_one();
        if self.0.held.load(Ordering::SeqCst) {
            self.0.release.notified().await;
        }
        if self.0.gone.load(Ordering::SeqCst) { Err(OwnerGone) } else { Ok(()) }
    }
}

impl ApplicationOwner for Handle {}

impl JobPartsOwner for Handle {}

impl StockOwner for Handle {
    async fn is_administrator(&self, caller: Caller) -> Result<bool, OwnerGone> {
        Ok(&*caller.user == "hdfs")
    }
}

impl Owner for Handle {
    async fn market(&self, request: ServletRequest) -> Result<MarketReply, OwnerGone> {
        self.gate().await?;
        let mut market = self.0.market.lock().unwrap();
        let request = about_queue(request);
        let answer = market.handle_request(request, now(), |queue| queue.as_str() == "bob").answer;
        Ok(answer.map(|answer| complete(&market, answer)))
    }

    async fn price_history(&self, page: HistoryPage) -> Result<PriceHistory, LedgerUnreadable> {
        self.0.history_pages.lock().unwrap().push((None, page));
        Ok(PriceHistory { step_ms: 7, points: vec![PricePoint::of(3, 5, "1.5".parse().unwrap())] })
    }

    async fn spending_history(
        &self,
        queue: QueueName,
        page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, LedgerUnreadable> {
        self.0.history_pages.lock().unwrap().push((Some(queue.clone()), page));
        let is_known = queue.as_str() != "nobody";
        Ok(is_known.then(|| SpendingHistory { queue, step_ms: 7, points: Vec::new() }))
    }

    async fn explain(&self, job: JobId, sees_names: bool) -> Result<Option<Box<Explained>>, OwnerGone> {
        self.gate().await?;
        let explanation = self.0.explanations.lock().unwrap().get(&(job, sees_names)).cloned();
        Ok(explanation.map(|explanation| Box::new(Explained::from(explanation))))
    }

    async fn check_view_logs(&self, _attempt: AttemptId, user: Arc<str>) -> Result<Result<(), Refusal>, OwnerGone> {
        self.gate().await?;
        Ok(if &*user == "bob" { Err(Refusal::AccessDenied("bob may not".to_owned())) } else { Ok(()) })
    }

    async fn log_ticket(&self, attempt: AttemptId) -> Result<Option<LogTicket>, LedgerUnreadable> {
        Ok(Some(LogTicket { attempt, expires_ms: 7, ticket: "ab".to_owned() }))
    }

    async fn plan_switch(&self, question: PlanQuestion) -> Result<SwitchPlan, PlanRefusal> {
        self.0.plan_questions.lock().unwrap().push(question.clone());
        match question.to.as_str() {
            "fair" => Ok(plan()),
            "fifo" => Err(PlanRefusal::Busy),
            "dynamic" if !question.sees_money => Err(PlanRefusal::Private),
            other => {
                Err(PlanRefusal::UnknownScheduler(format!("{other:?} is not a scheduler: expected fifo, capacity")))
            }
        }
    }

    async fn what_if(&self, question: DeadlineQuestion) -> Result<Option<WhatIfAnswer>, OwnerGone> {
        self.gate().await?;
        self.0.knew_class.lock().unwrap().push(question.class.is_some());
        Ok(None)
    }

    async fn quote_order(
        &self,
        _queue: QueueName,
        _max_rate: Credits,
        _question: DeadlineQuestion,
    ) -> Result<Result<OrderQuote, MarketError>, OwnerGone> {
        self.gate().await?;
        Ok(Err(MarketError::NotRuling))
    }

    async fn tasks(
        &self,
        _job: JobId,
        _is_running_only: bool,
        _viewer: Option<Caller>,
        _first: u64,
    ) -> Result<Result<Option<JobTasks>, Refusal>, OwnerGone> {
        self.gate().await?;
        Ok(Ok(None))
    }

    async fn workers(&self) -> Result<Workers, OwnerGone> {
        self.gate().await?;
        Ok(Workers::default())
    }

    async fn change_starts(
        &self,
        part: ClusterPart,
        _is_stopped: bool,
        _caller: Caller,
    ) -> Result<Result<MarketReply, Refusal>, OwnerGone> {
        self.gate().await?;
        Ok(match part {
            ClusterPart::Worker(worker) => Ok(Err(MarketError::UnknownWorker(worker))),
            ClusterPart::Work(_) => Ok(Ok(Answer::Frame)),
        })
    }

    async fn change_job(
        &self,
        job: JobId,
        change: JobChange,
        _caller: Caller,
    ) -> Result<Result<(), Refusal>, OwnerGone> {
        self.gate().await?;
        self.0.changes.lock().unwrap().push((job, change.clone()));
        Ok(match change {
            JobChange::Priority(priority) if priority == "HIGHEST" => {
                Err(Refusal::IllegalArgument(format!("No enum constant {priority}")))
            }
            _ => Ok(()),
        })
    }

    async fn statement(&self, queue: QueueName, page: StatementPage) -> Result<Option<Statement>, LedgerUnreadable> {
        self.0.pages.lock().unwrap().push((queue, page));
        self.0.statement.lock().unwrap().clone()
    }

    async fn report(&self, request: ReportRequest) -> Result<Report, LedgerUnreadable> {
        self.0.reports.lock().unwrap().push(request);
        self.0.report.lock().unwrap().clone()
    }

    async fn overview(&self) -> Result<Arc<ClusterSnapshot>, OwnerGone> {
        self.gate().await?;
        Ok(Arc::clone(&self.0.overview.lock().unwrap()))
    }

    async fn acl(&self) -> Arc<Acl> {
        self.0.acl_looks.fetch_add(1, Ordering::SeqCst);
        Arc::clone(&self.0.acl.lock().unwrap())
    }

    fn market_presence(&self) -> MarketPresence {
        self.0.presence
    }

    fn health(&self) -> Health {
        self.0.health.lock().unwrap().clone()
    }
}

// === impl Stage ===

impl Stage {
    /// A server with a market of two funded queues that have seen one tick; `bob` has jobs and a budget.
    pub async fn new() -> Stage {
        Stage::with(WebLimits::default(), true).await
    }

    pub async fn with(limits: WebLimits, has_market: bool) -> Stage {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        Stage::on(listener, limits, has_market)
    }

    /// One that shows shares and costs to everybody.
    pub async fn public() -> Stage {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        Stage::showing(
            listener,
            WebLimits::default(),
            MarketPresence::Ruling,
            true,
            JobForms::Off,
            StockSettings::default(),
        )
    }

    /// The same, whatever becomes of the market.
    pub fn public_of(listener: TcpListener, presence: MarketPresence) -> Stage {
        Stage::showing(listener, WebLimits::default(), presence, true, JobForms::Off, StockSettings::default())
    }

    pub async fn of(presence: MarketPresence) -> Stage {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        Stage::showing(listener, WebLimits::default(), presence, false, JobForms::Off, StockSettings::default())
    }

    /// One without a market whose pages change jobs for these.
    pub async fn with_forms(job_forms: JobForms) -> Stage {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        Stage::showing(
            listener,
            WebLimits::default(),
            MarketPresence::Absent,
            false,
            job_forms,
            StockSettings::default(),
        )
    }

    /// One without a market where access lists say who sees what.
    pub async fn with_access_lists() -> Stage {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let lists = StockSettings { are_acls_on: true, ..StockSettings::default() };
        Stage::showing(listener, WebLimits::default(), MarketPresence::Absent, false, JobForms::Off, lists)
    }

    pub fn on(listener: TcpListener, limits: WebLimits, has_market: bool) -> Stage {
        let presence = if has_market { MarketPresence::Ruling } else { MarketPresence::Absent };
        Stage::showing(listener, limits, presence, false, JobForms::Off, StockSettings::default())
    }

    fn showing(
        listener: TcpListener,
        limits: WebLimits,
        presence: MarketPresence,
        shows_money: bool,
        job_forms: JobForms,
        stock: StockSettings,
    ) -> Stage {
        let mut market = Market::new(MarketConfig::default(), START_MS);
        market.seed_budgets(budget_file::parse(BUDGETS, "budget").unwrap(), now());
        market.tick(&usage(), SLOTS, 20_000, now());
        let cluster = Arc::new(Cluster {
            market: Mutex::new(market),
            acl: Mutex::new(Arc::new(Acl::parse(ACL, "acl").unwrap())),
            acl_looks: AtomicUsize::new(0),
            overview: Mutex::default(),
            health: Mutex::new(Health { is_alive: true, is_ready: true, text: "ok".to_owned(), ..Health::default() }),
            statement: Mutex::new(Ok(None)),
            pages: Mutex::default(),
            report: Mutex::new(Ok(no_report())),
            reports: Mutex::default(),
            history_pages: Mutex::default(),
            explanations: Mutex::default(),
            changes: Mutex::default(),
            plan_questions: Mutex::default(),
            knew_class: Mutex::default(),
            plays: Arc::default(),
            presence,
            gone: AtomicBool::new(false),
            held: AtomicBool::new(false),
            asked: Notify::new(),
            release: Notify::new(),
        });
        let address = listener.local_addr().unwrap();
        let owner = Handle(Arc::clone(&cluster));
        let plays = Arc::clone(&cluster.plays);
        let state = WebState {
            names: ServedNames::new(Some(["h".to_owned()]), "jobtracker.web.hosts"),
            owner,
            host: "myhost.example.com".to_owned(),
            shows_money,
            job_forms,
            stock,
            job_page_prefix: String::new(),
            container_slot: jobtracker::model::Capability::new(1_024, 1),
            sessions: jobtracker::web::Sessions::new(jobtracker::model::SessionKey::new([7; 32]), 60),
            streams: jobtracker::web::EventStreams::default(),
            plays: Some(plays),
            ports: ServedPorts::default(),
            limits,
        };
        let (shutdown, told) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, state, async { told.await.unwrap_or_default() }));
        Stage { cluster, address, serving, shutdown: Some(shutdown), timestamp_ms: AtomicI64::new(START_MS) }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and reads until the server closes the connection.
    pub async fn exchange(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // The server may have refused and closed before the last byte.
        let _ = stream.write_all(request.as_ref()).await;
        read_to_end(stream).await
    }

    /// One request on a connection of its own.
    pub async fn request(&self, method: &str, target: &str, headers: &str) -> Answered {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n");
        Answered::parse(&self.exchange(request).await)
    }

    pub async fn get(&self, target: &str) -> Answered {
        self.request("GET", target, "").await
    }

    /// A query signed by a user, a millisecond after the last one, and the header that signs it.
    pub fn sign(&self, user: &str, operation: &str) -> (String, String) {
        let timestamp_ms = self.timestamp_ms.fetch_add(1, Ordering::SeqCst) + 1;
        let query = format!("{operation}&user={user}&timestamp={timestamp_ms}");
        let key = match user {
            "alice" => "alicekey-abc",
            "root" => "rootkey",
            other => other,
        };
        let header = format!("Authorization: {}\r\n", sign(&query, &Key::new(key)));
        (query, header)
    }

    /// A signed `/scheduler` request.
    pub async fn signed(&self, method: &str, user: &str, operation: &str) -> Answered {
        let (query, header) = self.sign(user, operation);
        self.request(method, &format!("/scheduler?{query}"), &header).await
    }

    pub fn balance(&self, queue: &str) -> Option<String> {
        self.cluster.market.lock().unwrap().account(queue).map(|account| account.balance().to_string())
    }
}

// === impl Answered ===

impl Answered {
    pub fn parse(answer: &str) -> Answered {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let (status_line, headers) = head.split_once("\r\n").unwrap();
        Answered { status_line: status_line.to_owned(), headers: headers.to_lowercase(), body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub async fn read_to_end(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that is reset has ended too.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn usage() -> [QueueUse; 2] {
    let containers = ContainerUse::default();
    ["alice", "bob"].map(|queue| QueueUse {
        queue: queue.parse().unwrap(),
        running: PerKind::new(1, 0),
        pending: 3,
        containers,
        want: QueueUse::wants_all(&containers),
        later: PerKind::default(),
    })
}

/// All jobs are alice's.
fn about_queue(mut request: ServletRequest) -> ServletRequest {
    if matches!(request.query.kind, OperationKind::Explain | OperationKind::Tasks) {
        request.query.queue = Some("alice".to_owned());
    }
    request
}

/// What the engine answers in place of the market.
fn complete(market: &Market, answer: Answer) -> Answer {
    match answer {
        Answer::Permitted(Operation::Quote { queue, rate }) => {
            Answer::Quote(market.bidding(&queue, &usage(), SLOTS, INTERVAL_MS).unwrap().quote(rate))
        }
        Answer::Permitted(Operation::QueueStatus(Some(queue))) => {
            Answer::QueueStatuses(market.live_queue_status([&queue], &usage(), INTERVAL_MS))
        }
        Answer::Permitted(Operation::QueueStatus(None)) => {
            Answer::QueueStatuses(market.live_queue_status(market.queues(), &usage(), INTERVAL_MS))
        }
        other => other,
    }
}

/// What a switch would do.
pub fn plan() -> SwitchPlan {
    SwitchPlan {
        from: "org.apache.hadoop.mapred.DynamicPriorityScheduler".to_owned(),
        to: "org.apache.hadoop.mapred.FairScheduler".to_owned(),
        slots: PerPool::default(),
        groups: Vec::new(),
        begins: Vec::new(),
        waits: Vec::new(),
        moves: Vec::new(),
        without_claim: Vec::new(),
        at_risk: Vec::new(),
        keys: vec![SetKey { key: "k".to_owned(), value: "<b>7319.625</b>".to_owned(), place: "f.xml:7".to_owned() }],
        warnings: vec!["careful".to_owned()],
        refusals: vec![SwitchRefusal::SafeMode { by: "root".to_owned() }],
        waits_until_ms: Some(NOW_MS),
    }
}

fn no_report() -> Report {
    Report {
        report: "users".to_owned(),
        since_ms: None,
        until_ms: None,
        rows: Vec::new(),
        complete_since_ms: None,
        daily_until_ms: None,
        next: None,
    }
}

fn now() -> Now {
    Now { mono_ms: 60_000, wall_ms: NOW_MS }
}
