//! A daemon on a loopback port whose store is a gate in the test's hands.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use jobtracker::clock::Clock;
use jobtracker::config::{Environment, LoadOptions, Settings};
use jobtracker::engine::{Engine, Restored};
use jobtracker::ipc::{RpcLimits, listen};
use jobtracker::lifecycle::{Daemon, DaemonParts};
use jobtracker::market::{BudgetLine, budget_file};
use jobtracker::model::FactNumber;
use jobtracker::server::{AclFile, Owner, OwnerHandle, engine_config};
use jobtracker::store::LoadedState;
use jobtracker::views::{ReadModel, follow};

use super::gated_store::GatedStore;

/// Long enough for anything that comes at all; nothing sleeps for it.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// What a test wants to be different.
#[derive(Default)]
pub struct DaemonOptions {
    pub overrides: Vec<String>,
    /// The conf folder, if any.
    pub conf_dir: Option<PathBuf>,
    pub limits: RpcLimits,
    pub acl: Option<&'static str>,
    pub budgets: &'static str,
    /// Where to listen; loopback if nothing is said.
    pub address: Option<IpAddr>,
    /// Time that the test itself lets pass.
    pub skipped: Duration,
}

/// A running daemon.
pub struct InProcessDaemon {
    pub address: SocketAddr,
    pub gate: GatedStore,
    pub handle: OwnerHandle,
    pub owner: Rc<Owner>,
    pub folder: tempfile::TempDir,
    stop: RefCell<Option<oneshot::Sender<()>>>,
    ended: Rc<Cell<bool>>,
}

/// Runs `test` against a daemon on a thread of its own kind; the gate is open, until the test makes a new one.
pub fn with_daemon<F: Future<Output = ()>>(wanted: DaemonOptions, test: impl FnOnce(InProcessDaemon) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = LocalSet::new();
    let patience = TIMEOUT * 2 + wanted.skipped;
    runtime.block_on(local.run_until(async {
        let (daemon, listener, rig) = daemon(wanted);
        let (stop, stopped) = oneshot::channel();
        rig.stop.replace(Some(stop));
        let stopped = async {
            // A rig that is dropped has not stopped it.
            if stopped.await.is_err() {
                std::future::pending().await
            }
        };
        let ended = rig.ended.clone();
        let serving = tokio::task::spawn_local(async move {
            let outcome = daemon.run(listener, stopped).await;
            ended.set(true);
            outcome
        });
        tokio::time::timeout(patience, test(rig)).await.expect("the test hangs");
        if serving.is_finished() {
            serving.await.unwrap().unwrap();
        }
    }));
}

fn daemon(wanted: DaemonOptions) -> (Daemon, tokio::net::TcpListener, InProcessDaemon) {
    let folder = tempfile::tempdir().unwrap();
    let acl = wanted.acl.map(|text| {
        let path = folder.path().join("hadoop.acl");
        std::fs::write(&path, text).unwrap();
        Arc::new(AclFile::open(path).unwrap())
    });
    let settings = settings(&folder.path().join("hadoop"), &wanted, folder.path());
    let clock = Clock::start();
    let now = clock.now();
    let config = engine_config(&settings, &BTreeSet::new(), now.wall_ms, "http://jt:50030/j?id=".to_owned()).unwrap();
    let mut engine = Engine::new(config, Restored::default(), now);
    let lines: Vec<BudgetLine> = budget_file::parse(wanted.budgets, "budgets").unwrap();
    engine.seed_budgets(lines, now);
    let (gate, sink) = GatedStore::alone(FactNumber(0));
    let read_model = ReadModel::load(&LoadedState::default(), 1_000);
    let load_again = || Ok(ReadModel::load(&LoadedState::default(), 1_000));
    let views = follow(read_model, gate.follow(), load_again, clock).unwrap();
    let (daemon, handle) = Daemon::new(DaemonParts {
        settings: &settings,
        rpc_limits: wanted.limits,
        engine,
        sink,
        clock,
        acl,
        budget_image: None,
        views: Some(views),
        web: None,
    });
    // The facts of the start itself, without which no job id is issued.
    gate.release_held();
    let listener = listen(SocketAddr::new(wanted.address.unwrap_or(Ipv4Addr::LOCALHOST.into()), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let owner = daemon.owner().clone();
    let rig = InProcessDaemon { address, gate, handle, owner, folder, stop: RefCell::default(), ended: Rc::default() };
    (daemon, listener, rig)
}

fn settings(scratch: &std::path::Path, wanted: &DaemonOptions, folder: &std::path::Path) -> Settings {
    let mut overrides = vec![format!("hadoop.tmp.dir={}", scratch.display())];
    if wanted.acl.is_some() {
        overrides.push("mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler".to_owned());
        overrides.push(format!("mapred.priority-scheduler.acl-file={}", folder.join("hadoop.acl").display()));
    }
    overrides.extend(wanted.overrides.iter().cloned());
    let properties = BTreeMap::from([("user.name".to_owned(), "mapred".to_owned())]);
    let environment = Environment { conf_dir: None, properties };
    let options = LoadOptions { conf_dir: wanted.conf_dir.clone(), overrides, environment };
    Settings::load(&options).unwrap().0
}

impl InProcessDaemon {
    /// Tells the daemon to stop, as a signal does.
    pub fn stop(&self) {
        self.stop.take().expect("stopped once").send(()).unwrap();
    }

    /// Whether it has stopped.
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The system directory.
    pub fn system_dir(&self) -> PathBuf {
        self.folder.path().join("hadoop/mapred/system")
    }

    /// The staging directory of a user.
    pub fn staging_dir(&self, user: &str) -> PathBuf {
        self.folder.path().join(format!("hadoop/mapred/staging/{user}/.staging"))
    }
}

/// Exactly so many bytes.
pub async fn read_bytes(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    tokio::time::timeout(TIMEOUT, stream.read_exact(&mut bytes)).await.expect("no answer").expect("closed");
    bytes
}

/// Everything until the server closes.
pub async fn read_to_close(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A server that does not read what we sent resets the connection: closed, too.
    let _ = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("not closed");
    bytes
}

pub async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    // The server may have closed already.
    let _ = stream.write_all(bytes).await;
}
