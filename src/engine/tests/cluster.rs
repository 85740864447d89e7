//! A cluster without processes: trackers that obey answers, clients that submit, a clock that only tests move.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::engine::{
    Caller, Effect, Engine, EngineConfig, Event, Fact, ForeignJob, HeartbeatAnswer, IdOwner, PolicyConfig, QueueConfig,
    ReadSubmission, Refusal, Reply, Restored, Step, SubmissionReply,
};
use crate::fake_tracker::{AttemptStep, FakeAttempt, FakeTracker, Role};
use crate::mapreduce::{JobSpec, SplitTable, TaskState};
use crate::market::{Answer, JobSignature, MarketError, ParsedQuery, ServletRequest, VerifiedUser};
use crate::model::{AttemptId, AttemptState, FactNumber, JobId, Kind, Now, PerKind, RunState};
use crate::scheduler::FifoOptions;
use crate::wire::{
    Action, Counter, CounterGroup, Counters, HeartbeatRequest, HeartbeatResponse, Phase, ReduceProgress,
    ReportedCounters, TaskStatus,
};

/// What a fake task does when its tracker next calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Succeed,
    Fail,
    FailUnclean,
    Hang,
    /// Does not even start.
    Linger,
}

pub(crate) type FakeTask = FakeAttempt;

pub(crate) struct ConnectedTracker {
    fake: FakeTracker,
    pub(crate) connection: u64,
}

impl Deref for ConnectedTracker {
    type Target = FakeTracker;

    fn deref(&self) -> &FakeTracker {
        &self.fake
    }
}

impl DerefMut for ConnectedTracker {
    fn deref_mut(&mut self) -> &mut FakeTracker {
        &mut self.fake
    }
}

pub(crate) struct Cluster {
    pub(crate) engine: Engine,
    pub(crate) config: EngineConfig,
    pub(crate) now: Now,
    pub(crate) trackers: Vec<ConnectedTracker>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) effects: Vec<Effect>,
    /// The rack of all hosts, as submissions name it.
    pub(crate) rack: String,
    /// What the effects of the last step wait for.
    pub(crate) effects_wait_for: FactNumber,
    /// Every attempt ever launched for real work, to catch a second launch.
    pub(crate) launched: BTreeSet<AttemptId>,
}

pub(crate) fn config(policy: PolicyConfig) -> EngineConfig {
    let identifier = "202611210913".parse().unwrap();
    EngineConfig { queues: vec![QueueConfig::open("default")], ..EngineConfig::with_defaults(identifier, policy) }
}

pub(crate) fn fifo() -> PolicyConfig {
    PolicyConfig::Fifo(FifoOptions::default())
}

pub(crate) fn dynamic() -> PolicyConfig {
    PolicyConfig::Dynamic { alloc_interval_ms: 1_000, kill_interval_ms: None }
}

pub(crate) fn spec(user: &str, queue: &str, maps: u32, reduces: u32) -> JobSpec {
    JobSpec::with_defaults(user, queue, maps, reduces)
}

impl Cluster {
    pub(crate) fn new(policy: PolicyConfig) -> Self {
        Self::of(config(policy))
    }

    /// With a market, whether it rules or not.
    pub(crate) fn with_market(policy: PolicyConfig) -> Self {
        Self::of(EngineConfig { market: Some(Default::default()), ..config(policy) })
    }

    pub(crate) fn of(config: EngineConfig) -> Self {
        let now = Now { mono_ms: 1_000_000, wall_ms: 1_795_252_000_000 };
        let mut engine = Engine::new(config.clone(), Restored::default(), now);
        let (first, facts) = engine.take_start_facts();
        assert_eq!(first, FactNumber(1));
        Self {
            engine,
            config,
            now,
            trackers: Vec::new(),
            facts,
            effects: Vec::new(),
            rack: "/default-rack".into(),
            effects_wait_for: FactNumber(0),
            launched: BTreeSet::new(),
        }
    }

    pub(crate) fn add_tracker(&mut self, host: &str, maps: u32, reduces: u32) -> usize {
        let connection = self.trackers.len() as u64 + 1;
        let name = format!("tracker_{host}:localhost/127.0.0.1:{connection}");
        let fake = FakeTracker::new(name, host, PerKind::new(maps, reduces));
        self.trackers.push(ConnectedTracker { fake, connection });
        self.trackers.len() - 1
    }

    pub(crate) fn pass_ms(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms as i64;
    }

    /// A step with everything that must always hold of one.
    pub(crate) fn step(&mut self, event: Event) -> (Reply, FactNumber) {
        let last = FactNumber(self.facts.len() as u64);
        let Step { reply, wait_for, effects, effects_wait_for, facts, first_fact } = self.engine.step(event, self.now);
        self.effects_wait_for = effects_wait_for;
        assert_eq!(first_fact.0, last.0 + 1, "facts are numbered without a gap");
        self.facts.extend(facts);
        assert!(wait_for.0 <= self.facts.len() as u64, "nothing waits for what never comes");
        self.effects.extend(effects);
        // Where a test makes a thousand jobs, the newest: a recount of all in each step would be most of its time.
        for job in self.engine.jobs.iter().skip(self.engine.jobs.iter().count().saturating_sub(100)) {
            job.assert_consistent(self.engine.cluster.scheduler.app_waiting(job.app));
            // Compatible Capacity counts what a killed job has left until its cleanup has ended.
            let kept = matches!(self.engine.config.policy, PolicyConfig::Capacity { is_compatible: true, .. });
            let pending = if kept { job.hadoop_pending() } else { job.pending() };
            assert_eq!(self.engine.cluster.scheduler.app_pending(job.app), pending, "{}: pending", job.id);
        }
        self.assert_leaving();
        self.assert_status();
        self.assert_requests();
        (reply, wait_for)
    }

    /// What is kept for who asks about the cluster is what a recount gives.
    fn assert_status(&self) {
        let status = self.engine.cluster_status(true).value;
        for of_state in [&status.active, &status.blacklisted, &status.graylisted] {
            assert_eq!(of_state.count as usize, of_state.names.len(), "{status:?}");
        }
        let busy = |kind: Kind| self.engine.trackers.iter().map(|tracker| u64::from(tracker.busy[kind])).sum::<u64>();
        for kind in Kind::ALL {
            assert_eq!(self.engine.trackers.busy_slots()[kind], busy(kind), "{kind:?}: slots in use");
        }
    }

    /// The scheduler counts what applications ask for and hold.
    fn assert_requests(&self) {
        let Engine { applications, cluster, .. } = &self.engine;
        for application in applications.iter() {
            let Some(app) = applications.app(application.id()) else { continue };
            let rows: u64 = cluster.scheduler.rows_of(app).iter().map(|row| u64::from(row.count)).sum();
            let asked = application.tables.values().flat_map(|table| table.rows.values());
            assert_eq!(rows, asked.map(|row| u64::from(row.count)).sum::<u64>(), "{}", application.id());
            let running = cluster.scheduler.app_containers(app).running;
            assert_eq!(running as usize, application.counts.live.len(), "{}", application.id());
        }
    }

    /// What the scheduler believes to come free is what a recount gives.
    fn assert_leaving(&self) {
        let scheduler = &self.engine.cluster.scheduler;
        for group in self.engine.jobs.iter().filter_map(|job| scheduler.group_of(job.app)).collect::<BTreeSet<_>>() {
            let queue = scheduler.group_name(group).unwrap();
            let jobs = || self.engine.jobs.iter().filter(|job| scheduler.group_of(job.app) == Some(group));
            for kind in Kind::ALL {
                let leaving: usize = jobs().map(|job| job.releasing(kind)).sum();
                let kept = self.engine.cluster.scheduler.usage(group)[kind] as usize - leaving;
                assert_eq!(
                    self.engine.cluster.scheduler.retained(group)[kind] as usize,
                    kept,
                    "{queue} {kind:?}: kept"
                );
            }
        }
    }

    /// Rings the timer, with a store that is never behind.
    pub(crate) fn timer(&mut self) -> FactNumber {
        let durable = FactNumber(self.facts.len() as u64);
        self.step(Event::Timer { durable }).1
    }

    pub(crate) fn new_job_id(&mut self, user: &str) -> JobId {
        match self.step(Event::NewJobId { owner: IdOwner::named(user) }).0 {
            Reply::JobId(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn submit(&mut self, spec: JobSpec) -> Result<JobId, Refusal> {
        self.submit_signed(spec, JobSignature::Missing)
    }

    /// Maps and reduces of a job take so many slots if launched from now on.
    pub(crate) fn set_slots_per_task(&mut self, id: JobId, slots: PerKind<NonZeroU32>) {
        if let Some(job) = self.engine.jobs.get_mut(id) {
            job.set_slots_per_task(slots, &mut self.engine.cluster.scheduler);
        }
    }

    pub(crate) fn signature(&self, user: &str) -> JobSignature {
        let acl = crate::market::Acl::parse(&format!("{user} user secret\n"), "acl").unwrap();
        let key_id = acl.get(user).unwrap().key.key_id();
        JobSignature::Verified {
            user: VerifiedUser { user: user.into(), role: crate::market::Role::User, key_id },
            timestamp_ms: self.now.wall_ms,
        }
    }

    /// Asks the market for something, as its administrator.
    pub(crate) fn admin_asks(&mut self, operation: &str) -> Result<Answer, MarketError> {
        let query = format!("{operation}&user=root&timestamp={}", self.now.wall_ms);
        self.ask(ParsedQuery::parse(&query).unwrap(), true)
    }

    /// Asks the market for something, as the user that the query names.
    pub(crate) fn ask(&mut self, parsed: ParsedQuery, is_admin: bool) -> Result<Answer, MarketError> {
        let user = parsed.user.clone().unwrap();
        let role = if is_admin { crate::market::Role::Admin } else { crate::market::Role::User };
        let key_id = crate::market::Key::new("secret").key_id();
        let request = ServletRequest { verified: Some(VerifiedUser { user, role, key_id }), query: parsed };
        match self.step(Event::Market(Box::new(request))) {
            (Reply::Market(answer), wait_for) => {
                assert_eq!(wait_for.0, self.facts.len() as u64, "answers show durable state only");
                answer
            }
            other => panic!("{other:?}"),
        }
    }

    /// A submission as the edge reads it: every map has its input on `h0` or `h1`.
    pub(crate) fn read_submission(&self, id: JobId, spec: JobSpec, signature: JobSignature) -> ReadSubmission {
        let mut splits = SplitTable::builder();
        for map in 0..spec.maps {
            let host = format!("h{}", map % 2);
            splits.push(7 + i64::from(map), 100, [host.as_str()]);
        }
        ReadSubmission {
            id,
            caller: Caller::named(spec.user.as_str()),
            spec: Arc::new(spec),
            splits: Arc::new(splits.build(|_| self.rack.clone())),
            credentials: Default::default(),
            signature,
            token_secret: [7; 20],
            job_xml: Arc::default(),
        }
    }

    pub(crate) fn submit_signed(&mut self, spec: JobSpec, signature: JobSignature) -> Result<JobId, Refusal> {
        let id = self.new_job_id(&spec.user);
        self.submit_as(id, spec, signature)
    }

    pub(crate) fn submit_as(&mut self, id: JobId, spec: JobSpec, signature: JobSignature) -> Result<JobId, Refusal> {
        let caller = Caller::named(spec.user.as_str());
        match self.step(Event::SubmissionRequested { id, caller: caller.clone() }).0 {
            Reply::Submission(SubmissionReply::ReadFiles) => {}
            other => panic!("{other:?}"),
        }
        let read = self.read_submission(id, spec, signature);
        match self.step(Event::SubmissionRead(Box::new(read))).0 {
            Reply::Submission(SubmissionReply::WriteSystemDir { job, .. }) => assert_eq!(job, id),
            Reply::Refused(refusal) => return Err(refusal),
            other => panic!("{other:?}"),
        }
        match self.step(Event::SystemDirWritten { id }) {
            (Reply::Submission(SubmissionReply::Accepted(status)), wait_for) => {
                assert_eq!((status.id, status.run_state), (id, RunState::Prep));
                assert_eq!(wait_for.0, self.facts.len() as u64, "acceptance waits for its fact");
                Ok(id)
            }
            (Reply::Refused(refusal), _) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    /// A job that another JobTracker had accepted is handed in.
    pub(crate) fn find(&mut self, id: JobId, spec: JobSpec) -> Result<(), Refusal> {
        let read = self.read_submission(id, spec, JobSignature::Missing);
        let found = ForeignJob {
            id,
            spec: read.spec,
            splits: read.splits,
            token_file: Arc::from(&b"theirs"[..]),
            job_xml: Arc::default(),
        };
        match self.step(Event::ForeignJobFound(Box::new(found))) {
            (Reply::Submission(SubmissionReply::Accepted(_)), wait_for) => {
                assert_eq!(wait_for.0, self.facts.len() as u64, "acceptance waits for its fact");
                Ok(())
            }
            (Reply::Refused(refusal), _) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    /// Another JobTracker has given a tracker these attempts; it is at work on them.
    pub(crate) fn give_elsewhere(&mut self, index: usize, attempts: impl IntoIterator<Item = AttemptId>) {
        let tracker = &mut self.trackers[index];
        tracker.is_registered = true;
        tracker.unanswered = None;
        for id in attempts {
            self.launched.insert(id);
            tracker.attempts.push(FakeAttempt {
                id,
                role: Role::Work,
                slots: 1,
                state: AttemptState::Running,
                reported: None,
                may_commit: false,
                plan: (),
            });
        }
    }

    pub(crate) fn state(&self, id: JobId) -> RunState {
        self.engine.job_status(id).value.unwrap().run_state
    }

    /// The heartbeat that a tracker would send now; ended tasks are reported once.
    pub(crate) fn request(&mut self, index: usize) -> HeartbeatRequest {
        let tracker = &mut self.trackers[index].fake;
        let mut request = tracker.request(tracker.attempts.iter().map(report).collect());
        request.restarted = request.initial_contact;
        request
    }

    /// One heartbeat: every task first does what `fate` says, then the tracker calls and obeys.
    pub(crate) fn beat(&mut self, index: usize, fate: impl Fn(&FakeTask) -> Fate) -> (HeartbeatResponse, FactNumber) {
        if let Some(request) = self.trackers[index].unanswered.take() {
            return self.send(index, request);
        }
        for task in &mut self.trackers[index].attempts {
            advance(task, fate(task));
        }
        let request = self.request(index);
        self.send(index, request)
    }

    /// A heartbeat whose answer does not arrive.
    pub(crate) fn beat_unanswered(&mut self, index: usize, fate: impl Fn(&FakeTask) -> Fate) {
        if self.trackers[index].unanswered.is_none() {
            for task in &mut self.trackers[index].attempts {
                advance(task, fate(task));
            }
            self.trackers[index].unanswered = Some(self.request(index));
        }
        let Some(request) = self.trackers[index].unanswered.clone() else { return };
        let connection = self.trackers[index].connection;
        self.step(Event::Heartbeat { request, connection, address: None });
    }

    pub(crate) fn send(&mut self, index: usize, request: HeartbeatRequest) -> (HeartbeatResponse, FactNumber) {
        let connection = self.trackers[index].connection;
        let sent_id = request.response_id;
        let sent = request.status.tasks.clone();
        let (reply, wait_for) = self.step(Event::Heartbeat { request, connection, address: None });
        let response = match reply {
            Reply::Heartbeat(answer) => decode(answer),
            other => panic!("a heartbeat is never refused here: {other:?}"),
        };
        if !response.actions.contains(&Action::ReinitTracker) {
            assert_eq!(response.response_id, sent_id.wrapping_add(1));
        }
        self.obey(index, &response, &sent);
        (response, wait_for)
    }

    /// A tracker gets an answer to a heartbeat without reports.
    pub(crate) fn obeyed(&mut self, index: usize, answer: HeartbeatAnswer) {
        self.obey(index, &decode(answer), &[]);
    }

    fn obey(&mut self, index: usize, response: &HeartbeatResponse, sent: &[TaskStatus]) {
        let tracker = &mut self.trackers[index].fake;
        // A test may have changed the reports.
        for attempt in &mut tracker.attempts {
            attempt.reported = sent.iter().find(|report| report.attempt == attempt.id).map(|report| report.state);
        }
        for action in &response.actions {
            if let Action::KillTask(attempt) = action {
                // One that came second is of no use.
                let needed = tracker.outputs.contains(attempt) && is_winner(&self.engine, *attempt);
                assert!(!needed, "{attempt} is a successful map: its output would go");
            }
        }
        let obeyed = tracker.obey(response, |_| ());
        tracker.commit_permitted();
        for (id, role) in obeyed.launched {
            assert!(role == Role::TaskCleanup || self.launched.insert(id), "{id} was launched twice");
            assert!(tracker.attempts.iter().filter(|known| known.id == id).count() <= 1, "{id} runs already");
        }
    }

    /// A tracker's process ends, and another takes its place under its name.
    pub(crate) fn restart(&mut self, index: usize) {
        let connection = self.trackers[index].connection;
        self.step(Event::ConnectionClosed { connection });
        let tracker = &mut self.trackers[index];
        tracker.restart();
        tracker.connection += 100;
    }

    /// Lets all trackers call in turn until the job is over.
    pub(crate) fn run(&mut self, id: JobId, fate: impl Fn(&FakeTask) -> Fate) -> RunState {
        for _ in 0..500 {
            for index in 0..self.trackers.len() {
                self.pass_ms(100);
                self.beat(index, &fate);
            }
            if !matches!(self.state(id), RunState::Prep | RunState::Running) {
                return self.state(id);
            }
        }
        panic!("{id} does not end: {:?}", self.engine.job_status(id));
    }
}

fn is_winner(engine: &Engine, attempt: AttemptId) -> bool {
    let Some(job) = engine.jobs.get(attempt.task.job) else { return false };
    let key = job.key_of(attempt.task).unwrap();
    let task = job.task(key);
    task.position(attempt.number).is_some_and(|position| task.state == TaskState::Complete(position))
}

pub(crate) fn advance(task: &mut FakeTask, fate: Fate) {
    use AttemptState as S;
    task.advance(match (task.state, fate) {
        (S::Unassigned, Fate::Linger) => AttemptStep::Wait,
        (S::Unassigned | S::FailedUnclean | S::KilledUnclean, _) | (S::Running, Fate::Succeed) => AttemptStep::Advance,
        (S::Running, Fate::Fail) => AttemptStep::Fail,
        (S::Running, Fate::FailUnclean) => AttemptStep::FailUnclean,
        _ => AttemptStep::Wait,
    });
}

fn report(task: &FakeTask) -> TaskStatus {
    let ended = !matches!(task.state, AttemptState::Unassigned | AttemptState::Running);
    TaskStatus {
        attempt: task.id,
        progress: if ended { 1.0 } else { 0.5 },
        num_slots: task.slots.cast_signed(),
        state: task.state,
        diagnostics: if task.state == AttemptState::Failed { "it broke".into() } else { "".into() },
        state_text: "".into(),
        phase: if task.role == Role::TaskCleanup { Phase::Cleanup } else { Phase::Map },
        start_ms: 1_795_252_000_000,
        finish_ms: if ended { 1_795_252_001_000 } else { 0 },
        // As a map that writes as much as it reads.
        output_bytes: if ended && task.role != Role::Housekeeping { 100 } else { -1 },
        counters: (task.state != AttemptState::Unassigned).then(|| {
            // What runs has counted half, some of it under a name that its end does not mention.
            let counter = |name: &str, value| Counter { name: name.into(), display_name: None, value };
            let counters = match (ended, task.id.task.number % 2) {
                (true, _) => vec![counter("IN", 10)],
                (false, 0) => vec![counter("IN", 5)],
                (false, _) => vec![counter("IN", 5), counter("OPEN", 0)],
            };
            let group = CounterGroup { name: "records".into(), display_name: "Records".into(), counters };
            ReportedCounters::from(&Counters { groups: vec![group] })
        }),
        next_record_range: Default::default(),
        reduce: (task.kind() == Kind::Reduce).then(ReduceProgress::default),
    }
}

pub(crate) fn decode(answer: HeartbeatAnswer) -> HeartbeatResponse {
    answer.response().unwrap().into_owned()
}
