//! Start and stop of the daemon: ports, state, budgets, engine, in this order, and back.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};

use crate::config::settings::{BudgetStoreKind, DynamicSettings, HttpLimits, SchedulerKind};
use crate::config::{HostPort, Settings};
use crate::engine::{Engine, Predecessors, Restored, RestoredJobs};
use crate::fs::FsError;
use crate::market::BudgetLine;
use crate::store::{
    BudgetImage, BudgetImageError, FaultPoint, ImageAtStart, Opened, OpenedJobs, Precedence, Store, StoreError,
    StoreOptions,
};

use super::acl_file::{AclFile, AclFileError};
use super::acl_watch::AclWatch;
use super::clock::Clock;
use super::daemon::{Daemon, Parts, RunError};
use super::engine_config::{HostsError, engine_config, no_minute};
use super::host_name::host_name;
use super::reload::Reload;
use super::rpc::{RpcLimits, listen};
use super::signals::Signals;
use super::submission::{Leftovers, SystemDirAtStart, make_system_dir};
use super::supervisor::Supervisor;
use super::web_thread::WebThread;

/// Why the daemon does not start, or does not end well. Each text says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address has no meaning here.
    #[error("{key} = {address}: {source}; expected an address of this machine")]
    Address {
        /// The key.
        key: &'static str,
        /// Its value.
        address: HostPort,
        /// What the system said.
        source: std::io::Error,
    },
    /// A port is taken, or not ours to take.
    #[error("cannot listen on {address} ({key}): {source}; stop what listens there, or set another address")]
    Port {
        /// The key.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The state cannot be opened or closed.
    #[error("{0} (jobtracker.state.dir)")]
    Store(#[from] StoreError),
    /// The budget file.
    #[error("{0}")]
    Budget(#[from] BudgetImageError),
    /// The list of users.
    #[error("{0}")]
    Acl(#[from] AclFileError),
    /// The lists of hosts.
    #[error("{0}")]
    Hosts(#[from] HostsError),
    /// The system directory.
    #[error("{0} (mapred.system.dir)")]
    SystemDir(FsError),
    /// The system gives no thread, signal or event queue.
    #[error("the system refuses {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something ended that must not while the daemon runs.
    #[error("{0}; see the log for why. A restart goes on from what is durable")]
    Run(#[from] RunError),
}

/// What is known once the daemon serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Where RPC is served.
    pub rpc: SocketAddr,
    /// Where the web is served.
    pub http: SocketAddr,
    /// The folder of state.db.
    pub state_dir: PathBuf,
}

/// File descriptors for everything but connections: the database, files of jobs, the runtime.
const RESERVED_DESCRIPTORS: usize = 256;
/// Connections of either kind that are taken however few descriptors there are.
const LEAST_CONNECTIONS: usize = 16;

/// Changes of an edited budget file that the log repeats one by one.
const TOLD_QUEUES: usize = 50;

/// Runs the daemon on this thread until it is told to stop by SIGTERM or SIGINT. `started` hears once it serves.
/// `precedence` says what holds where the budget file is not what it should be.
///
/// # Errors
/// [`ServeError`]
pub fn serve(settings: &Settings, precedence: Precedence, started: impl FnOnce(&Serving)) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(32)
        .build_local(LocalOptions::default())
        .map_err(|source| ServeError::System { what: "an event queue", source })?;
    let supervisor = Supervisor::of_process();
    let outcome = runtime.block_on(serve_here(settings, precedence, &supervisor, started));
    if let Err(error) = &outcome {
        supervisor.status(&error.to_string());
    }
    // Files that are still being removed are not waited for.
    runtime.shutdown_background();
    outcome
}

async fn serve_here(
    settings: &Settings,
    precedence: Precedence,
    supervisor: &Supervisor,
    started: impl FnOnce(&Serving),
) -> Result<(), ServeError> {
    let (rpc_limits, http_limits) = within_descriptors(settings);
    let signals = Signals::new().map_err(|source| ServeError::System { what: "signals", source })?;
    // Ports first: what fails soonest leaves nothing behind.
    let (rpc_port, rpc_address) = open_port("mapred.job.tracker", &settings.rpc_address)?;
    let (http_port, http_address) = open_port("mapred.job.tracker.http.address", &settings.http_address)?;
    let market = match &settings.scheduler {
        SchedulerKind::Dynamic(market) => Some(market),
        SchedulerKind::Fifo(_) => None,
    };
    let acl = market.map(|market| AclFile::open(market.acl_file.clone())).transpose()?.map(Arc::new);
    let acl_watch = acl.as_ref().and_then(AclWatch::of);
    make_system_dir(&settings.directories.system).map_err(ServeError::SystemDir)?;
    let system_dir = SystemDirAtStart::look(&settings.directories.system).map_err(ServeError::SystemDir)?;
    supervisor.status("starting: loading the state");
    let (store, opened) = Store::open(store_options(settings, &system_dir))?;
    let predecessors = system_dir.predecessors(&opened, settings.restart_recover);
    let leftovers = Leftovers::of(&opened, &predecessors);
    let found = Found { opened, predecessors, system_dir };
    let (budget_image, engine, clock) =
        wake(settings, market.map(|market| (market, precedence)), &store, found, http_address)?;
    FaultPoint::EngineMade.pass();
    let budget_image = budget_image.map(Rc::new);
    let parts = Parts {
        settings,
        rpc_limits,
        engine,
        sink: store.sink(),
        clock,
        acl: acl.clone(),
        budget_image: budget_image.clone(),
    };
    let (daemon, handle) = Daemon::new(parts);
    let daemon = daemon.with_leftovers(leftovers).with_finished_jobs(store.finished_jobs());
    let handle = handle.with_ledger(store.ledger());
    let owner = daemon.owner().clone();
    let status = format!("serving RPC on {rpc_address}, web on {http_address}");
    let reload = Reload::new(settings, acl, owner.clone(), daemon.dispatcher().clone());
    let daemon = daemon
        .with_companion(reload.at_each(signals.hang_up, supervisor.clone()))
        .with_companion(supervisor.clone().follow(store.durable(), status));
    let web = WebThread::start(http_port, handle, &http_limits, market.is_some())
        .map_err(|source| ServeError::System { what: "a thread for the web server", source })?;
    started(&Serving { rpc: rpc_address, http: http_address, state_dir: settings.directories.state.clone() });
    let stop = async {
        signals.stop.stop().await;
        supervisor.stopping();
    };
    let served = daemon.run(rpc_port, stop).await;
    web.stop();
    drop(acl_watch);
    FaultPoint::StopBegun.pass();
    // The last prices and charges are in the ledger; the image shows them.
    if let Some(image) = budget_image {
        if let Some((accounts, tick)) = owner.budgets() {
            image.publish(accounts, tick);
        }
        if let Some(image) = Rc::into_inner(image) {
            image.close(owner.last_fact())?;
        }
    }
    drop(owner);
    store.close()?;
    Ok(served?)
}

/// What a start finds.
struct Found {
    opened: Opened,
    predecessors: Predecessors,
    system_dir: SystemDirAtStart,
}

fn store_options(settings: &Settings, system_dir: &SystemDirAtStart) -> StoreOptions {
    StoreOptions {
        look_for: system_dir.jobs().clone(),
        ledger_detail_days: settings.ledger_detail_days,
        finished_jobs: settings.job_limits.finished_jobs_kept,
        ..StoreOptions::new(&settings.directories.state)
    }
}

/// The limits on connections that the settings name, less where the system lets us have fewer file descriptors: what
/// has no descriptor could not be accepted, and nor could a file be opened.
fn within_descriptors(settings: &Settings) -> (RpcLimits, HttpLimits) {
    let (mut rpc, mut http) = (RpcLimits::of(&settings.rpc), settings.http);
    let needed = rpc.max_connections.saturating_add(http.max_connections).saturating_add(RESERVED_DESCRIPTORS);
    let allowed = allow_descriptors(needed);
    if allowed < needed {
        let spare = allowed.saturating_sub(RESERVED_DESCRIPTORS);
        http.max_connections = http.max_connections.min(spare / 8).max(LEAST_CONNECTIONS);
        rpc.max_connections =
            rpc.max_connections.min(spare.saturating_sub(http.max_connections)).max(LEAST_CONNECTIONS);
        tracing::warn!(
            "only {allowed} file descriptors may be open (ulimit -n, LimitNOFILE), {needed} are needed: at most {} RPC \
             connections instead of {} (jobtracker.rpc.max-connections) and {} of HTTP instead of {} \
             (jobtracker.http.max-connections)",
            rpc.max_connections,
            settings.rpc.max_connections,
            http.max_connections,
            settings.http.max_connections,
        );
    }
    (rpc, http)
}

/// Raises the soft limit on file descriptors to what is needed, as far as the hard limit lets us; what it is then.
fn allow_descriptors(needed: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = needed as u64;
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return needed };
    let reached = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(reached), maximum: limit.maximum });
    usize::try_from(if raised.is_ok() { reached } else { current }).unwrap_or(needed)
}

/// Binds the port that a key names.
fn open_port(key: &'static str, address: &HostPort) -> Result<(TcpListener, SocketAddr), ServeError> {
    let refused = |source| ServeError::Address { key, address: address.clone(), source };
    let mut resolved = (address.host.as_str(), address.port).to_socket_addrs().map_err(refused)?;
    let not_found = || refused(std::io::ErrorKind::AddrNotAvailable.into());
    let resolved = resolved.next().ok_or_else(not_found)?;
    let refused = |source| ServeError::Port { key, address: resolved, source };
    let listener = listen(resolved).map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

/// The engine as the store left it, and the thread that writes the budget file where there is a market.
fn wake(
    settings: &Settings,
    market: Option<(&DynamicSettings, Precedence)>,
    store: &Store,
    found: Found,
    http: SocketAddr,
) -> Result<(Option<BudgetImage>, Engine, Clock), ServeError> {
    let Found { opened, predecessors, system_dir } = found;
    let clock = Clock::start();
    let now = clock.now();
    let budget = match market {
        None => None,
        Some((market, precedence)) => {
            let path = &market.budget_file;
            let image = match market.budget_store {
                BudgetStoreKind::File => BudgetImage::open(store, &opened, path, precedence)?,
            };
            Some((path, image))
        }
    };
    let used = opened.identifiers.iter().copied().chain(system_dir.identifiers()).collect();
    let mut config = engine_config(settings, &used, now.wall_ms, job_page_prefix(settings, http))?;
    if system_dir.was_another_here() {
        config.identifier = no_minute(config.identifier, &used);
    }
    let restored = restored(opened, predecessors);
    let mut engine = Engine::new(config, restored, now);
    let image = budget.map(|(path, (image, found))| {
        match found {
            // The file is what it says; it becomes an image when something changes.
            ImageAtStart::First(lines) => {
                tell_rounded(path, &lines);
                engine.endow(lines, now);
                return image;
            }
            // Written at the first tick, when the ledger is sure to have it.
            ImageAtStart::Edited(lines) => {
                tell_rounded(path, &lines);
                tell_taken_over(path, &engine.take_over_budgets(lines, now));
                return image;
            }
            ImageAtStart::Ours => {}
            ImageAtStart::Overruled(line) => tracing::warn!("{line}"),
        }
        if let Some(market) = engine.market() {
            image.publish(market.budget_lines(), market.tick_number());
        }
        image
    });
    Ok((image, engine, clock))
}

/// What the engine goes on with.
fn restored(opened: Opened, predecessors: Predecessors) -> Restored {
    let OpenedJobs { unfinished, finished, launch_answers, costs, interner } = opened.jobs;
    let kill_debts = opened.kill_debts;
    Restored {
        last_fact: opened.last_fact,
        last_order: opened.max_order,
        market: opened.market,
        predecessors,
        jobs: RestoredJobs { unfinished, finished, launch_answers, kill_debts, costs },
        interner,
    }
}

/// Says what an edited budget file has changed; all of it is in the ledger.
fn tell_taken_over(path: &Path, told: &[String]) {
    let path = path.display();
    tracing::warn!(
        "{path}: the budget file was edited; {} queues differ and are taken over, booked as adjustments",
        told.len()
    );
    tell_queues(path, told);
}

/// Says which amounts have more decimals than are kept, as those have that the original wrote.
fn tell_rounded(path: &Path, lines: &[BudgetLine]) {
    let told = lines.iter().filter(|line| line.is_budget_rounded || line.is_rate_rounded).map(|line| {
        let BudgetLine { queue, budget, rate, .. } = line;
        match (line.is_budget_rounded, line.is_rate_rounded) {
            (true, true) => {
                format!("queue {queue}: rounded to budget {budget}, booked as an adjustment, and rate {rate}")
            }
            (true, false) => format!("queue {queue}: rounded to budget {budget}, booked as an adjustment"),
            (false, _) => format!("queue {queue}: rounded to rate {rate}"),
        }
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return;
    }
    let path = path.display();
    tracing::warn!("{path}: {} queues have amounts with more than 12 decimals, which are rounded", told.len());
    tell_queues(path, &told);
}

/// One line for each queue, but not for thousands.
fn tell_queues(path: std::path::Display<'_>, told: &[String]) {
    for line in told.iter().take(TOLD_QUEUES) {
        tracing::warn!("{path}: {line}");
    }
    if let Some(more) = told.len().checked_sub(TOLD_QUEUES).filter(|more| *more > 0) {
        tracing::warn!("{path}: and {more} more");
    }
}

/// Where a job's page is; the id follows. A server on all addresses is named by its host, as 1.2.1 `JobTracker` does.
fn job_page_prefix(settings: &Settings, http: SocketAddr) -> String {
    let host = if http.ip().is_unspecified() { host_name() } else { settings.http_address.host.clone() };
    format!("http://{}/jobdetails.jsp?jobid=", HostPort { host, port: http.port() })
}
