//! Built-in workers without processes that go on after a crash as real ones do: what was not answered is said again, a
//! launch that is here is passed over, and an end is said until it is noted.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::daemon::child::TIMEOUT;
use crate::stage::Stage;

use jobtracker::api::{
    BeatAnswer, BeatContainer, BeatContainerState, ContainerEnd, ContainerLaunch, DeclaredBag, WorkerBeat,
};
use jobtracker::fake_tracker::FakeTracker;
use jobtracker::ipc::client::{IpcClient, IpcError, PipelinedClient};
use jobtracker::model::{ApplicationId, Capability, ContainerExit, ContainerId, PerKind};
use jobtracker::wire::protocol::{Call, ContainerBeatCall, InterTrackerCall, Protocol, ReturnType, Value};
use jobtracker::wire::{Action, BEAT_DIGEST, HeartbeatResponse, Text};

/// Of one slot, and of each container.
pub const SLOT: Capability = Capability::new(1_024, 1);
/// Containers that a worker has room for.
const ROOM: u32 = 2;
const WORKERS: u32 = 2;
/// Rounds after which nothing can be left to do.
pub const ROUNDS: usize = 400;

/// All workers, and what they were ordered.
pub struct ContainerWorkers {
    runtime: Runtime,
    workers: Vec<ContainerWorker>,
    pub books: WorkersBooks,
}

/// What reached the workers.
#[derive(Default)]
pub struct WorkersBooks {
    /// Each launch, with its item and the attempt of it.
    pub launched: BTreeMap<ContainerId, Option<(u32, u32)>>,
    /// How each has ended.
    pub ended: BTreeMap<ContainerId, ContainerExit>,
    /// The secrets that masters were given.
    pub secrets: BTreeMap<ApplicationId, String>,
    /// Containers that ended with their worker.
    pub lost: BTreeSet<ContainerId>,
}

struct ContainerWorker {
    tracker: FakeTracker<()>,
    incarnation: u64,
    /// With the process that it leads to.
    heartbeats: Option<(u32, IpcClient)>,
    beats: Option<(u32, Beats)>,
    containers: BTreeMap<ContainerId, Held>,
}

/// The second connection.
struct Beats {
    client: PipelinedClient,
    number: u64,
    /// The call of the latest beat that was answered.
    answered: i32,
}

struct Held {
    state: BeatContainerState,
    /// How it ends by itself; none: it does not.
    exit: Option<ContainerExit>,
}

// === impl ContainerWorkers ===

impl ContainerWorkers {
    pub fn new() -> Self {
        Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            workers: (1..=WORKERS).map(ContainerWorker::new).collect(),
            books: WorkersBooks::default(),
        }
    }

    /// A heartbeat and a beat of each; then every container does its next step.
    pub fn round(&mut self, stage: &mut Stage) {
        let Self { runtime, workers, books } = self;
        for worker in workers {
            runtime.block_on(worker.round(stage, books));
        }
    }

    /// Rounds until something is so.
    pub fn round_until(&mut self, stage: &mut Stage, what: &str, mut is_so: impl FnMut(&WorkersBooks) -> bool) {
        for _ in 0..ROUNDS {
            if is_so(&self.books) {
                return;
            }
            self.round(stage);
        }
        panic!("{what} does not come");
    }

    /// How many containers are on workers.
    pub fn count(&self) -> usize {
        self.workers.iter().map(|worker| worker.containers.len()).sum()
    }

    /// Rounds until the workers have nothing.
    pub fn round_until_empty(&mut self, stage: &mut Stage) {
        for _ in 0..ROUNDS {
            if self.count() == 0 {
                return;
            }
            self.round(stage);
        }
        panic!("containers stay");
    }

    /// The process of the worker that has the most containers ends with all that it has; another takes its place.
    pub fn restart_the_fullest(&mut self) {
        let fullest = self.workers.iter_mut().max_by_key(|worker| worker.containers.len()).unwrap();
        self.books.lost.extend(std::mem::take(&mut fullest.containers).into_keys());
        fullest.incarnation += 1;
        fullest.tracker.restart();
        (fullest.heartbeats, fullest.beats) = (None, None);
    }
}

// === impl ContainerWorker ===

impl ContainerWorker {
    fn new(number: u32) -> Self {
        let host = crate::steady_tracker::host_of(number);
        let name = format!("tracker_{host}:streaming_only/127.0.0.1:{}", 20_000 + number);
        Self {
            tracker: FakeTracker::new(name, host, PerKind::new(0, 0)),
            incarnation: u64::from(number) << 32,
            heartbeats: None,
            beats: None,
            containers: BTreeMap::new(),
        }
    }

    fn secret(&self) -> String {
        format!("{:064x}", self.incarnation)
    }

    async fn round(&mut self, stage: &mut Stage, books: &mut WorkersBooks) {
        self.heartbeat(stage).await;
        let (process, address) = stage.rpc();
        match timeout(TIMEOUT, self.beat(process, address, books)).await.expect("a beat is not answered") {
            Ok(()) => self.containers.values_mut().for_each(Held::step),
            // Not before a heartbeat, or not without a whole list.
            Err(IpcError::Remote { exception, .. }) => {
                let text = exception.to_string();
                let is_known = ["is registered", "lists all that it has"].iter().any(|why| text.contains(why));
                assert!(is_known, "a beat is refused: {text}");
                self.beats = None;
            }
            Err(error @ IpcError::Wire(_)) => panic!("{error}"),
            Err(_) => {
                self.beats = None;
                stage.revive();
            }
        }
    }

    /// A heartbeat, until it is answered.
    async fn heartbeat(&mut self, stage: &mut Stage) {
        let mut request = self.tracker.request(Vec::new());
        let digest: String = Sha256::digest(self.secret()).iter().map(|byte| format!("{byte:02x}")).collect();
        request.status.health.report = format!("{BEAT_DIGEST}{digest}").into();
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request) });
        let mut refusals = 0;
        let answer = loop {
            let (process, address) = stage.rpc();
            match self.try_heartbeat(process, address, &call).await {
                Ok(answer) => break answer,
                // The daemon may not have seen yet that the process before is gone.
                Err(IpcError::Remote { exception, .. }) => {
                    refusals += 1;
                    assert!(refusals < ROUNDS, "{exception}");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error @ (IpcError::Wire(_) | IpcError::Timeout(_))) => panic!("{error}"),
                Err(_) => {
                    self.heartbeats = None;
                    stage.revive();
                }
            }
        };
        // One that has only ends to report is not expected after a crash; it reports them all the same.
        let is_lost = answer.actions.iter().any(|action| matches!(action, Action::ReinitTracker));
        let has_ended = self.containers.values().all(Held::has_ended);
        assert!(!is_lost || has_ended, "a worker is ordered to lose what it has");
        self.tracker.obey(&answer, |_| ());
    }

    async fn try_heartbeat(
        &mut self,
        process: u32,
        address: SocketAddr,
        call: &Call,
    ) -> Result<HeartbeatResponse, IpcError> {
        let known = self.heartbeats.take().filter(|(of, _)| *of == process);
        let mut client = match known {
            Some((_, client)) => client,
            None => IpcClient::connect(address, Protocol::InterTracker, "mapred").await?,
        };
        let Value::Heartbeat(answer) = client.call(call).await? else { panic!("no answer to a heartbeat") };
        self.heartbeats = Some((process, client));
        Ok(answer)
    }

    /// Says all that it has, and a second time nothing, which ends the wait of the first; obeys all answers until the
    /// first is there.
    async fn beat(&mut self, process: u32, address: SocketAddr, books: &mut WorkersBooks) -> Result<(), IpcError> {
        let known = self.beats.take().filter(|(of, _)| *of == process);
        let mut beats = match known {
            Some((_, beats)) => beats,
            None => {
                let connecting =
                    PipelinedClient::connect(address, Protocol::ContainerBeats, "mapred", ReturnType::Text);
                Beats { client: connecting.await?, number: 0, answered: -1 }
            }
        };
        let say = |(id, held): (&ContainerId, &Held)| BeatContainer { id: *id, state: held.state.clone() };
        let first = self.send(&mut beats, self.containers.iter().map(say).collect()).await?;
        self.send(&mut beats, Vec::new()).await?;
        loop {
            let (call, answer) = beats.client.next_answer().await?;
            let answer = answer.map_err(|exception| IpcError::Remote { exception, fatal: false })?;
            let Value::Text(Text(text)) = answer else { panic!("no answer to a beat") };
            if call > beats.answered {
                beats.answered = call;
                self.obey(serde_json::from_str(&text).unwrap(), books);
            }
            if call == first {
                break;
            }
        }
        self.beats = Some((process, beats));
        Ok(())
    }

    async fn send(&self, beats: &mut Beats, containers: Vec<BeatContainer>) -> Result<i32, IpcError> {
        beats.number += 1;
        let is_first = beats.number == 1;
        let beat = WorkerBeat {
            tracker: self.tracker.name.clone(),
            incarnation: self.incarnation,
            secret: self.secret(),
            number: beats.number,
            is_full: is_first,
            declared: is_first.then_some(DeclaredBag { capability: SLOT.times(ROOM), slot: SLOT }),
            containers,
            ..WorkerBeat::default()
        };
        let beat = Text(serde_json::to_string(&beat).unwrap());
        beats.client.send(&Call::ContainerBeats(ContainerBeatCall::Beat { beat })).await
    }

    fn obey(&mut self, answer: BeatAnswer, books: &mut WorkersBooks) {
        for id in answer.noted {
            if let Some(Held { state: BeatContainerState::Ended(end), .. }) = self.containers.get(&id) {
                books.ended.insert(id, end.exit);
                self.containers.remove(&id);
            }
        }
        for launch in answer.launches {
            if self.containers.contains_key(&launch.id) {
                continue;
            }
            let item = launch.item.map(|item| (item.number, item.attempt));
            assert!(books.launched.insert(launch.id, item).is_none(), "{} is launched a second time", launch.id);
            if let Some(secret) = &launch.secret {
                books.secrets.insert(launch.id.application, secret.clone());
            }
            let held = Held { state: BeatContainerState::Launching, exit: exit_of(&launch) };
            self.containers.insert(launch.id, held);
        }
        for kill in answer.kills {
            if let Some(held) = self.containers.get_mut(&kill.id).filter(|held| !held.has_ended()) {
                held.end(kill.exit);
            }
        }
        assert!(self.containers.len() <= ROOM as usize, "a worker has more than it has room for");
    }
}

/// How a container ends, by its command: `["exit", code, code, …]`, one for each attempt of its item; `["run"]` does not.
fn exit_of(launch: &ContainerLaunch) -> Option<ContainerExit> {
    let codes = launch.context.command.strip_prefix(&["exit".to_owned()])?;
    let attempt = launch.item.map_or(1, |item| item.attempt) as usize;
    // "code" or "code@item": for that item alone.
    let code = codes.get(attempt - 1).or(codes.last())?;
    let (code, item) = code.split_once('@').map_or((code.as_str(), None), |(code, item)| (code, Some(item)));
    let is_meant = item.is_none_or(|item| launch.item.is_some_and(|of| of.number.to_string() == item));
    Some(ContainerExit(if is_meant { code.parse().unwrap() } else { 0 }))
}

// === impl Held ===

impl Held {
    fn has_ended(&self) -> bool {
        matches!(self.state, BeatContainerState::Ended(_))
    }

    fn step(&mut self) {
        match self.state {
            BeatContainerState::Launching => self.state = BeatContainerState::Running { pid: 1, started_ms: 1 },
            BeatContainerState::Running { .. } => drop(self.exit.map(|exit| self.end(exit))),
            BeatContainerState::Ended(_) => {}
        }
    }

    fn end(&mut self, exit: ContainerExit) {
        self.state = BeatContainerState::Ended(ContainerEnd {
            exit,
            diagnostics: format!("ended with {}", exit.0),
            started_ms: Some(1),
            ended_ms: 2,
            peak_memory_mb: 1,
            cpu_ms: 1,
        });
    }
}
