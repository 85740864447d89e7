//! A cluster with workers that take containers, and applications that ask for them.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::api::applications::{
    AllocateAnswer, AllocateCall, AskRow, ContainerStart, LaunchOnGrant, LaunchSource, Placement, RegisterCall,
    Submission,
};
use crate::api::{
    BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, ContainerLaunch, ContextId, DeclaredBag, ReportedUse,
    WorkerBeat,
};
use crate::engine::{
    Application, ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRefusal, ApplicationRequest,
    ApplicationWait, BeatRefusal, BeatReply, Caller, Event, Reply, WorkerBeatEvent,
};
use crate::model::{
    ApplicationId, ApplicationSecret, Capability, ContainerExit, ContainerId, DEFAULT_RACK, LaunchContext, PerKind,
    Priority,
};
use crate::wire::{BEAT_DIGEST, HealthStatus, LACKS};

use crate::engine::tests::cluster::{Cluster, FakeTask, Fate, advance, fifo};

pub(crate) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const ONE: Capability = Capability::new(1_024, 1);

/// A worker as it knows itself.
pub(crate) struct FakeWorker {
    pub(crate) incarnation: u64,
    pub(crate) capability: Capability,
    beats: u64,
    pub(crate) containers: BTreeMap<ContainerId, BeatContainerState>,
    pub(crate) unhealthy: Option<String>,
    pub(crate) keeps_contexts: bool,
    pub(crate) contexts: BTreeMap<ContextId, LaunchContext>,
    /// What the next beat says of what is used.
    pub(crate) usage: Vec<ReportedUse>,
    pub(crate) attempt_usage: Option<Vec<ReportedUse>>,
}

pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    pub(crate) workers: Vec<FakeWorker>,
}

impl Bench {
    /// One worker for each size, registered and well, without slots.
    pub(crate) fn new(sizes: &[Capability]) -> Self {
        Self::under(Cluster::new(fifo()), sizes)
    }

    pub(crate) fn under(cluster: Cluster, sizes: &[Capability]) -> Self {
        let workers: Vec<_> = sizes.iter().map(|size| (*size, PerKind::default())).collect();
        Self::of(cluster, &workers)
    }

    /// The same in a cluster that is there, each worker with slots.
    pub(crate) fn of(cluster: Cluster, workers: &[(Capability, PerKind<u32>)]) -> Self {
        let mut bench = Self { cluster, workers: Vec::new() };
        for (index, (capability, slots)) in workers.iter().enumerate() {
            let index = bench.add_worker_with(&format!("h{index}"), *capability, *slots);
            bench.heartbeat(index);
            bench.connect(index);
            bench.heartbeat(index);
        }
        bench
    }

    /// Adds a worker that has sent nothing yet.
    pub(crate) fn add_worker(&mut self, host: &str, capability: Capability) -> usize {
        self.add_worker_with(host, capability, PerKind::default())
    }

    fn add_worker_with(&mut self, host: &str, capability: Capability, slots: PerKind<u32>) -> usize {
        let index = self.cluster.add_tracker(host, slots.map, slots.reduce);
        self.cluster.trackers[index].name = format!("tracker_{host}:streaming_only/127.0.0.1:{}", index + 1);
        let (incarnation, containers) = (index as u64 + 1, BTreeMap::new());
        self.workers.push(FakeWorker {
            incarnation,
            capability,
            beats: 0,
            containers,
            unhealthy: None,
            keeps_contexts: false,
            contexts: BTreeMap::new(),
            usage: Vec::new(),
            attempt_usage: None,
        });
        index
    }

    /// The tasks of a worker do what `fate` says.
    pub(crate) fn advance(&mut self, index: usize, fate: impl Fn(&FakeTask) -> Fate) {
        for task in &mut self.cluster.trackers[index].attempts {
            advance(task, fate(task));
        }
    }

    pub(crate) fn secret(index: usize) -> String {
        format!("{index:064x}")
    }

    /// A heartbeat of a worker's tracker, with the digest of its secret. A host whose rack is asked for is in the default one.
    pub(crate) fn heartbeat(&mut self, index: usize) {
        self.heartbeat_without_rack(index);
        let asked = self.cluster.engine.trackers.unresolved_hosts.iter();
        for host in asked.cloned().collect::<Vec<_>>() {
            self.cluster.step(Event::RackResolved { host, rack: DEFAULT_RACK.to_owned() });
        }
    }

    /// A heartbeat, and nothing says where its host is.
    pub(crate) fn heartbeat_without_rack(&mut self, index: usize) {
        self.heartbeat_in_need(index, true, "");
    }

    /// A heartbeat of a worker that may be ill, and lacks this.
    pub(crate) fn heartbeat_in_need(&mut self, index: usize, healthy: bool, lack: &str) {
        self.cluster.pass_ms(10);
        let mut request = match self.cluster.trackers[index].unanswered.take() {
            Some(request) => request,
            None => self.cluster.request(index),
        };
        let digest: String = Sha256::digest(Self::secret(index)).iter().map(|byte| format!("{byte:02x}")).collect();
        let lack = if lack.is_empty() { String::new() } else { format!(" {LACKS}{lack}") };
        let report = format!("{BEAT_DIGEST}{digest}{lack}").into();
        request.status.health = HealthStatus { healthy, report, last_reported_ms: 0 };
        let connection = self.cluster.trackers[index].connection;
        let (reply, _) = self.cluster.step(Event::Heartbeat { request, connection, address: Some(ADDRESS) });
        let Reply::Heartbeat(answer) = reply else { panic!("{reply:?}") };
        self.cluster.obeyed(index, answer);
    }

    /// The first beat of a connection: all that the worker has.
    pub(crate) fn connect(&mut self, index: usize) -> BeatReply {
        self.workers[index].beats = 0;
        self.beat(index)
    }

    /// A beat with all that the worker has.
    pub(crate) fn beat(&mut self, index: usize) -> BeatReply {
        let reply = self.lose_answer(index);
        if let BeatReply::Answer(answer) = &reply {
            self.obey(index, answer);
        }
        reply
    }

    /// A beat whose answer gets lost.
    pub(crate) fn lose_answer(&mut self, index: usize) -> BeatReply {
        let worker = &mut self.workers[index];
        worker.beats += 1;
        let is_first = worker.beats == 1;
        let declared = DeclaredBag { capability: worker.capability, slot: Capability::new(1_024, 1) };
        let containers = worker.containers.iter().map(|(id, state)| BeatContainer { id: *id, state: state.clone() });
        let beat = WorkerBeat {
            tracker: self.cluster.trackers[index].name.to_string(),
            incarnation: worker.incarnation,
            secret: Self::secret(index),
            number: worker.beats,
            declared: is_first.then_some(declared),
            is_full: is_first,
            containers: containers.collect(),
            unhealthy: worker.unhealthy.clone(),
            keeps_contexts: worker.keeps_contexts,
            contexts: if is_first { worker.contexts.keys().copied().collect() } else { Vec::new() },
            usage: std::mem::take(&mut worker.usage),
            attempt_usage: worker.attempt_usage.take(),
        };
        self.send_beat(beat, ADDRESS)
    }

    pub(crate) fn send_beat(&mut self, beat: WorkerBeat, address: IpAddr) -> BeatReply {
        let event = WorkerBeatEvent::Came { beat: Box::new(beat), address: Some(address) };
        match self.cluster.step(Event::WorkerBeat(event)).0 {
            Reply::Beat(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    /// The worker does what it is answered; what it launches it has from then on.
    fn obey(&mut self, index: usize, answer: &BeatAnswer) {
        let worker = &mut self.workers[index];
        for launch in &answer.launches {
            worker.containers.entry(launch.id).or_insert(BeatContainerState::Launching);
        }
        for sent in &answer.contexts {
            let before = worker.contexts.insert(sent.id, sent.context.clone());
            assert_eq!(before, None, "{:?} was sent before", sent.id);
        }
        for launch in &answer.launches_by_context {
            let id = ContextId { application: launch.id.application, number: launch.context };
            assert!(worker.contexts.contains_key(&id), "{id:?} was not sent");
            worker.containers.entry(launch.id).or_insert(BeatContainerState::Launching);
        }
        for id in &answer.dropped_contexts {
            worker.contexts.remove(id);
        }
        for kill in &answer.kills {
            if worker.containers.contains_key(&kill.id) {
                worker.containers.insert(kill.id, ended(kill.exit, &kill.diagnostics));
            }
        }
        for noted in &answer.noted {
            worker.containers.remove(noted);
        }
    }

    /// All workers beat until they have nothing to hear.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let replies: Vec<BeatReply> = (0..self.workers.len()).map(|index| self.beat(index)).collect();
            if replies.iter().all(|reply| *reply == BeatReply::Waits) {
                return;
            }
        }
        panic!("the workers have something to hear again and again");
    }

    /// A container runs on its worker.
    pub(crate) fn start(&mut self, id: ContainerId) {
        let worker = self.workers.iter_mut().find(|worker| worker.containers.contains_key(&id)).unwrap();
        worker.containers.insert(id, BeatContainerState::Running { pid: 1, started_ms: 7 });
    }

    /// A container ends on its worker.
    pub(crate) fn end(&mut self, id: ContainerId, exit: i32) {
        let worker = self.workers.iter_mut().find(|worker| worker.containers.contains_key(&id)).unwrap();
        worker.containers.insert(id, ended(ContainerExit(exit), ""));
        self.settle();
    }

    /// All containers that workers have, in order, with what they run.
    pub(crate) fn on_workers(&self) -> Vec<ContainerId> {
        self.workers.iter().flat_map(|worker| worker.containers.keys().copied()).collect()
    }

    pub(crate) fn ask(&mut self, question: ApplicationQuestion) -> Result<ApplicationAnswer, ApplicationRefusal> {
        self.ask_as("alice", question)
    }

    pub(crate) fn ask_as(
        &mut self,
        user: &str,
        question: ApplicationQuestion,
    ) -> Result<ApplicationAnswer, ApplicationRefusal> {
        let caller = ApplicationCaller::User { caller: Caller::named(user), is_administrator: false, signed: None };
        self.request(ApplicationRequest::Asked { caller, question: Box::new(question) })
    }

    pub(crate) fn request(&mut self, request: ApplicationRequest) -> Result<ApplicationAnswer, ApplicationRefusal> {
        match self.cluster.step(Event::Application(Box::new(request))).0 {
            Reply::Application(answer) => answer.map(|answer| *answer),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn new_id(&mut self, user: &str) -> ApplicationId {
        match self.ask_as(user, ApplicationQuestion::NewId).unwrap() {
            ApplicationAnswer::NewId { application, .. } => application,
            other => panic!("{other:?}"),
        }
    }

    /// Submits an application of alice's.
    pub(crate) fn submit(&mut self, change: impl FnOnce(&mut Submission)) -> ApplicationId {
        let mut submission = submission(self.new_id("alice"));
        change(&mut submission);
        let id = submission.application_id;
        let answer = self.ask(submit_question(submission)).unwrap();
        assert!(matches!(answer, ApplicationAnswer::Submitted { application, .. } if application == id));
        id
    }

    /// Submits an application and registers a program.
    pub(crate) fn register(&mut self) -> Program {
        let application = self.submit(|_| {});
        let mut program = Program { application, attempt: 0, response_id: 0 };
        program.register(self);
        program
    }

    /// Submits an unattended application of these rows, with a spec `s`.
    pub(crate) fn unattended(&mut self, rows: Vec<AskRow>) -> ApplicationId {
        self.submit(|submission| {
            submission.specs.insert("s".to_owned(), context("true"));
            submission.unattended = Some(rows);
        })
    }

    pub(crate) fn application(&self, id: ApplicationId) -> &Application {
        self.cluster.engine.applications.get(id).unwrap()
    }

    /// The daemon is cut off and started again; workers and programs notice nothing but closed connections.
    pub(crate) fn crash(&mut self) {
        self.cluster.crash(1_000, |_| Fate::Hang);
        for index in 0..self.workers.len() {
            self.heartbeat(index);
            self.heartbeat(index);
            self.connect(index);
            self.heartbeat(index);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) application: ApplicationId,
    pub(crate) attempt: u32,
    pub(crate) response_id: u64,
}

impl Program {
    pub(crate) fn register(&mut self, bench: &mut Bench) {
        let question = ApplicationQuestion::Register { application: self.application, call: RegisterCall::default() };
        let owner = self.owner(bench);
        let answer = bench.ask_as(&owner, question).unwrap();
        let ApplicationAnswer::Registered(answer) = answer else { panic!("registered") };
        (self.attempt, self.response_id) = (answer.attempt, answer.response_id);
    }

    fn owner(&self, bench: &Bench) -> String {
        bench.application(self.application).submitted.user.to_string()
    }

    pub(crate) fn question(&self, call: AllocateCall) -> ApplicationQuestion {
        let call = AllocateCall { attempt: self.attempt, response_id: self.response_id, ..call };
        let digest = digest_of(&call);
        ApplicationQuestion::Allocate { application: self.application, call: Box::new(call), digest }
    }

    /// A call that is answered at once.
    pub(crate) fn call(&mut self, bench: &mut Bench, call: AllocateCall) -> AllocateAnswer {
        let owner = self.owner(bench);
        let answer = read(bench.ask_as(&owner, self.question(call)).unwrap());
        self.response_id = answer.response_id;
        answer
    }

    pub(crate) fn wait(&self) -> ApplicationWait {
        let Self { application, attempt, response_id } = *self;
        ApplicationWait::Allocate { application, attempt, response_id }
    }

    pub(crate) fn container(&self, number: u64) -> ContainerId {
        self.application.container(self.attempt, number)
    }
}

pub(crate) fn read(answer: ApplicationAnswer) -> AllocateAnswer {
    match answer {
        ApplicationAnswer::Allocated(body) => serde_json::from_slice(&body).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn digest_of(call: &AllocateCall) -> [u8; 32] {
    Sha256::digest(format!("{call:?}")).into()
}

pub(crate) fn submission(application_id: ApplicationId) -> Submission {
    Submission {
        application_id,
        name: "trial".to_owned(),
        application_type: String::new(),
        queue: None,
        priority: Priority::Normal,
        expiry_ms: 600_000,
        strict_gates: false,
        tracking_url: None,
        specs: BTreeMap::new(),
        unattended: None,
        master: None,
    }
}

pub(crate) fn submit_as(bench: &mut Bench, user: &str, change: impl FnOnce(&mut Submission)) -> ApplicationId {
    let mut submission = submission(bench.new_id(user));
    change(&mut submission);
    let id = submission.application_id;
    bench.ask_as(user, submit_question(submission)).unwrap();
    id
}

pub(crate) fn run_as(bench: &mut Bench, user: &str, rows: Vec<AskRow>) -> ApplicationId {
    submit_as(bench, user, |submission| {
        submission.specs.insert("s".to_owned(), context("true"));
        submission.unattended = Some(rows);
    })
}

pub(crate) fn submit_question(submission: Submission) -> ApplicationQuestion {
    let digest = Sha256::digest(format!("{submission:?}")).into();
    let secret = ApplicationSecret::new([7; 20]);
    ApplicationQuestion::Submit { submission: Box::new(submission), digest, secret }
}

pub(crate) fn context(program: &str) -> LaunchContext {
    LaunchContext::of_command(vec![program.to_owned()])
}

/// A row for so many containers of one slot anywhere.
pub(crate) fn row(priority: u32, num_containers: u32) -> AskRow {
    AskRow {
        priority,
        allocation_request_id: 0,
        resource_name: Placement::Any,
        capability: ONE,
        num_containers,
        relax_locality: true,
        launch: None,
    }
}

/// A row whose items start when they are granted.
pub(crate) fn items_row(items: &str, change: impl FnOnce(&mut LaunchOnGrant)) -> AskRow {
    let mut launch = LaunchOnGrant {
        spec: "s".to_owned(),
        items: Some(items.to_owned()),
        max_running: None,
        rules: Default::default(),
    };
    change(&mut launch);
    AskRow { launch: Some(launch), ..row(1, 0) }
}

pub(crate) fn asking(ask: Vec<AskRow>) -> AllocateCall {
    AllocateCall { ask, ..AllocateCall::default() }
}

pub(crate) fn launching(ids: &[ContainerId], program: &str) -> AllocateCall {
    let launch = ids.iter().map(|id| ContainerStart {
        container_id: *id,
        source: LaunchSource::Context(Box::new(context(program))),
        item: None,
    });
    AllocateCall { launch: launch.collect(), ..AllocateCall::default() }
}

pub(crate) fn ended(exit: ContainerExit, diagnostics: &str) -> BeatContainerState {
    BeatContainerState::Ended(ContainerEnd {
        exit,
        diagnostics: diagnostics.to_owned(),
        started_ms: None,
        ended_ms: 1_795_252_000_500,
        peak_memory_mb: 3,
        cpu_ms: 4,
    })
}

pub(crate) fn ids(answer: &AllocateAnswer) -> Vec<ContainerId> {
    answer.allocated_containers.iter().map(|container| container.container_id).collect()
}

pub(crate) fn statuses(answer: &AllocateAnswer) -> Vec<(u64, i32)> {
    let statuses = answer.completed_container_statuses.iter();
    statuses.map(|status| (status.container_id.number, status.exit_status.0)).collect()
}

pub(crate) fn launches(reply: BeatReply) -> Vec<ContainerLaunch> {
    match reply {
        BeatReply::Answer(answer) => answer.launches,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refused(reply: BeatReply) -> BeatRefusal {
    match reply {
        BeatReply::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}
