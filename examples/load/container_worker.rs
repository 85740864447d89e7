//! A built-in worker without processes: it registers by heartbeats, and ends each container as soon as it gets it, with 0.

use std::net::SocketAddr;

use anyhow::{bail, ensure};
use sha2::{Digest, Sha256};

use crate::steady_tracker::{host_of, usual_resources};

use jobtracker::api::{BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, DeclaredBag, WorkerBeat};
use jobtracker::clock::wall_ms;
use jobtracker::fake_tracker::FakeTracker;
use jobtracker::ipc::client::{IpcClient, PipelinedClient};
use jobtracker::model::{Capability, ContainerExit, PerKind, hex};
use jobtracker::wire::protocol::{Call, ContainerBeatCall, InterTrackerCall, Protocol, ReturnType, Value};
use jobtracker::wire::{BEAT_DIGEST, Text};

/// The worker with its two connections.
#[derive(Debug)]
pub struct ContainerWorker {
    /// Kept open: without it the worker is lost.
    _heartbeats: IpcClient,
    beats: PipelinedClient,
    tracker: String,
    incarnation: u64,
    secret: String,
    capability: Capability,
    number: u64,
}

// === impl ContainerWorker ===

impl ContainerWorker {
    /// Registers a worker, which declares that much.
    pub async fn connect(jobtracker: SocketAddr, number: u32, capability: Capability) -> anyhow::Result<Self> {
        let host = host_of(number);
        let name = format!("tracker_{host}:streaming_only/127.0.0.1:{}", 20_000 + number);
        let fake: FakeTracker = FakeTracker::new(name.clone(), host, PerKind::new(0, 0));
        let mut fake = FakeTracker { resources: usual_resources(), ..fake };
        let secret = format!("{number:064x}");
        let mut heartbeats = IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?;
        // Nothing runs on a worker in its first heartbeat.
        for _ in 0..2 {
            let mut request = Box::new(fake.request(Vec::new()));
            let digest = hex(Sha256::digest(secret.as_bytes()).as_slice());
            request.status.health.report = format!("{BEAT_DIGEST}{digest}").into();
            match heartbeats.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await? {
                Value::Heartbeat(answer) => drop(fake.obey(&answer, |_| ())),
                other => bail!("a heartbeat was answered by {other:?}"),
            }
        }
        let beats = PipelinedClient::connect(jobtracker, Protocol::ContainerBeats, "load", ReturnType::Text).await?;
        let incarnation = u64::from(number) + 1;
        Ok(Self { _heartbeats: heartbeats, beats, tracker: name, incarnation, secret, capability, number: 0 })
    }

    /// Beats without end, as fast as answers come.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        let mut ended = Vec::new();
        loop {
            let said = ended.len();
            let answer = self.beat(std::mem::take(&mut ended)).await?;
            ensure!(answer.noted.len() == said, "{said} ends were said and {} noted", answer.noted.len());
            ensure!(answer.kills.is_empty(), "containers are killed that have ended: {:?}", answer.kills);
            let now_ms = wall_ms();
            let end = |id| {
                let end = ContainerEnd {
                    exit: ContainerExit::SUCCESS,
                    diagnostics: String::new(),
                    started_ms: Some(now_ms),
                    ended_ms: now_ms,
                    peak_memory_mb: 1,
                    cpu_ms: 1,
                };
                BeatContainer { id, state: BeatContainerState::Ended(end) }
            };
            ended = answer.launches.into_iter().map(|launch| end(launch.id)).collect();
        }
    }

    async fn beat(&mut self, containers: Vec<BeatContainer>) -> anyhow::Result<BeatAnswer> {
        self.number += 1;
        let is_first = self.number == 1;
        let declared = DeclaredBag { capability: self.capability, slot: Capability::new(1_024, 1) };
        let beat = WorkerBeat {
            tracker: self.tracker.clone(),
            incarnation: self.incarnation,
            secret: self.secret.clone(),
            number: self.number,
            declared: is_first.then_some(declared),
            is_full: is_first,
            containers,
            unhealthy: None,
        };
        let beat = Text(serde_json::to_string(&beat)?);
        self.beats.send(&Call::ContainerBeats(ContainerBeatCall::Beat { beat })).await?;
        match self.beats.next_answer().await?.1 {
            Ok(Value::Text(Text(answer))) => Ok(serde_json::from_str(&answer)?),
            other => bail!("a beat was answered by {other:?}"),
        }
    }
}
