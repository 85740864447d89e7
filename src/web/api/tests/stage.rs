//! Views of a small cluster, and the routes over them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use super::super::super::state::JobForms;
use crate::api::applications::{ApplicationState, ContainerState, ItemRules, Locality, Placement};
use crate::api::{
    BoughtSlots, Claimant, CostSource, CostUnit, ExactDecimal, JobDeadline, PendingReason, PolicyName, ReportedGroup,
    ReportedJob, SchedulerReport, Sourced, TaskCost,
};
use crate::engine::{
    ApplicationChange, ClusterSnapshot, Container, ContainerCost, ContainerNode, Decided, Decision, Fact,
    GrantedContext, ItemStanding, ItemTrouble, JobCost, Launched, LoweredRows, MoneySnapshot, Preempted, QueueSnapshot,
    RequestType, Standing, SubmittedApplication, TrackerSnapshot, TypeLaunch, Victim,
};
use crate::http::{ServedNames, WebLimits};
use crate::mapreduce::{
    AcceptedJob, AttemptRole, CounterInterner, EndedAttempt, JobEstimate, JobFact, JobSpec, SplitTable,
};
use crate::market::{Acl, LedgerTotals, MarketFact, Order, Tick};
use crate::model::{
    ApplicationId, ApplicationSecret, AttemptId, AttemptState, Capability, Credits, FactNumber, JobId, Kind,
    PartsPerMillion, PerKind, PerPool, Priority, QueueName, RunState, SessionKey,
};
use crate::store::{FactBatch, LoadedState};
use crate::views::{ReadModel, Views};
use crate::web::api::EventStreams;
use crate::web::owner::MarketPresence;
use crate::web::state::{ServedPorts, WebState};
use crate::web::{Sessions, StockSettings};
use crate::wire::{Counters, ReportedCounters};

/// When all began, epoch ms.
pub(super) const START_MS: i64 = 1_700_000_000_000;
/// What strangers must not see: a balance, a share, a rate, a cost, a charge.
pub(super) const PRIVATE: [&str; 6] = ["7319.625", "9.7319", "0.731943726", "3.3719", "41.7319", "88.7319"];
pub(super) const APPLICATION: ApplicationId = ApplicationId::new(1_700_000_000_000, 1);

/// What is shown, and whether anything asks for more.
pub(super) struct Cluster {
    model: Mutex<ReadModel>,
    overview: Mutex<ClusterSnapshot>,
    next_fact: Mutex<u64>,
    acl: Mutex<Arc<Acl>>,
    /// The clock, epoch ms.
    pub(super) now_ms: AtomicI64,
}

/// A cluster with its routes.
pub(super) struct Stage {
    pub(super) cluster: Arc<Cluster>,
    pub(super) streams: EventStreams,
    router: axum::Router,
}

/// Sessions of a minute.
fn sessions() -> Sessions {
    Sessions::new(SessionKey::new([7; 32]), 60)
}

#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    headers: axum::http::HeaderMap,
    pub(super) bytes: Bytes,
}

#[derive(Clone)]
pub(super) struct Handle(pub(super) Arc<Cluster>, pub(super) MarketPresence);

impl Cluster {
    pub(super) fn views(&self) -> Views {
        self.model.lock().unwrap().views().clone()
    }

    pub(super) fn overview(&self) -> ClusterSnapshot {
        self.overview.lock().unwrap().clone()
    }

    pub(super) fn apply(&self, facts: Vec<Fact>) {
        let mut next = self.next_fact.lock().unwrap();
        let count = facts.len() as u64;
        self.model.lock().unwrap().apply(&FactBatch { first: FactNumber(*next), facts }).unwrap();
        *next += count;
    }

    pub(super) fn change_overview(&self, change: impl FnOnce(&mut ClusterSnapshot)) {
        change(&mut self.overview.lock().unwrap());
    }

    pub(super) fn acl(&self) -> Arc<Acl> {
        self.acl.lock().unwrap().clone()
    }

    /// The users that may sign, from now on.
    pub(super) fn list_keys(&self, text: &str) {
        *self.acl.lock().unwrap() = Arc::new(Acl::parse(text, "acl").unwrap());
    }

    pub(super) fn report_end(&self, id: JobId) {
        self.model.lock().unwrap().report_end(id);
    }
}

impl Stage {
    /// A market that shows its money to no stranger.
    pub(super) fn new() -> Self {
        Self::with(MarketPresence::Ruling, false, false)
    }

    pub(super) fn with(presence: MarketPresence, shows_money: bool, are_acls_on: bool) -> Self {
        let cluster = Arc::new(Cluster {
            model: Mutex::new(ReadModel::load(&LoadedState::default(), 1_000)),
            overview: Mutex::new(overview()),
            next_fact: Mutex::new(1),
            acl: Mutex::default(),
            now_ms: AtomicI64::new(START_MS),
        });
        cluster.list_keys("alice user alicekey\nbob user bobkey\nroot admin rootkey\n");
        cluster.apply(facts());
        cluster.report_end(job_id(1));
        let streams = EventStreams::default();
        let web = Arc::new(WebState {
            owner: Handle(cluster.clone(), presence),
            names: ServedNames::new(None::<Vec<String>>, "jobtracker.web.hosts"),
            host: "h".to_owned(),
            shows_money,
            job_forms: JobForms::Off,
            stock: StockSettings { are_acls_on, ..StockSettings::default() },
            job_page_prefix: "http://h:50030/jobdetails.jsp?jobid=".to_owned(),
            container_slot: Capability::new(512, 1),
            sessions: sessions(),
            streams: streams.clone(),
            plays: None,
            ports: ServedPorts::default(),
            limits: WebLimits::default(),
        });
        let router = crate::web::api::routes(&web).with_state(web);
        Self { cluster, streams, router }
    }

    /// A stream, from the event after this one on.
    pub(super) async fn stream(&self, path: &str, last: Option<&str>) -> (u16, Body) {
        self.stream_of(path, last.map(|last| ("last-event-id", last)).as_slice()).await
    }

    /// A stream, asked for with these headers.
    pub(super) async fn stream_of(&self, path: &str, headers: &[(&str, &str)]) -> (u16, Body) {
        let request = Request::builder().uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let service = TowerToHyperService::new(self.router.clone());
        let response = service.call(request.body(Body::empty()).unwrap()).await.unwrap();
        (response.status().as_u16(), response.into_body())
    }

    /// A session that begins now: of a user, or of anybody who has a key.
    pub(super) fn session(&self, user: &str) -> String {
        let acl = self.cluster.acl();
        sessions().begin(user, &acl.get(user).unwrap().key, self.cluster.now_ms.load(Ordering::SeqCst))
    }

    /// The answer to the bearer of a session.
    pub(super) async fn get_as(&self, session: &str, path: &str) -> Answered {
        self.ask("GET", path, &[("authorization", &format!("Bearer {session}"))]).await
    }

    pub(super) async fn get(&self, path: &str) -> Answered {
        self.ask("GET", path, &[]).await
    }

    pub(super) async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answered {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let service = TowerToHyperService::new(self.router.clone());
        let response = service.call(request.body(Body::empty()).unwrap()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answered { status, headers, bytes: to_bytes(response.into_body(), 1 << 24).await.unwrap() }
    }
}

impl Answered {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Status and kind of a problem.
    pub(super) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let kind = self.json()["type"].as_str().unwrap().to_owned();
        (self.status, kind.trim_start_matches("/problems/").to_owned())
    }
}

pub(super) fn job_id(number: i32) -> JobId {
    format!("job_202611211200_{number:04}").parse().unwrap()
}

pub(super) fn credits(text: &str) -> Credits {
    text.parse().unwrap()
}

/// A job of alice's that was accepted.
pub(super) fn accepted(number: i32, name: &str) -> Fact {
    let spec = JobSpec { name: name.to_owned(), ..JobSpec::with_defaults("alice", "alice", 3, 1) };
    Fact::Job(JobFact::Accepted(Box::new(AcceptedJob {
        id: job_id(number),
        spec: Arc::new(spec),
        splits: Arc::new(SplitTable::default()),
        order: 1,
        submit_ms: START_MS + i64::from(number),
        token_file: Arc::default(),
        first_attempt: 0,
        estimate: JobEstimate::default(),
        plan: None,
        job_xml: Arc::default(),
    })))
}

pub(super) fn ended(number: i32, state: RunState, finish_ms: i64) -> Fact {
    let counters = CounterInterner::default().intern(&ReportedCounters::from(&Counters::default()));
    let failure_info = "the reason".to_owned();
    Fact::Job(JobFact::Ended { job: job_id(number), state, finish_ms, failure_info, counters })
}

fn attempt(number: i32, task: i32) -> AttemptId {
    job_id(number).task(Kind::Map, task).attempt(0)
}

pub(super) fn launched(number: i32, task: i32) -> Fact {
    Fact::Job(JobFact::AttemptLaunched {
        attempt: attempt(number, task),
        role: AttemptRole::Work,
        tracker: "tracker_h:localhost/127.0.0.1:7".into(),
        slots: 1,
        at_ms: START_MS + 50,
        response_id: 1,
    })
}

pub(super) fn attempt_ended(number: i32, task: i32, state: AttemptState, diagnostics: &str) -> Fact {
    Fact::Job(JobFact::AttemptEnded(Box::new(EndedAttempt {
        attempt: attempt(number, task),
        state,
        start_ms: START_MS + 60,
        finish_ms: START_MS + 90,
        diagnostics: diagnostics.to_owned(),
        state_text: "0.5 done".to_owned(),
        output_bytes: 7,
        shuffle_finish_ms: 0,
        sort_finish_ms: 0,
        counters: None,
    })))
}

fn application_facts() -> Vec<ApplicationChange> {
    let submitted = SubmittedApplication {
        id: APPLICATION,
        user: "bob".into(),
        name: "simulate".to_owned(),
        application_type: "run".to_owned(),
        queue: "bob".into(),
        priority: Priority::Normal,
        digest: [3; 32],
        secret: ApplicationSecret::new([4; 20]),
        expiry_ms: 1,
        strict_gates: false,
        is_unattended: true,
        master: None,
        submitted_ms: START_MS + 5,
        order: 9,
    };
    let launch = TypeLaunch {
        source: GrantedContext::Spec("sim".to_owned()),
        items: Some("1-6".into()),
        max_running: None,
        rules: ItemRules { max_attempts: None, max_fails: None },
    };
    let failed = ItemTrouble { failures: 1, faultless: 0, standing: ItemStanding::Failed };
    vec![
        ApplicationChange::Submitted { submitted: Arc::new(submitted), standing: Box::new(Standing::new(None)) },
        ApplicationChange::RowSet {
            application: APPLICATION,
            request: request(),
            place: Placement::Any,
            count: 2,
            relaxes: true,
        },
        ApplicationChange::LaunchSet { application: APPLICATION, request: request(), launch: Some(Box::new(launch)) },
        ApplicationChange::ItemsTaken { application: APPLICATION, request: request(), taken: 4 },
        ApplicationChange::ItemTroubled {
            application: APPLICATION,
            request: request(),
            item: 2,
            trouble: Some(failed),
        },
        ApplicationChange::Container(Box::new(container(3, ContainerState::Running))),
        ApplicationChange::Charged {
            application: APPLICATION,
            cost: ContainerCost { tick: 3, cost: credits("41.7319"), ..ContainerCost::default() },
        },
    ]
}

/// Its last container ends well, and it with it.
pub(super) fn application_end() -> Vec<Fact> {
    let standing =
        Standing { state: ApplicationState::Finished, finished_ms: Some(START_MS + 500), ..Standing::new(None) };
    vec![Fact::Applications(vec![
        ApplicationChange::Container(Box::new(container(3, ContainerState::Complete))),
        ApplicationChange::TypeDropped { application: APPLICATION, request: request() },
        ApplicationChange::Stands { application: APPLICATION, standing: Box::new(standing) },
    ])]
}

fn request() -> RequestType {
    RequestType { priority: 1, request_id: 0, capability: Capability::new(1_024, 1) }
}

pub(super) fn container(item: u32, state: ContainerState) -> Container {
    let node = ContainerNode {
        tracker: "tracker_h:localhost/127.0.0.1:7".into(),
        incarnation: 1,
        id: "h:50060".into(),
        host: "h".into(),
        rack: "/r".into(),
    };
    Container {
        id: APPLICATION.container(0, u64::from(item)),
        request: request(),
        node,
        locality: Locality::OffSwitch,
        row: Placement::Any,
        lowered: LoweredRows::default(),
        granted_ms: START_MS + 10,
        rate: credits("3.3719"),
        launch: Some(Launched { context: 1, item: Some(item), item_attempt: 1, at_ms: START_MS + 11 }),
        started_ms: Some(START_MS + 12),
        kill: None,
        end: None,
        state,
        named_in: None,
        status_in: None,
    }
}

/// Job 1 failed, job 2 runs one map of three and has one that failed, job 3 waits; an application with six items.
fn facts() -> Vec<Fact> {
    let cost = JobCost {
        job: job_id(2),
        cost: credits("41.7319"),
        slot_ms: PerKind::default(),
        sampled_slots: PerKind::default(),
    };
    let alice: QueueName = "alice".parse().unwrap();
    let order = Order { job: job_id(2), deadline_ms: START_MS + 60_000, max_rate: credits("3.3719"), max_cost: None };
    let tick = Tick {
        number: 3,
        wall_ms: START_MS + 30,
        interval_ms: 20_000,
        price: credits("4.6"),
        ledger: LedgerTotals::default(),
        queue_ticks: Vec::new(),
        laid: Vec::new(),
    };
    vec![
        accepted(1, "=HYPERLINK(\"http://evil\")"),
        ended(1, RunState::Failed, START_MS + 100),
        accepted(2, "count words"),
        Fact::Job(JobFact::Running { job: job_id(2), at_ms: START_MS + 40 }),
        launched(2, 0),
        launched(2, 1),
        attempt_ended(2, 1, AttemptState::Failed, "no such file: in.txt"),
        Fact::JobsCharged { tick: 3, jobs: vec![cost] },
        accepted(3, "count lines"),
        Fact::Market(MarketFact::Account {
            queue: alice.clone(),
            balance: credits("7319.625"),
            rate: credits("3.3719"),
        }),
        Fact::Market(MarketFact::OrderSet { queue: alice, order }),
        Fact::Market(MarketFact::Tick(Box::new(tick))),
        Fact::Applications(application_facts()),
        decided(),
    ]
}

/// A map of job 2 gave way to another queue.
pub(super) fn decided() -> Fact {
    let claimant = Claimant { queue: "carol".to_owned(), missing: 2, rate: Some(credits("9.7319")) };
    let preempted = Preempted {
        victim: Victim::Attempt(attempt(2, 1)),
        queue: "alice".into(),
        worker: "tracker_h:localhost/127.0.0.1:7".into(),
        slots: 1,
        rate: Some(credits("3.3719")),
        age_ms: 12_000,
        lost_ms: 12_000,
        claimants: Preempted::most_lacking(vec![claimant]),
    };
    Fact::Decided(Box::new(Decision { at_ms: START_MS + 90, what: Decided::Preempted(preempted) }))
}

fn overview() -> ClusterSnapshot {
    let group = ReportedGroup {
        name: "alice".to_owned(),
        parent: None,
        jobs: 2,
        running: PerKind::new(1, 0),
        held: PerKind::new(1, 0),
        waiting: PerKind::new(4, 2),
        capacity: None,
        pool: None,
        bought: Some(BoughtSlots {
            share: "0.731943726".to_owned(),
            quota: PerPool::new(4, 1, 0),
            rate: credits("3.3719"),
        }),
    };
    let queue = |name: &str| QueueSnapshot {
        name: name.to_owned(),
        running: PerKind::new(1, 0),
        waiting: PerKind::new(4, 2),
        share: Some("0.731943726".to_owned()),
        ..QueueSnapshot::default()
    };
    ClusterSnapshot {
        scheduler: "Dynamic Priority".to_owned(),
        start_ms: START_MS,
        at_ms: START_MS + 1_000,
        slots: PerKind::new(4, 2),
        running: PerKind::new(1, 0),
        price: Some("4.6".to_owned()),
        money: Some(MoneySnapshot {
            balances: vec![("alice".to_owned(), credits("7319.625")), ("bob".to_owned(), credits("7319.625"))],
            issued: credits("7319.625"),
            charged: credits("88.7319"),
        }),
        report: SchedulerReport {
            policy: PolicyName::Dynamic,
            since_ms: START_MS,
            at_ms: START_MS + 1_000,
            slots: PerKind::new(4, 2),
            price: Some("4.6".to_owned()),
            groups: vec![group],
            jobs: vec![reported_job()],
            ..SchedulerReport::default()
        },
        queues: vec![queue("alice"), queue("bob")],
        trackers: vec![TrackerSnapshot {
            name: "tracker_h:localhost/127.0.0.1:7".to_owned(),
            worker: "h".to_owned(),
            host: "h".to_owned(),
            rack: "/r".to_owned(),
            http_port: 50_060,
            listed_slots: PerKind::new(4, 2),
            slots: PerKind::new(4, 2),
            running: PerKind::new(1, 0),
            silent_ms: 10,
            healthy: true,
            ..TrackerSnapshot::default()
        }],
        ..ClusterSnapshot::default()
    }
}

/// Job 2 as the policy has it: with a deadline, and held back by what it has bought.
fn reported_job() -> ReportedJob {
    let cost = TaskCost { ms: ExactDecimal(PartsPerMillion::ONE), of: CostUnit::Task, source: CostSource::Job };
    let sourced = Sourced { value: ExactDecimal(PartsPerMillion::ONE), source: CostSource::System };
    ReportedJob {
        job: job_id(2),
        name: "count words".to_owned(),
        user: "alice".to_owned(),
        queue: "alice".to_owned(),
        group: "alice".to_owned(),
        priority: Priority::Normal,
        state: "ON_TIME".to_owned(),
        has_begun: true,
        submit_ms: START_MS + 2,
        tasks: PerKind::new(3, 1),
        finished: PerKind::default(),
        running: PerKind::new(1, 0),
        held: PerKind::new(1, 0),
        waiting: PerKind::new(2, 1),
        place: PerKind::default(),
        held_back_by: vec![PendingReason::NotFunded { budget: credits("7319.625"), bid: credits("3.3719") }],
        capacity: None,
        pool: None,
        deadline: Some(JobDeadline {
            deadline_at_ms: START_MS + 60_000,
            left_ms: 59_000,
            min_maps: 2,
            min_reduces: 1,
            planned_start_ms: None,
            reduce_start_limit_ms: 30_000,
            map_cost: cost,
            reduce_cost: cost,
            copy_ms_per_mb: sourced,
            filter_ratio: sourced,
        }),
    }
}
