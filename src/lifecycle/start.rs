//! Start and stop of the daemon: ports, state, budgets, engine, in this order, and back.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::{Builder, LocalOptions};

use crate::clock::Clock;
use crate::config::settings::{BudgetStoreKind, DynamicSettings, HttpLimits, RpcSettings, SchedulerKind};
use crate::config::{HostPort, Settings};
use crate::engine::{Engine, ForeignState};
use crate::fs::FsError;
use crate::ipc::RpcLimits;
use crate::market::BudgetLine;
use crate::server::{AclFileError, HostsError, SystemDirAtStart, Targets, engine_config, no_minute};
use crate::store::{
    BudgetAtStart, BudgetBackEndError, BudgetPublisher, LoadedState, Precedence, Retention, Store, StoreError,
    StoreOptions,
};

use super::daemon::RunError;
use super::handover::Predecessor;
use super::host_name::as_others_name;
use super::ports::allow_descriptors;
use super::process::Office;
use super::signals::StopWord;
use super::supervisor::Supervisor;

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
    #[error(
        "cannot listen on {address}: {source}; stop what listens there, or set another address by -D {key}=HOST:PORT"
    )]
    Port {
        /// The key.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The state cannot be opened or closed.
    #[error("{0}{mend}", mend = mend_state(.0))]
    Store(#[from] StoreError),
    /// The budget file.
    #[error("{0}")]
    Budget(#[from] BudgetBackEndError),
    /// The list of users.
    #[error("{0}")]
    Acl(#[from] AclFileError),
    /// The lists of hosts.
    #[error("{0}")]
    Hosts(#[from] HostsError),
    /// The system directory.
    #[error("{0}; set mapred.system.dir to a folder that this user may write to")]
    SystemDir(FsError),
    /// The staging root is not ours or root's alone.
    #[error("mapreduce.jobtracker.staging.root.dir: {0}")]
    StagingRoot(FsError),
    /// The system gives no thread, signal or event queue.
    #[error("the system refuses {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The daemon that this one was to go on for has not handed anything over.
    #[error("nothing is taken over: {0}")]
    TakeOver(String),
    /// Something ended that must not while the daemon runs.
    #[error("{0}; see the log for why. A restart goes on from what is durable")]
    Run(#[from] RunError),
}

/// What to do about a state folder that is no good.
fn mend_state(error: &StoreError) -> &'static str {
    match error {
        StoreError::File { .. } | StoreError::Folder(FsError::Refused { .. } | FsError::WrongKind { .. }) => {
            "; set jobtracker.state.dir to a folder that this user may write to"
        }
        // These tell it themselves.
        StoreError::Locked { .. } | StoreError::OtherSchema { .. } => "",
        _ => " (jobtracker.state.dir)",
    }
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

/// Threads for what blocks: all turns of submissions and removals, as many that hang, and what is left for reading state, conf folders
/// and groups.
const MOST_THREADS: usize = 96;
/// File descriptors for everything but connections: the database, files of jobs, the runtime.
const RESERVED_DESCRIPTORS: usize = 256;
/// Connections of either kind that are taken however few descriptors there are.
const LEAST_CONNECTIONS: usize = 16;

/// Changes of an edited budget file that the log repeats one by one.
const TOLD_QUEUES: usize = 50;

/// How a daemon is started, beside what its settings say.
#[derive(Debug, Default)]
pub struct Launch {
    /// What holds where the budget file is not what it should be.
    pub precedence: Precedence,
    /// The arguments by which a successor is started, its program's name not among them.
    pub arguments: Vec<OsString>,
    /// The running daemon that this one goes on for.
    pub predecessor: Option<Predecessor>,
    /// Where the daemon is only a part of its process, what ends it in place of signals.
    pub stop: Option<StopWord>,
}

/// Runs the daemon on this thread until it is told to stop, by SIGTERM or SIGINT unless `launch` says otherwise, or
/// another process goes on for it. `started` hears once it serves.
///
/// # Errors
/// [`ServeError`]
pub fn serve(settings: &Settings, launch: Launch, started: impl FnOnce(&Serving)) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_THREADS)
        .build_local(LocalOptions::default())
        .map_err(|source| ServeError::System { what: "an event queue", source })?;
    let supervisor = Supervisor::of_process();
    let is_first = launch.predecessor.is_none();
    let outcome = runtime.block_on(serve_here(settings, launch, &supervisor, started));
    // Nobody listens to a successor that has not begun.
    if let (Err(error), true) = (&outcome, is_first) {
        supervisor.status(&error.to_string());
    }
    // Files that are still being removed are not waited for.
    runtime.shutdown_background();
    outcome
}

async fn serve_here(
    settings: &Settings,
    launch: Launch,
    supervisor: &Supervisor,
    started: impl FnOnce(&Serving),
) -> Result<(), ServeError> {
    let limits = within_descriptors(settings);
    tell_open_targets(settings);
    let Launch { precedence, arguments, predecessor, stop } = launch;
    // Ports first: what fails soonest leaves nothing behind.
    let office = match predecessor {
        None => Office::new(settings, supervisor.clone(), arguments, stop)?,
        Some(predecessor) => Office::taken_over(settings, supervisor.clone(), arguments, predecessor)?,
    };
    office.serve_to_the_end(limits, precedence, started).await
}

/// Says that jobs may have every host called, where that could reach what others guard: with money, and as root.
fn tell_open_targets(settings: &Settings) {
    let has_market = matches!(settings.scheduler, SchedulerKind::Dynamic(_));
    let is_open = Targets::new(&settings.end_notification_targets).are_all();
    if is_open && (has_market || rustix::process::geteuid().is_root()) {
        tracing::info!(
            "jobs may have any host called at their end that this machine reaches: list those that may be in \
             jobtracker.end-notification.targets"
        );
    }
}

/// What a start finds.
pub(super) struct Found {
    pub(super) opened: LoadedState,
    pub(super) predecessors: ForeignState,
    pub(super) system_dir: SystemDirAtStart,
    /// The trackers of one that has handed over.
    pub(super) handed_over: Option<BTreeSet<Arc<str>>>,
}

pub(super) fn store_options(settings: &Settings, system_dir: &SystemDirAtStart) -> StoreOptions {
    StoreOptions {
        look_for: system_dir.jobs().clone(),
        ledger_detail_days: settings.ledger_detail_days,
        finished_jobs: settings.job_limits.finished_jobs_kept,
        retention: Retention {
            jobs: settings.state_finished_jobs,
            days: settings.state_finished_job_days,
            // Clients read their tasks on the disk, and may still change their priority.
            always: settings.job_limits.finished_jobs_kept as u64,
        },
        ..StoreOptions::new(&settings.directories.state)
    }
}

/// The limits that settings name; the rest as usual.
fn rpc_limits(settings: &RpcSettings) -> RpcLimits {
    RpcLimits {
        max_frame_bytes: settings.max_frame_bytes,
        max_connections: settings.max_connections,
        max_calls_in_flight: u32::try_from(settings.max_calls_in_flight).unwrap_or(u32::MAX),
        write_timeout_ms: settings.write_timeout_ms,
        ..RpcLimits::default()
    }
}

/// The limits on connections that the settings name, less where the system lets us have fewer file descriptors: what
/// has no descriptor could not be accepted, and nor could a file be opened.
fn within_descriptors(settings: &Settings) -> (RpcLimits, HttpLimits) {
    let (mut rpc, mut http) = (rpc_limits(&settings.rpc), settings.http);
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

/// The engine as the store left it, and the thread that writes the budget file where there is a market.
pub(super) fn wake(
    settings: &Settings,
    market: Option<(&DynamicSettings, Precedence)>,
    store: &Store,
    found: Found,
    http: SocketAddr,
) -> Result<(Option<BudgetPublisher>, Engine, Clock), ServeError> {
    let Found { opened, predecessors, system_dir, handed_over } = found;
    let clock = Clock::start();
    let now = clock.now();
    let budget = match market {
        None => None,
        Some((market, precedence)) => {
            let path = &market.budget_file;
            let image = match market.budget_store {
                BudgetStoreKind::File => BudgetPublisher::open(store, &opened, path, precedence)?,
            };
            Some((path, image))
        }
    };
    let used = opened.identifiers.iter().copied().chain(system_dir.identifiers()).collect();
    let mut config = engine_config(settings, &used, now.wall_ms, job_page_prefix(settings, http))?;
    if system_dir.was_another_here() {
        config.identifier = no_minute(config.identifier, &used);
    }
    let mut restored = opened.restored();
    restored.foreign_state = predecessors;
    restored.jobs.handed_over = handed_over;
    let mut engine = Engine::new(config, restored, now);
    let image = budget.map(|(path, (image, found))| {
        match found {
            // The file is what it says; it becomes an image when something changes.
            BudgetAtStart::Initial(lines) => {
                tell_rounded(path, &lines);
                engine.seed_budgets(lines, now);
                return image;
            }
            // Written at the first tick, when the ledger is sure to have it.
            BudgetAtStart::Edited(lines) => {
                tell_rounded(path, &lines);
                tell_taken_over(path, &engine.take_over_budgets(lines, now));
                return image;
            }
            BudgetAtStart::Unchanged => {}
            BudgetAtStart::Overridden(line) => tracing::warn!("{line}"),
        }
        if let Some(market) = engine.market() {
            image.publish(market.budget_lines(), market.tick_number());
        }
        image
    });
    Ok((image, engine, clock))
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
    format!("http://{}/jobdetails.jsp?jobid=", as_others_name(&settings.http_address, http))
}
