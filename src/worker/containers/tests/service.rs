//! Beats with a daemon that the test plays: it sees each beat, and answers when it wants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::super::logs::ContainerLogs;
use super::super::own_folders::OwnFolders;
use super::super::resource_cache::ResourceCaches;
use super::*;
use crate::api::{BeatContainerState, ContainerKill, DeclaredBag, WorkerBeat};
use crate::config::Configuration;
use crate::model::{ApplicationId, Capability, LaunchContext};
use crate::wire::opening::{Opening, OpeningStep};
use crate::wire::protocol::{decode_call, encode_response};
use crate::worker::attempt_logs::AttemptLogs;
use crate::worker::containers::control_groups::ProcessLooks;
use crate::worker::containers::runner::AdmittedUsers;
use crate::worker::local_folders::LocalFolders;
use crate::worker::node_health::NodeHealth;
use crate::worker::run_as::RunAs;

/// A beat that waits for its answer.
struct HeldBeat {
    beat: WorkerBeat,
    call: i32,
    connection: Arc<tokio::sync::Mutex<OwnedWriteHalf>>,
}

struct Daemon {
    address: HostPort,
    beats: mpsc::UnboundedReceiver<HeldBeat>,
    /// A message for each connection that was accepted.
    connections: mpsc::UnboundedReceiver<usize>,
}

struct Worker {
    scratch: tempfile::TempDir,
    service: ContainerService,
    registrations: watch::Sender<u64>,
}

impl Daemon {
    /// Takes every connection; `knows`: which of them it serves, in their order, the others it closes.
    async fn start(knows: fn(usize) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, beats) = mpsc::unbounded_channel();
        let (accepted, connections) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                // The test may be over.
                let _ = accepted.send(number);
                let sender = sender.clone();
                tokio::spawn(async move {
                    // A worker may leave at any time.
                    let _ = serve(stream, knows(number), &sender).await;
                });
            }
        });
        Self { address: HostPort { host: "127.0.0.1".to_owned(), port }, beats, connections }
    }

    async fn next(&mut self) -> HeldBeat {
        self.beats.recv().await.unwrap()
    }

    /// Answers beats with nothing until one says this of a container.
    async fn until(&mut self, id: ContainerId, is_it: fn(&BeatContainerState) -> bool) -> HeldBeat {
        loop {
            let held = self.next().await;
            if held.state_of(id).is_some_and(is_it) {
                return held;
            }
            held.answer(BeatAnswer::default()).await;
        }
    }
}

async fn serve(stream: TcpStream, is_known: bool, sender: &mpsc::UnboundedSender<HeldBeat>) -> std::io::Result<()> {
    let (mut reader, writer) = stream.into_split();
    let mut preamble = [0; 6];
    reader.read_exact(&mut preamble).await?;
    let mut opening = Opening::default();
    opening.advance(&preamble).unwrap();
    let length = reader.read_i32().await?;
    let mut header = length.to_be_bytes().to_vec();
    header.resize(4 + length as usize, 0);
    reader.read_exact(&mut header[4..]).await?;
    assert!(matches!(opening.advance(&header), Ok(OpeningStep::Done { .. })));
    if !is_known {
        return Ok(());
    }
    let connection = Arc::new(tokio::sync::Mutex::new(writer));
    loop {
        let mut frame = vec![0; reader.read_i32().await? as usize];
        reader.read_exact(&mut frame).await?;
        let frame = decode_call(Protocol::ContainerBeats, &frame).unwrap();
        match frame.call {
            Call::ProtocolVersion { .. } => respond(&connection, frame.id, &Value::Long(1)).await,
            Call::ContainerBeats(ContainerBeatCall::Beat { beat }) => {
                let beat = serde_json::from_str(&beat).unwrap();
                let _ = sender.send(HeldBeat { beat, call: frame.id, connection: connection.clone() });
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn respond(connection: &tokio::sync::Mutex<OwnedWriteHalf>, call: i32, value: &Value) {
    let mut out = Vec::new();
    encode_response(&mut out, call, value);
    let _ = connection.lock().await.write_all(&out).await;
}

impl HeldBeat {
    async fn answer(self, answer: BeatAnswer) {
        let text = serde_json::to_string(&answer).unwrap();
        respond(&self.connection, self.call, &Value::Text(Text(text))).await;
    }

    async fn hang_up(self) {
        self.connection.lock().await.shutdown().await.unwrap();
    }

    fn state_of(&self, id: ContainerId) -> Option<&BeatContainerState> {
        self.beat.containers.iter().find(|container| container.id == id).map(|container| &container.state)
    }
}

impl Worker {
    fn new(jobtracker: &HostPort) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let disks = [scratch.path().join("disk")];
        let folders = LocalFolders::acquire(&disks, 1, "tracker_h:1", "alice", false, Duration::ZERO).unwrap();
        let logs = scratch.path().join("userlogs");
        std::fs::create_dir(&logs).unwrap();
        let (events, received) = mpsc::unbounded_channel();
        let (registrations, registered) = watch::channel(0);
        let path = std::env::var("PATH").unwrap();
        let runner = Arc::new(ContainerRunner {
            folders: OwnFolders::new(Arc::new(folders)),
            logs: ContainerLogs::new(AttemptLogs { folder: logs, limit_bytes: None, retain: Duration::from_secs(1) }),
            environment: [("PATH".to_owned(), path)].into(),
            configuration: Configuration::new(BTreeMap::new()),
            keepers: None,
            run_as: RunAs::Worker,
            users: AdmittedUsers::default(),
            node_id: "h:50060".to_owned(),
            log_limit_bytes: 1 << 20,
            memory_interval: Duration::from_millis(20),
            groups: None,
            caches: ResourceCaches::new(0),
            looks: ProcessLooks::default(),
            log_sums: Mutex::default(),
            live: Mutex::new(BTreeSet::new()),
            events,
        });
        let declared = DeclaredBag { capability: Capability::new(8_192, 8), slot: Capability::new(1_024, 1) };
        let (tracker, secret) = ("tracker_h:1".to_owned(), "00".repeat(32));
        let service = ContainerService {
            jobtracker: jobtracker.clone(),
            user: "alice".to_owned(),
            identity: BeatIdentity { tracker, incarnation: 7, secret, declared },
            health: Arc::new(NodeHealth::new(0)),
            least: Capability::default(),
            max_stop_grace: Duration::from_secs(30),
            table: TrackedContainers::default(),
            contexts: LaunchContexts::default(),
            memory_monitor: Arc::default(),
            runner,
            spare: Arc::new(ContainerControl::new().unwrap()),
            events: received,
            registered,
            stops_at: None,
        };
        Self { scratch, service, registrations }
    }

    /// Runs it, registered, while the test plays the daemon.
    async fn run_while(&mut self, script: impl Future<Output = ()>) {
        self.registrations.send_modify(|count| *count += 1);
        let script = tokio::time::timeout(Duration::from_secs(60), script);
        tokio::select! {
            never = self.service.run() => match never {},
            done = script => done.expect("the worker does not do what the daemon waits for"),
        }
    }
}

fn id(number: u64) -> ContainerId {
    ApplicationId::new(5, 1).container(1, number)
}

fn launch(number: u64, script: &str) -> ContainerLaunch {
    let command = ["sh", "-c", script].map(str::to_owned);
    ContainerLaunch {
        id: id(number),
        capability: Capability::new(512, 1),
        user: "alice".to_owned(),
        context: LaunchContext::of_command(command.into()),
        item: None,
        secret: None,
        log_key: "00".repeat(32),
        server: "h:50030".to_owned(),
    }
}

fn launching(launches: &[ContainerLaunch]) -> BeatAnswer {
    BeatAnswer { launches: launches.to_vec(), ..BeatAnswer::default() }
}

fn has_ended(state: &BeatContainerState) -> bool {
    matches!(state, BeatContainerState::Ended(_))
}

fn is_running(state: &BeatContainerState) -> bool {
    matches!(state, BeatContainerState::Running { .. })
}

/// A command that runs until it is killed, and then ends at once.
const RUNS: &str = "exec sleep 1000";

#[tokio::test]
async fn a_repeated_launch_is_done_once_and_an_end_is_said_until_it_is_noted() {
    let mut daemon = Daemon::start(|_| true).await;
    let mut worker = Worker::new(&daemon.address);
    let ran = worker.scratch.path().join("ran");
    let once = launch(1, &format!("echo ran >> {}; exit 3", ran.display()));
    let folder = worker.scratch.path().join("disk").join("tasktracker-1").join("containers").join(id(1).to_string());
    let is_there = folder.clone();
    worker
        .run_while(async move {
            let first = daemon.next().await;
            assert!(first.beat.is_full && first.beat.declared.is_some() && first.beat.number == 1);
            assert_eq!((first.beat.incarnation, first.beat.containers.len()), (7, 0));
            first.answer(launching(&[once.clone(), once.clone()])).await;
            let ended = daemon.until(id(1), has_ended).await;
            assert!(!ended.beat.is_full && ended.beat.declared.is_none() && ended.beat.number > 1);
            let Some(BeatContainerState::Ended(end)) = ended.state_of(id(1)) else { panic!("it has ended") };
            assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit(3), "exit code 3"));
            // Not noted, and launched once more.
            ended.answer(launching(&[once])).await;
            let again = daemon.next().await;
            assert!(again.state_of(id(1)).is_some_and(has_ended) && is_there.exists());
            again.answer(BeatAnswer { noted: vec![id(1)], ..BeatAnswer::default() }).await;
            let last = daemon.next().await;
            assert_eq!(last.beat.containers, []);
        })
        .await;
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n");
    wait_until_gone(&folder).await;
    assert!(
        worker.scratch.path().join("userlogs/application_5_0001").join(id(1).to_string()).exists(),
        "its logs stay"
    );
}

async fn wait_until_gone(path: &Path) {
    while path.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_change_is_said_while_the_beat_before_is_held() {
    let mut daemon = Daemon::start(|_| true).await;
    let mut worker = Worker::new(&daemon.address);
    worker
        .run_while(async move {
            daemon.next().await.answer(launching(&[launch(1, RUNS)])).await;
            // Of all that comes, nothing is answered before the container runs.
            let mut held = vec![daemon.next().await];
            while !held.last().unwrap().state_of(id(1)).is_some_and(is_running) {
                if held.len() == MOST_UNANSWERED {
                    held.remove(0).answer(BeatAnswer::default()).await;
                }
                held.push(daemon.next().await);
            }
            let (exit, diagnostics) = (ContainerExit::KILLED_BY_OWNER, "asked".to_owned());
            let kill = ContainerKill { id: id(1), exit, diagnostics, grace_ms: 60_000 };
            let newest = held.pop().unwrap();
            newest.answer(BeatAnswer { kills: vec![kill], ..BeatAnswer::default() }).await;
            for older in held {
                // What it says is outdated by then.
                older.answer(launching(&[launch(2, RUNS)])).await;
            }
            let ended = daemon.until(id(1), has_ended).await;
            let Some(BeatContainerState::Ended(end)) = ended.state_of(id(1)) else { panic!("it has ended") };
            assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit::KILLED_BY_OWNER, "asked"));
            assert!(ended.state_of(id(2)).is_none());
        })
        .await;
}

#[tokio::test]
async fn a_new_connection_begins_with_all_containers() {
    let mut daemon = Daemon::start(|_| true).await;
    let mut worker = Worker::new(&daemon.address);
    worker
        .run_while(async move {
            daemon.next().await.answer(launching(&[launch(1, RUNS), launch(2, RUNS)])).await;
            daemon.until(id(1), is_running).await.answer(BeatAnswer::default()).await;
            daemon.next().await.hang_up().await;
            let first = loop {
                let held = daemon.next().await;
                if held.beat.number == 1 {
                    break held;
                }
            };
            assert!(first.beat.is_full && first.beat.declared.is_some() && first.beat.incarnation == 7);
            assert!(first.state_of(id(1)).is_some() && first.state_of(id(2)).is_some());
            let kill = |number| ContainerKill {
                id: id(number),
                exit: ContainerExit::ABORTED,
                diagnostics: String::new(),
                grace_ms: 0,
            };
            first.answer(BeatAnswer { kills: vec![kill(1), kill(2)], ..BeatAnswer::default() }).await;
            daemon.until(id(1), has_ended).await.answer(BeatAnswer::default()).await;
            daemon.until(id(2), has_ended).await;
        })
        .await;
}

#[tokio::test]
async fn a_jobtracker_that_does_not_know_the_protocol_is_asked_again_when_it_registers_the_worker_again() {
    let mut daemon = Daemon::start(|number| number > 0).await;
    let mut worker = Worker::new(&daemon.address);
    let registrations = worker.registrations.clone();
    worker
        .run_while(async move {
            // It is closed; without a further registration there is no second one for a minute.
            assert_eq!(daemon.connections.recv().await, Some(0));
            registrations.send_modify(|count| *count += 1);
            let first = daemon.next().await;
            assert!(first.beat.is_full);
        })
        .await;
}

#[tokio::test]
async fn a_worker_that_stops_ends_its_containers_with_their_grace_and_says_so() {
    let mut daemon = Daemon::start(|_| true).await;
    let mut worker = Worker::new(&daemon.address);
    let ended = worker.scratch.path().join("ended");
    let script =
        format!("trap 'echo ended > {}; exit 0' TERM; echo ready; while :; do sleep 0.01; done", ended.display());
    let log = worker.scratch.path().join(format!("userlogs/application_5_0001/{}/stdout", id(1)));
    let launched = launch(1, &script);
    let daemon = {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        worker
            .run_while(async move {
                daemon.next().await.answer(launching(&[launched])).await;
                while std::fs::read_to_string(&log).unwrap_or_default() != "ready\n" {
                    if let Ok(held) = daemon.beats.try_recv() {
                        held.answer(BeatAnswer::default()).await;
                    }
                    tokio::task::yield_now().await;
                }
                drop(sender.send(daemon));
            })
            .await;
        receiver.await.unwrap()
    };
    let noting = async move {
        let mut daemon = daemon;
        let held = daemon.until(id(1), has_ended).await;
        assert_eq!(held.beat.unhealthy.as_deref(), Some("the worker stops"));
        let Some(BeatContainerState::Ended(end)) = held.state_of(id(1)) else { panic!("it has ended") };
        assert_eq!((end.exit, end.diagnostics.as_str()), (ContainerExit::ABORTED, "the worker was stopped"));
        held.answer(BeatAnswer { noted: vec![id(1)], ..BeatAnswer::default() }).await;
        // The connection stays open until the worker has left.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = worker.service.shut_down() => {}
        () = noting => {}
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("it does not stop"),
    }
    assert_eq!(std::fs::read_to_string(ended).unwrap(), "ended\n");
}
