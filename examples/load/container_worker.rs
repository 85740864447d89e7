//! A built-in worker without processes: it registers by heartbeats, and ends each container as soon as it gets it, with 0.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, ensure};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use crate::steady_tracker::{host_of, usual_resources};

use jobtracker::api::{BeatAnswer, BeatContainer, DeclaredBag, WorkerBeat};
use jobtracker::clock::wall_ms;
use jobtracker::fake_tracker::{FakeTracker, report_end};
use jobtracker::ipc::client::{IpcClient, PipelinedClient};
use jobtracker::model::{Capability, ContainerExit, PerKind, hex};
use jobtracker::wire::protocol::{Call, ContainerBeatCall, InterTrackerCall, Protocol, ReturnType, Value};
use jobtracker::wire::{BEAT_DIGEST, Text};

/// The worker with its two connections.
#[derive(Debug)]
pub struct ContainerWorker {
    heartbeats: Heartbeats,
    beats: Beats,
}

/// The connection of its heartbeats: without them it is lost.
#[derive(Debug)]
struct Heartbeats {
    client: IpcClient,
    tracker: FakeTracker,
    digest: String,
}

/// The connection of its beats about containers.
#[derive(Debug)]
struct Beats {
    client: PipelinedClient,
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
        let tracker = format!("tracker_{host}:streaming_only/127.0.0.1:{}", 20_000 + number);
        let fake: FakeTracker = FakeTracker::new(tracker.clone(), host, PerKind::new(0, 0));
        let secret = format!("{number:064x}");
        let mut heartbeats = Heartbeats {
            client: IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?,
            tracker: FakeTracker { resources: usual_resources(), ..fake },
            digest: hex(Sha256::digest(secret.as_bytes()).as_slice()),
        };
        // Nothing runs on a worker in its first heartbeat.
        heartbeats.beat().await?;
        heartbeats.beat().await?;
        let client = PipelinedClient::connect(jobtracker, Protocol::ContainerBeats, "load", ReturnType::Text).await?;
        let incarnation = u64::from(number) + 1;
        let beats = Beats { client, tracker, incarnation, secret, capability, number: 0 };
        Ok(Self { heartbeats, beats })
    }

    /// Beats without end: heartbeats when they are due, beats about containers as fast as answers come.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        let Self { heartbeats, beats } = self;
        tokio::try_join!(heartbeats.run(), beats.run()).map(drop)
    }
}

// === impl Heartbeats ===

impl Heartbeats {
    async fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let interval = self.beat().await?;
            sleep(interval).await;
        }
    }

    /// One heartbeat; when the next is due.
    async fn beat(&mut self) -> anyhow::Result<Duration> {
        let mut request = Box::new(self.tracker.request(Vec::new()));
        request.status.health.report = format!("{BEAT_DIGEST}{}", self.digest).into();
        match self.client.call(&Call::InterTracker(InterTrackerCall::Heartbeat { request })).await? {
            Value::Heartbeat(answer) => {
                self.tracker.obey(&answer, |_| ());
                Ok(Duration::from_millis(u64::from(answer.interval_ms.unsigned_abs())))
            }
            other => bail!("a heartbeat was answered by {other:?}"),
        }
    }
}

// === impl Beats ===

impl Beats {
    async fn run(&mut self) -> anyhow::Result<()> {
        let mut ended = Vec::new();
        loop {
            let said = ended.len();
            let answer = self.beat(std::mem::take(&mut ended)).await?;
            ensure!(answer.noted.len() == said, "{said} ends were said and {} noted", answer.noted.len());
            ensure!(answer.kills.is_empty(), "containers are killed that have ended: {:?}", answer.kills);
            let now_ms = wall_ms();
            let ends = answer.launches.iter().map(|launch| report_end(launch.id, ContainerExit::SUCCESS, now_ms));
            ended = ends.collect();
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
            ..WorkerBeat::default()
        };
        let beat = Text(serde_json::to_string(&beat)?);
        self.client.send(&Call::ContainerBeats(ContainerBeatCall::Beat { beat })).await?;
        match self.client.next_answer().await?.1 {
            Ok(Value::Text(Text(answer))) => Ok(serde_json::from_str(&answer)?),
            other => bail!("a beat was answered by {other:?}"),
        }
    }
}
