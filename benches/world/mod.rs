//! A cluster for benchmarks: an engine with jobs in queues of their own, and trackers that speak to it.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

mod queues;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jobtracker::engine::{
    Caller, Engine, Event, HeartbeatAnswer, IdOwner, PolicyConfig, ReadSubmission, Reply, SubmissionReply,
};
use jobtracker::fake_tracker::{AttemptStep, FakeAttempt, FakeTracker};
use jobtracker::mapreduce::{JobSpec, SplitTable};
use jobtracker::market::{Account, JobSignature, KeyId, ParsedQuery, Role, ServletRequest, VerifiedUser};
use jobtracker::model::{AttemptState, FactNumber, JobId, Now, PerKind, QueueName};
use jobtracker::wire::frame::LENGTH_BYTES;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value, decode_call, encode_call, encode_response};
use jobtracker::wire::{Decode, HeartbeatRequest, HeartbeatResponse, Reader, TaskStatus};

/// Maps of all jobs together.
pub const MAPS: usize = 400_000;
/// Hosts that hold their input.
pub const HOSTS: usize = 1_000;

/// An engine and the clock it is told.
pub struct World {
    pub engine: Engine,
    pub now: Now,
}

/// A fake tracker whose slots are all in use by maps, with the reports of a recorded one.
pub struct BusyTracker {
    fake: FakeTracker,
    running: TaskStatus,
    succeeded: TaskStatus,
    out: Vec<u8>,
}

fn recorded(name: &str) -> HeartbeatRequest {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hadoop1/rpc");
    let bytes = std::fs::read(folder.join(format!("InterTrackerProtocol.heartbeat.{name}.request.bin"))).unwrap();
    match decode_call(Protocol::InterTracker, &bytes[LENGTH_BYTES..]).unwrap().call {
        Call::InterTracker(InterTrackerCall::Heartbeat { request }) => *request,
        other => panic!("{other:?}"),
    }
}

fn spec(user: &str, maps: usize) -> JobSpec {
    JobSpec {
        submit_dir: "hdfs://namenode:8020/tmp/hadoop/staging/someone/.staging/job_202611210913_0001".into(),
        job_file: "hdfs://namenode:8020/tmp/hadoop/staging/someone/.staging/job_202611210913_0001/job.xml".into(),
        split_file: "hdfs://namenode:8020/tmp/hadoop/staging/someone/.staging/job_202611210913_0001/job.split".into(),
        slowstart_millionths: 1_000_000,
        ..JobSpec::with_defaults(user, user, maps as u32, 1)
    }
}

fn decoded(reply: Reply) -> HeartbeatResponse {
    match reply {
        Reply::Heartbeat(answer) => answer.response().unwrap().into_owned(),
        other => panic!("{other:?}"),
    }
}

impl World {
    /// A daemon with a queue for each of `users`.
    pub fn new(policy: PolicyConfig, users: &[String]) -> Self {
        let (engine, now) = queues::engine_with_queues(policy, users, "1000000");
        Self { engine, now }
    }

    pub fn step(&mut self, event: Event) -> Reply {
        self.engine.step(event, self.now).reply
    }

    /// A job whose maps have three copies of their input each, up to its acceptance.
    pub fn submission(&mut self, user: &str, maps: usize) -> ReadSubmission {
        self.now.wall_ms += 1;
        let Reply::JobId(id) = self.step(Event::NewJobId { owner: IdOwner::named(user) }) else { panic!("no job id") };
        let caller = Caller::named(user);
        self.step(Event::SubmissionRequested { id, caller: caller.clone() });
        let mut splits = SplitTable::builder();
        for map in 0..maps {
            let hosts = [0, 1, 2].map(|copy| format!("node{}.example.org", (map * 7 + copy * 331) % HOSTS));
            splits.push(map as i64 * 100, 1 << 27, hosts.iter().map(String::as_str));
        }
        let signer = VerifiedUser { user: user.into(), role: Role::User, key_id: KeyId(1) };
        ReadSubmission {
            id,
            caller,
            spec: Arc::new(spec(user, maps)),
            splits: Arc::new(splits.build(|host| format!("/rack{}", host.len() % 40))),
            credentials: Default::default(),
            signature: JobSignature::Verified { user: signer, timestamp_ms: self.now.wall_ms },
            token_secret: [7; 20],
            job_xml: Arc::default(),
        }
    }

    pub fn accept(&mut self, read: ReadSubmission) -> JobId {
        let id = read.id;
        self.step(Event::SubmissionRead(Box::new(read)));
        match self.step(Event::SystemDirWritten { id }) {
            Reply::Submission(SubmissionReply::Accepted(_)) => id,
            other => panic!("{other:?}"),
        }
    }

    /// The setups of all jobs run on one large tracker, which then takes no more work.
    pub fn set_up(&mut self) {
        let mut tracker: FakeTracker = FakeTracker {
            name: "tracker_setup.example.org:localhost/127.0.0.1:1".into(),
            host: "setup.example.org".into(),
            slots: PerKind::new(50_000, 0),
            ..FakeTracker::of_status(&recorded("idle").status)
        };
        let succeeded = report_of("map-succeeded", AttemptState::Succeeded);
        let succeed = |attempt: &mut FakeAttempt| {
            run(attempt);
            attempt.advance(AttemptStep::Advance);
            TaskStatus { attempt: attempt.id, state: attempt.state, ..succeeded.clone() }
        };
        // An answer brings a thousand setups at most.
        loop {
            let preparing = self.engine.build_snapshot(self.now).value.preparing_jobs;
            if tracker.attempts.len() == preparing as usize {
                // The last reports.
                tracker.slots = PerKind::new(0, 0);
            }
            let reports = tracker.attempts.iter_mut().map(succeed).collect();
            let request = tracker.request(reports);
            let answer = decoded(self.step(Event::Heartbeat { request, connection: 1, address: None }));
            tracker.attempts.clear();
            tracker.obey(&answer, |_| ());
            if tracker.slots.map == 0 {
                return;
            }
        }
    }

    /// One more tracker, with slots, that runs only Hadoop Streaming.
    pub fn add_builtin_tracker(&mut self) {
        let name = "tracker_builtin:streaming_only/127.0.0.1:2";
        let mut tracker: FakeTracker = FakeTracker::new(name, "builtin", PerKind::new(4, 2));
        let request = tracker.request(Vec::new());
        self.step(Event::Heartbeat { request, connection: 2, address: None });
    }

    /// `jobs` that run, each in a queue of its own, with enough maps waiting; and idle trackers around.
    pub fn with_jobs(policy: PolicyConfig, jobs: usize) -> Self {
        Self::with_jobs_of(policy, jobs, |_, _| {})
    }

    /// The same with jobs changed by number, as they are submitted.
    pub fn with_jobs_of(policy: PolicyConfig, jobs: usize, change: impl Fn(usize, &mut JobSpec)) -> Self {
        let users: Vec<String> = (0..jobs).map(|user| format!("user{user}")).collect();
        let mut world = Self::new(policy, &users);
        for (number, user) in users.iter().enumerate() {
            let mut read = world.submission(user, MAPS / jobs);
            change(number, Arc::make_mut(&mut read.spec));
            world.accept(read);
        }
        world.set_up();
        world.tick();
        world
    }

    /// Every queue bids something else than before; each owner asks itself, since nobody may sign so often.
    pub fn change_bids(&mut self, round: usize) {
        let queues: Vec<QueueName> = self.engine.market().unwrap().queues().cloned().collect();
        for (number, queue) in queues.iter().enumerate() {
            self.now.wall_ms += 1;
            let rate = (number * 31 + round * 17) % 97 + 1;
            let query = format!("setSpending=0.{rate:02}&queue={queue}&user={queue}&timestamp={}", self.now.wall_ms);
            let owner =
                VerifiedUser { user: queue.as_str().into(), role: Role::User, key_id: KeyId(number as u64 + 3) };
            let request = ServletRequest { verified: Some(owner), query: ParsedQuery::parse(&query).unwrap() };
            let Reply::Market(answer) = self.step(Event::Market(Box::new(request))) else { panic!("no answer") };
            answer.unwrap();
        }
    }

    /// The first jobs get deadline orders, each for ten minutes.
    pub fn order(&mut self, jobs: usize) {
        let root = VerifiedUser { user: "root".into(), role: Role::Admin, key_id: KeyId(2) };
        for number in 1..=jobs {
            self.now.wall_ms += 1;
            let (now_ms, deadline_ms) = (self.now.wall_ms, self.now.wall_ms + 600_000);
            let query = format!(
                "bid=job_202611210913_{number:04}&deadline={deadline_ms}&maxRate=50&user=root&timestamp={now_ms}"
            );
            let request = ServletRequest { verified: Some(root.clone()), query: ParsedQuery::parse(&query).unwrap() };
            let Reply::Market(answer) = self.step(Event::Market(Box::new(request))) else { panic!("no answer") };
            answer.unwrap();
        }
    }

    /// Queues whose rate an order sets.
    pub fn raised_queues(&self) -> usize {
        let market = self.engine.market().unwrap();
        let is_raised = |queue: &&QueueName| {
            market
                .account(queue.as_str())
                .and_then(Account::interval)
                .is_some_and(|interval| interval.by_order.is_some())
        };
        market.queues().filter(is_raised).count()
    }

    pub fn tick(&mut self) {
        self.now.mono_ms += 1_000;
        self.now.wall_ms += 1_000;
        self.step(Event::Timer { durable: FactNumber(u64::MAX) });
    }
}

/// The first report of a recorded heartbeat that is in this state.
fn report_of(name: &str, state: AttemptState) -> TaskStatus {
    recorded(name).status.tasks.into_iter().find(|report| report.state == state).unwrap()
}

/// Its process is there by the first report.
fn run(attempt: &mut FakeAttempt) {
    if !attempt.has_begun() {
        attempt.advance(AttemptStep::Advance);
    }
}

impl BusyTracker {
    /// One on a host, that takes maps until all its slots are in use.
    pub fn new(world: &mut World, host: usize, slots: usize) -> Self {
        let mut tracker = Self::registered(world, host, slots);
        for _ in 0..slots {
            tracker.beat_untimed(world);
            if !tracker.has_room() {
                return tracker;
            }
        }
        panic!("host {host} holds {} of {slots} maps", tracker.fake.attempts.len())
    }

    /// One on a host, after its first heartbeat, which may bring fewer maps than it has room for: they are spread.
    pub fn registered(world: &mut World, host: usize, slots: usize) -> Self {
        let fake = FakeTracker {
            name: format!("tracker_node{host}.example.org:localhost/127.0.0.1:40235"),
            host: format!("node{host}.example.org"),
            slots: PerKind::new(slots as u32, 0),
            ..FakeTracker::of_status(&recorded("map-succeeded").status)
        };
        let succeeded = report_of("map-succeeded", AttemptState::Succeeded);
        let running = TaskStatus { state: AttemptState::Running, counters: None, progress: 0.5, ..succeeded.clone() };
        let mut tracker = Self { fake, running, succeeded, out: Vec::new() };
        tracker.beat_untimed(world);
        tracker
    }

    /// Whether slots of it are free.
    pub fn has_room(&self) -> bool {
        self.fake.has_room()
    }

    fn beat_untimed(&mut self, world: &mut World) {
        let request = self.request(false);
        let response = decoded(world.step(Event::Heartbeat { request, connection: 2, address: None }));
        self.fake.obey(&response, |_| ());
    }

    /// Its next heartbeat, in which its oldest map has finished or not.
    fn request(&mut self, finishes: bool) -> HeartbeatRequest {
        self.fake.attempts.iter_mut().for_each(run);
        if let Some(oldest) = self.fake.attempts.first_mut().filter(|_| finishes) {
            oldest.advance(AttemptStep::Advance);
        }
        let report = |attempt: &FakeAttempt| {
            let template = if attempt.is_kept() { &self.running } else { &self.succeeded };
            TaskStatus { attempt: attempt.id, ..template.clone() }
        };
        let reports = self.fake.attempts.iter().map(report).collect();
        self.fake.request(reports)
    }

    /// One heartbeat from bytes to bytes, and the time that took.
    pub fn beat(&mut self, world: &mut World, finishes: bool) -> Duration {
        let request = Box::new(self.request(finishes));
        let mut frame = Vec::new();
        encode_call(&mut frame, 5, &Call::InterTracker(InterTrackerCall::Heartbeat { request }));

        let start = Instant::now();
        let call = decode_call(Protocol::InterTracker, black_box(&frame[LENGTH_BYTES..])).unwrap();
        let Call::InterTracker(InterTrackerCall::Heartbeat { request }) = call.call else { panic!("no heartbeat") };
        let step = world.engine.step(Event::Heartbeat { request: *request, connection: 2, address: None }, world.now);
        let value = match step.reply {
            Reply::Heartbeat(HeartbeatAnswer::Fresh(response)) => Value::Heartbeat(response),
            Reply::Heartbeat(HeartbeatAnswer::Encoded(body)) => Value::EncodedHeartbeat(body),
            other => panic!("{other:?}"),
        };
        self.out.clear();
        encode_response(&mut self.out, call.id, &value);
        let took = start.elapsed();

        black_box(step.facts);
        let response = match value {
            Value::Heartbeat(response) => response,
            Value::EncodedHeartbeat(body) => HeartbeatResponse::decode(&mut Reader::new(&body)).unwrap(),
            other => panic!("{other:?}"),
        };
        self.fake.obey(&response, |_| ());
        took
    }
}
