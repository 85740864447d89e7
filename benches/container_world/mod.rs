//! A cluster whose workers take containers, and applications that want them: an engine, and what the edges would tell it.

#![allow(dead_code, reason = "each user has a part of it")]

#[path = "../world/queues.rs"]
mod queues;

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use jobtracker::api::applications::{
    AllocateAnswer, AllocateCall, AskRow, ItemRules, LaunchOnGrant, Placement, RegisterCall, Submission,
};
use jobtracker::api::{BeatAnswer, BeatContainer, BeatContainerState, DeclaredBag, WorkerBeat};
use jobtracker::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRequest, BeatReply, Caller, Engine, Event,
    PolicyConfig, Reply, Step, WorkerBeatEvent,
};
use jobtracker::fake_tracker::{FakeTracker, report_end};
use jobtracker::model::{
    ApplicationId, ApplicationSecret, Capability, ContainerExit, ContainerId, DEFAULT_RACK, LaunchContext, Now,
    PerKind, Priority, hex,
};
use jobtracker::wire::BEAT_DIGEST;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// One slot's worth, and a container's.
pub const ONE: Capability = Capability::new(1_024, 1);

/// An engine and the clock it is told.
pub struct ContainerWorld {
    pub engine: Engine,
    pub now: Now,
    pub workers: Vec<WorldWorker>,
}

/// A worker: how often it has beaten, and what it has.
pub struct WorldWorker {
    name: String,
    number: u64,
    containers: Vec<ContainerId>,
    /// The last of them, which no beat has said: launches are repeated until then.
    unsaid: usize,
}

/// A program of an application, between two calls.
pub struct Program {
    pub application: ApplicationId,
    attempt: u32,
    response_id: u64,
    held: Vec<ContainerId>,
}

fn secret(number: usize) -> String {
    format!("{number:064x}")
}

fn row(count: u32, launch: Option<LaunchOnGrant>) -> AskRow {
    AskRow {
        priority: 1,
        allocation_request_id: 0,
        resource_name: Placement::Any,
        capability: ONE,
        num_containers: count,
        relax_locality: true,
        launch,
    }
}

/// The host of a worker.
pub fn host_of(number: usize) -> String {
    format!("node{number}.example.org")
}

/// The user, and the queue, of an application.
pub fn user_of(number: usize) -> String {
    format!("user{number}")
}

impl ContainerWorld {
    /// Workers with room for `room` containers each, and a queue for each of `users`, which has enough money under a market.
    pub fn new(policy: PolicyConfig, users: usize, workers: usize, room: u32) -> Self {
        let users: Vec<String> = (0..users).map(user_of).collect();
        let (engine, now) = queues::engine_with_queues(policy, &users, "100000000");
        let mut world = Self { engine, now, workers: Vec::new() };
        (0..workers).for_each(|number| world.add_worker(number, room));
        world
    }

    pub fn step(&mut self, event: Event) -> Step {
        self.engine.step(event, self.now)
    }

    fn add_worker(&mut self, number: usize, room: u32) {
        let host = host_of(number);
        let name = format!("tracker_{host}:streaming_only/127.0.0.1:{}", number + 1);
        let mut fake: FakeTracker = FakeTracker::new(name.clone(), host, PerKind::new(0, 0));
        for _ in 0..2 {
            let mut request = fake.request(Vec::new());
            let digest = hex(Sha256::digest(secret(number)).as_slice());
            request.status.health.report = format!("{BEAT_DIGEST}{digest}").into();
            let event = Event::Heartbeat { request, connection: number as u64 + 1, address: Some(ADDRESS) };
            let Reply::Heartbeat(answer) = self.step(event).reply else { panic!("no answer to a heartbeat") };
            fake.obey(&answer.response().unwrap(), |_| ());
        }
        let host = host_of(number);
        self.step(Event::RackResolved { host: host.into(), rack: DEFAULT_RACK.to_owned() });
        self.workers.push(WorldWorker { name, number: 0, containers: Vec::new(), unsaid: 0 });
        let event = self.beat(number, Some(ONE.times(room)), Vec::new());
        self.take(number, event);
    }

    fn beat(&mut self, number: usize, declared: Option<Capability>, containers: Vec<BeatContainer>) -> Event {
        let worker = &mut self.workers[number];
        worker.number += 1;
        let beat = WorkerBeat {
            tracker: worker.name.clone(),
            incarnation: number as u64 + 1,
            secret: secret(number),
            number: worker.number,
            is_full: declared.is_some(),
            declared: declared.map(|capability| DeclaredBag { capability, slot: ONE }),
            containers,
            ..WorkerBeat::default()
        };
        Event::WorkerBeat(WorkerBeatEvent::Came { beat: Box::new(beat), address: Some(ADDRESS) })
    }

    /// A worker takes what it is owed.
    fn take(&mut self, number: usize, event: Event) {
        match self.step(event).reply {
            Reply::Beat(BeatReply::Answer(answer)) => self.obey(number, &answer),
            Reply::Beat(BeatReply::Waits) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Does what a beat was answered.
    pub fn obey(&mut self, number: usize, answer: &BeatAnswer) {
        let worker = &mut self.workers[number];
        worker.containers.extend(answer.launches.iter().map(|launch| launch.id));
        worker.unsaid = answer.launches.len();
    }

    /// The beat of a worker that says that its `count` oldest containers have ended with 0, and that it has the others.
    pub fn ends(&mut self, number: usize, count: usize) -> Event {
        let now_ms = self.now.wall_ms;
        let end = |id| report_end(id, ContainerExit::SUCCESS, now_ms);
        let worker = &mut self.workers[number];
        let count = count.min(worker.containers.len());
        let mut said: Vec<BeatContainer> = worker.containers.drain(..count).map(end).collect();
        let unsaid = worker.containers.len().saturating_sub(std::mem::take(&mut worker.unsaid));
        let has = |id: &ContainerId| BeatContainer { id: *id, state: BeatContainerState::Launching };
        said.extend(worker.containers[unsaid..].iter().map(has));
        self.beat(number, None, said)
    }

    /// Each worker learns of what waits for it.
    pub fn fill(&mut self) {
        for number in 0..self.workers.len() {
            let event = self.beat(number, None, Vec::new());
            self.take(number, event);
        }
    }

    /// A tick of the clock.
    pub fn tick(&mut self) {
        self.now.mono_ms += 1_000;
        self.now.wall_ms += 1_000;
        self.step(Event::Timer { durable: jobtracker::model::FactNumber(u64::MAX) });
    }

    fn ask(&mut self, user: usize, question: ApplicationQuestion) -> ApplicationAnswer {
        match self.step(request(user, question)).reply {
            Reply::Application(Ok(answer)) => *answer,
            other => panic!("{other:?}"),
        }
    }

    fn submit(&mut self, user: usize, change: impl FnOnce(&mut Submission)) -> ApplicationId {
        let ApplicationAnswer::NewId { application, .. } = self.ask(user, ApplicationQuestion::NewId) else {
            panic!("no id")
        };
        let mut submission = Submission {
            application_id: application,
            name: "bench".to_owned(),
            application_type: String::new(),
            queue: Some(user_of(user)),
            priority: Priority::Normal,
            expiry_ms: 86_400_000,
            strict_gates: false,
            tracking_url: None,
            specs: BTreeMap::new(),
            unattended: None,
            master: None,
        };
        change(&mut submission);
        let secret = ApplicationSecret::new([7; 20]);
        let question = ApplicationQuestion::Submit { submission: Box::new(submission), digest: [1; 32], secret };
        self.ask(user, question);
        application
    }

    /// An unattended application that starts each container with the next item.
    pub fn submit_items(&mut self, user: usize, items: u32) -> ApplicationId {
        let launch = LaunchOnGrant {
            spec: "s".to_owned(),
            items: Some(format!("1-{items}")),
            max_running: None,
            rules: ItemRules::default(),
        };
        let context = LaunchContext::of_command(vec!["/bin/true".to_owned(), "{}".to_owned()]);
        self.submit(user, |submission| {
            submission.specs.insert("s".to_owned(), context);
            submission.unattended = Some(vec![row(items, Some(launch))]);
        })
    }

    /// An application whose program calls.
    pub fn register(&mut self, user: usize) -> Program {
        let application = self.submit(user, |_| {});
        let question = ApplicationQuestion::Register { application, call: RegisterCall::default() };
        match self.ask(user, question) {
            ApplicationAnswer::Registered(answer) => {
                Program { application, attempt: answer.attempt, response_id: answer.response_id, held: Vec::new() }
            }
            other => panic!("{other:?}"),
        }
    }
}

fn request(user: usize, question: ApplicationQuestion) -> Event {
    let caller = Caller::named(user_of(user));
    let caller = ApplicationCaller::User { caller, is_administrator: false, signed: None };
    Event::Application(Box::new(ApplicationRequest::Asked { caller, question: Box::new(question) }))
}

impl Program {
    /// The call that gives back all that it has, and asks for so many anywhere.
    pub fn call(&mut self, user: usize, count: u32) -> Event {
        self.call_near(user, count, &[])
    }

    /// The same, and wishes one of them on each of these hosts.
    pub fn call_near(&mut self, user: usize, count: u32, hosts: &[String]) -> Event {
        let wish = |host: &String| AskRow { resource_name: Placement::Host(host.as_str().into()), ..row(1, None) };
        let call = AllocateCall {
            attempt: self.attempt,
            response_id: self.response_id,
            ask: hosts.iter().map(wish).chain([row(count, None)]).collect(),
            release: std::mem::take(&mut self.held),
            ..AllocateCall::default()
        };
        let digest = Sha256::digest(self.response_id.to_be_bytes()).into();
        request(user, ApplicationQuestion::Allocate { application: self.application, call: Box::new(call), digest })
    }

    /// A call that gives nothing back and asks for nothing new.
    pub fn ask_for_no_more(&mut self, user: usize) -> Event {
        let call = AllocateCall { attempt: self.attempt, response_id: self.response_id, ..AllocateCall::default() };
        let digest = Sha256::digest(self.response_id.to_be_bytes()).into();
        request(user, ApplicationQuestion::Allocate { application: self.application, call: Box::new(call), digest })
    }

    /// Reads the answer to it; how many containers it brings.
    pub fn read(&mut self, reply: &Reply) -> usize {
        let Reply::Application(Ok(answer)) = reply else { panic!("{reply:?}") };
        let ApplicationAnswer::Allocated(body) = &**answer else { panic!("{answer:?}") };
        let answer: AllocateAnswer = serde_json::from_slice(body).unwrap();
        self.response_id = answer.response_id;
        let containers = answer.allocated_containers.iter().map(|container| container.container_id);
        self.held.extend(containers);
        answer.allocated_containers.len()
    }
}
