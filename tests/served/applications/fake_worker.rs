//! A built-in worker without processes: heartbeats on one connection, beats about containers on another.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use jobtracker::api::{BeatAnswer, BeatContainer, BeatContainerState, ContainerKill, DeclaredBag, WorkerBeat};
use jobtracker::fake_tracker::{FakeTracker, report_end};
use jobtracker::model::{Capability, ContainerExit, ContainerId, PerKind};
use jobtracker::wire::opening::{ConnectionHeader, ConnectionUser, encode_opening};
use jobtracker::wire::protocol::{
    CallOutcome, ContainerBeatCall, InterTrackerCall, Protocol, Value, decode_response, encode_call,
};
use jobtracker::wire::{BEAT_DIGEST, Text};
use sha2::{Digest, Sha256};

use crate::daemon::child::TIMEOUT;
use crate::daemon::clients::IntoCall;
use crate::upgrade::stage::Client;

const SLOT: Capability = Capability::new(1_024, 1);

pub struct FakeWorker {
    tracker: FakeTracker<()>,
    heartbeats: Client,
    beats: TcpStream,
    /// Received and not taken apart.
    received: Vec<u8>,
    secret: String,
    number: i32,
}

// === impl FakeWorker ===

impl FakeWorker {
    /// One that has registered, with room for so many containers of one slot's size.
    pub fn new(rpc: SocketAddr, room: u32) -> Self {
        Self::on_host(rpc, "n1", room)
    }

    /// The same on a host of that name.
    pub fn on_host(rpc: SocketAddr, host: &str, room: u32) -> Self {
        let mut worker = Self::registered(rpc, host);
        worker.declare(room);
        worker
    }

    /// One that has registered and has not declared its room.
    pub fn registered(rpc: SocketAddr, host: &str) -> Self {
        let mut worker = Self::unregistered(rpc, host);
        worker.heartbeat();
        worker.heartbeat();
        worker
    }

    /// Declares room for so many containers of one slot's size.
    pub fn declare(&mut self, room: u32) {
        self.send(Vec::new(), Some(DeclaredBag { capability: SLOT.times(room), slot: SLOT }));
    }

    fn unregistered(rpc: SocketAddr, host: &str) -> Self {
        let name = format!("tracker_{host}:streaming_only/127.0.0.1:1");
        Self {
            tracker: FakeTracker::new(&name, host, PerKind::new(0, 0)),
            heartbeats: Client::of(rpc, Protocol::InterTracker),
            beats: beats(rpc),
            received: Vec::new(),
            secret: "0123456789abcdef".repeat(4),
            number: 0,
        }
    }

    /// One that knows the name alone.
    pub fn stranger(rpc: SocketAddr) -> Self {
        let mut worker = Self::unregistered(rpc, "n1");
        worker.secret = "f".repeat(64);
        worker
    }

    /// A heartbeat that says whose beats are believed.
    pub fn heartbeat(&mut self) {
        let mut request = self.tracker.request(Vec::new());
        let digest: String = Sha256::digest(&self.secret).iter().map(|byte| format!("{byte:02x}")).collect();
        request.status.health.report = format!("{BEAT_DIGEST}{digest}").into();
        let value = self.heartbeats.call(&InterTrackerCall::Heartbeat { request: Box::new(request) }.into_call());
        let Value::Heartbeat(answer) = value else { panic!("{value:?}") };
        self.tracker.obey(&answer, |_| ());
    }

    /// Says what has become of containers; the answer may be held.
    pub fn beat(&mut self, containers: Vec<BeatContainer>) -> i32 {
        self.send(containers, None)
    }

    fn send(&mut self, containers: Vec<BeatContainer>, declared: Option<DeclaredBag>) -> i32 {
        self.number += 1;
        let beat = WorkerBeat {
            tracker: self.tracker.name.clone(),
            incarnation: 7,
            secret: self.secret.clone(),
            number: self.number.cast_unsigned().into(),
            is_full: declared.is_some(),
            declared,
            containers,
            ..WorkerBeat::default()
        };
        let beat = Text(serde_json::to_string(&beat).unwrap());
        let mut frame = Vec::new();
        encode_call(&mut frame, self.number, &ContainerBeatCall::Beat { beat }.into_call());
        self.beats.write_all(&frame).unwrap();
        self.number
    }

    /// The next answer, with the number of its beat.
    pub fn receive(&mut self) -> (i32, Result<BeatAnswer, String>) {
        loop {
            let returns = ContainerBeatCall::METHODS[0].returns;
            if let Some((response, taken)) = decode_response(returns, &self.received).unwrap() {
                self.received.drain(..taken);
                let outcome = match response.outcome {
                    CallOutcome::Value(Value::Text(Text(answer))) => Ok(serde_json::from_str(&answer).unwrap()),
                    CallOutcome::Error(exception) => Err(exception.message),
                    other => panic!("{other:?}"),
                };
                return (response.id, outcome);
            }
            let mut room = [0; 4096];
            let count = self.beats.read(&mut room).unwrap();
            assert!(count > 0, "closed");
            self.received.extend_from_slice(&room[..count]);
        }
    }

    /// What the next answer refuses a beat with.
    pub fn refusal(&mut self) -> String {
        self.receive().1.unwrap_err()
    }

    /// Containers that it is to launch, at least so many: beats until then.
    pub fn launches(&mut self, count: usize) -> Vec<ContainerId> {
        let mut found: Vec<ContainerId> = Vec::new();
        while found.len() < count {
            let (_, answer) = self.receive();
            let launched = answer.unwrap().launches.into_iter().map(|launch| launch.id);
            let fresh: Vec<_> = launched.filter(|id| !found.contains(id)).collect();
            let has = |id: &ContainerId| BeatContainer { id: *id, state: BeatContainerState::Launching };
            self.beat(fresh.iter().map(has).collect());
            found.extend(fresh);
        }
        found
    }

    /// The kill of a container, once it is ordered.
    pub fn kill_of(&mut self, id: ContainerId) -> ContainerKill {
        loop {
            let answer = self.receive().1.unwrap();
            self.beat(Vec::new());
            if let Some(kill) = answer.kills.into_iter().find(|kill| kill.id == id) {
                return kill;
            }
        }
    }

    /// Says that a container has ended so; completes when that is noted.
    pub fn end(&mut self, id: ContainerId, exit: i32) {
        self.beat(vec![report_end(id, ContainerExit(exit), 2)]);
        while !self.receive().1.unwrap().noted.contains(&id) {}
        self.beat(Vec::new());
    }
}

fn beats(rpc: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(rpc).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_nodelay(true).unwrap();
    let user = ConnectionUser { effective: "mapred".to_owned(), real: None };
    let protocol = Protocol::ContainerBeats.class_name().into();
    let mut opening = Vec::new();
    encode_opening(&mut opening, &ConnectionHeader { protocol, user: Some(user) });
    stream.write_all(&opening).unwrap();
    stream
}
