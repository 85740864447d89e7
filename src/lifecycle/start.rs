//! Starts the daemon: ports, state, budgets, engine, in this order.

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
    BudgetImage, BudgetImageError, ImageAtStart, Opened, Precedence, Retention, Store, StoreError, StoreOptions,
};

use super::daemon::RunError;
use super::handover::Predecessor;
use super::host_name::as_others_name;
use super::ports::allow_descriptors;
use super::process::DaemonProcess;
use super::signals::StopRequest;
use super::supervisor::Supervisor;

/// Why the daemon does not start, or does not stop cleanly. Each text includes what to do.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address does not resolve here.
    #[error("{key} = {address}: {source}; expected an address of this machine")]
    Address {
        /// The key.
        key: &'static str,
        /// Its value.
        address: HostPort,
        /// The system's error.
        source: std::io::Error,
    },
    /// A port cannot be bound.
    #[error(
        "cannot listen on {address}: {source}; stop what listens there, or set another address by -D {key}=HOST:PORT"
    )]
    Port {
        /// The key.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The state cannot be opened or closed.
    #[error("{0}{mend}", mend = state_advice(.0))]
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
    #[error("{0}; set mapred.system.dir to a folder that this user may write to")]
    SystemDir(FsError),
    /// The staging root belongs to other users.
    #[error("mapreduce.jobtracker.staging.root.dir: {0}")]
    StagingRoot(FsError),
    /// The system refuses a thread, a signal or an event queue.
    #[error("the system refuses {what}: {source}")]
    System {
        /// What it refuses.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The hand-over from the running daemon failed.
    #[error("takeover failed: {0}")]
    TakeOver(String),
    /// Serving ended with an error.
    #[error("{0}: see the log; a restart continues from the durable state")]
    Run(#[from] RunError),
}

/// What to do about a bad state folder.
fn state_advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::File { .. } | StoreError::Folder(FsError::Refused { .. } | FsError::WrongKind { .. }) => {
            "; set jobtracker.state.dir to a folder that this user may write to"
        }
        // These texts include it.
        StoreError::Held { .. } | StoreError::NewerSchema { .. } => "",
        _ => " (jobtracker.state.dir)",
    }
}

/// What is known once the daemon serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Address of RPC.
    pub rpc: SocketAddr,
    /// Address of the web server.
    pub http: SocketAddr,
    /// The folder of state.db.
    pub state_dir: PathBuf,
}

/// Blocking threads: all submissions and removals, as many stuck ones, and the rest for reading state, conf folders
/// and groups.
const MAX_THREADS: usize = 96;
/// File descriptors reserved for the database, files of jobs and the runtime.
const RESERVED_DESCRIPTORS: usize = 256;
/// Minimum connections of either kind, however few descriptors there are.
const MIN_CONNECTIONS: usize = 16;

/// Changes of an edited budget file that are logged one by one.
const LOGGED_QUEUES: usize = 50;

/// Start options beside the settings.
#[derive(Debug, Default)]
pub struct ServeOptions {
    /// Whether an edited budget file or the ledger wins.
    pub precedence: Precedence,
    /// The arguments for a successor, without the program's name.
    pub arguments: Vec<OsString>,
    /// The running daemon that this one replaces.
    pub predecessor: Option<Predecessor>,
    /// What stops a daemon that is embedded in a process; `None`: signals.
    pub stop: Option<StopRequest>,
}

/// Runs the daemon on this thread until it is stopped, by SIGTERM or SIGINT unless `options` name another way, or
/// replaced by another process. `started` is called once it serves.
///
/// # Errors
/// [`ServeError`]
pub fn serve(settings: &Settings, options: ServeOptions, started: impl FnOnce(&Serving)) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build_local(LocalOptions::default())
        .map_err(|source| ServeError::System { what: "an event queue", source })?;
    let supervisor = Supervisor::of_process();
    let is_first = options.predecessor.is_none();
    let outcome = runtime.block_on(serve_here(settings, options, &supervisor, started));
    // The supervisor ignores a successor that does not serve yet.
    if let (Err(error), true) = (&outcome, is_first) {
        supervisor.status(&error.to_string());
    }
    // Files that are still being removed are not waited for.
    runtime.shutdown_background();
    outcome
}

async fn serve_here(
    settings: &Settings,
    options: ServeOptions,
    supervisor: &Supervisor,
    started: impl FnOnce(&Serving),
) -> Result<(), ServeError> {
    let limits = within_descriptors(settings);
    warn_open_targets(settings);
    let ServeOptions { precedence, arguments, predecessor, stop } = options;
    // Ports first: the failures that show soonest leave nothing behind.
    let process = match predecessor {
        None => DaemonProcess::new(settings, supervisor.clone(), arguments, stop)?,
        Some(predecessor) => DaemonProcess::from_predecessor(settings, supervisor.clone(), arguments, predecessor)?,
    };
    process.serve_until_stopped(limits, precedence, started).await
}

/// Warns that jobs may have every host called if that is a risk: with a market, or as root.
fn warn_open_targets(settings: &Settings) {
    let has_market = matches!(settings.scheduler, SchedulerKind::Dynamic(_));
    let is_open = Targets::new(&settings.end_notification_targets).are_all();
    if is_open && (has_market || rustix::process::geteuid().is_root()) {
        tracing::info!(
            "end notifications of jobs may call any host that this machine reaches: list the allowed ones in \
             jobtracker.end-notification.targets"
        );
    }
}

/// What a start has loaded.
pub(super) struct StartState {
    pub(super) opened: Opened,
    pub(super) predecessors: ForeignState,
    pub(super) system_dir: SystemDirAtStart,
    /// The trackers that a predecessor has handed over.
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
            // Clients read their tasks from the disk, and may still change their priority.
            always: settings.job_limits.finished_jobs_kept as u64,
        },
        ..StoreOptions::new(&settings.directories.state)
    }
}

/// The configured limits; the rest are defaults.
fn rpc_limits(settings: &RpcSettings) -> RpcLimits {
    RpcLimits {
        max_frame_bytes: settings.max_frame_bytes,
        max_connections: settings.max_connections,
        max_calls_in_flight: u32::try_from(settings.max_calls_in_flight).unwrap_or(u32::MAX),
        write_timeout_ms: settings.write_timeout_ms,
        ..RpcLimits::default()
    }
}

/// The configured connection limits, reduced to the file descriptors available: without a descriptor no connection can
/// be accepted and no file opened.
fn within_descriptors(settings: &Settings) -> (RpcLimits, HttpLimits) {
    let (mut rpc, mut http) = (rpc_limits(&settings.rpc), settings.http);
    let needed = rpc.max_connections.saturating_add(http.max_connections).saturating_add(RESERVED_DESCRIPTORS);
    let allowed = allow_descriptors(needed);
    if allowed < needed {
        let spare = allowed.saturating_sub(RESERVED_DESCRIPTORS);
        http.max_connections = http.max_connections.min(spare / 8).max(MIN_CONNECTIONS);
        rpc.max_connections = rpc.max_connections.min(spare.saturating_sub(http.max_connections)).max(MIN_CONNECTIONS);
        tracing::warn!(
            "only {allowed} file descriptors are available (ulimit -n, LimitNOFILE), {needed} are needed: at most {} RPC \
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

/// Builds the engine from the loaded state, and the writer of the budget file if there is a market.
pub(super) fn build_engine(
    settings: &Settings,
    market: Option<(&DynamicSettings, Precedence)>,
    store: &Store,
    found: StartState,
    http: SocketAddr,
) -> Result<(Option<BudgetImage>, Engine, Clock), ServeError> {
    let StartState { opened, predecessors, system_dir, handed_over } = found;
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
    let mut restored = opened.restored();
    restored.foreign_state = predecessors;
    restored.jobs.handed_over = handed_over;
    let mut engine = Engine::new(config, restored, now);
    let image = budget.map(|(path, (image, found))| {
        match found {
            // Unchanged; it becomes an image at the next change.
            ImageAtStart::First(lines) => {
                log_rounded(path, &lines);
                engine.seed_budgets(lines, now);
                return image;
            }
            // Written at the first tick, when the ledger includes it.
            ImageAtStart::Edited(lines) => {
                log_rounded(path, &lines);
                log_imported(path, &engine.take_over_budgets(lines, now));
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

/// Logs what an edited budget file has changed; all of it is in the ledger.
fn log_imported(path: &Path, changes: &[String]) {
    let path = path.display();
    tracing::warn!(
        "{path}: the budget file was edited; {} queues differ and are updated, recorded as adjustments",
        changes.len()
    );
    log_queues(path, changes);
}

/// Logs which amounts have more decimals than are stored, such as those of the original.
fn log_rounded(path: &Path, lines: &[BudgetLine]) {
    let changes = lines.iter().filter(|line| line.is_budget_rounded || line.is_rate_rounded).map(|line| {
        let BudgetLine { queue, budget, rate, .. } = line;
        match (line.is_budget_rounded, line.is_rate_rounded) {
            (true, true) => {
                format!("queue {queue}: rounded to budget {budget}, recorded as an adjustment, and rate {rate}")
            }
            (true, false) => format!("queue {queue}: rounded to budget {budget}, recorded as an adjustment"),
            (false, _) => format!("queue {queue}: rounded to rate {rate}"),
        }
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return;
    }
    let path = path.display();
    tracing::warn!("{path}: rounded the amounts of {} queues to 12 decimals", changes.len());
    log_queues(path, &changes);
}

/// Logs one line per queue, up to a limit.
fn log_queues(path: std::path::Display<'_>, changes: &[String]) {
    for line in changes.iter().take(LOGGED_QUEUES) {
        tracing::warn!("{path}: {line}");
    }
    if let Some(more) = changes.len().checked_sub(LOGGED_QUEUES).filter(|more| *more > 0) {
        tracing::warn!("{path}: and {more} more");
    }
}

/// URL of a job's page, without the id. A server on all addresses is named by its host, as 1.2.1 `JobTracker` does.
fn job_page_prefix(settings: &Settings, http: SocketAddr) -> String {
    format!("http://{}/jobdetails.jsp?jobid=", as_others_name(&settings.http_address, http))
}
