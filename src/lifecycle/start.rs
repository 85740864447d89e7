//! Starts the daemon: limits, ports, then sessions.

use std::ffi::OsString;

use tokio::runtime::{Builder, LocalOptions};

use crate::config::Settings;
use crate::config::settings::{HttpLimits, RpcSettings, SchedulerKind};
use crate::ipc::RpcLimits;
use crate::server::Targets;
use crate::store::Precedence;

use super::check_start::folder_errors;
use super::handover::Predecessor;
use super::ports::allow_descriptors;
use super::process::DaemonProcess;
use super::serve_error::ServeError;
use super::service_notifier::ServiceNotifier;
use super::session::Serving;
use super::signals::StopRequest;

/// Blocking threads: all submissions and removals, as many stuck ones, and the rest for reading state, conf folders
/// and groups.
const MAX_THREADS: usize = 96;
/// File descriptors reserved for the database, files of jobs and the runtime.
const RESERVED_DESCRIPTORS: usize = 256;
/// Minimum connections of either kind, however few descriptors there are.
const MIN_CONNECTIONS: usize = 16;

/// Start options beside the settings.
#[derive(Debug, Default)]
pub(crate) struct ServeOptions {
    /// Whether an edited budget file or the ledger wins.
    pub(crate) precedence: Precedence,
    /// The arguments for a successor, without the program's name.
    pub(crate) arguments: Vec<OsString>,
    /// The running daemon that this one replaces.
    pub(crate) predecessor: Option<Predecessor>,
    /// What stops a daemon that is embedded in a process; `None`: signals.
    pub(crate) stop: Option<StopRequest>,
}

/// Runs the daemon on this thread until it is stopped, by SIGTERM or SIGINT unless `options` name another way, or
/// replaced by another process. `started` is called once it serves.
pub(crate) fn serve(
    settings: &Settings,
    options: ServeOptions,
    started: impl FnOnce(&Serving),
) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build_local(LocalOptions::default())
        .map_err(|source| ServeError::System { what: "an event queue", source })?;
    let service = ServiceNotifier::of_process();
    let is_first = options.predecessor.is_none();
    let outcome = runtime.block_on(serve_here(settings, options, &service, started));
    // The service manager ignores a successor that does not serve yet.
    if let (Err(error), true) = (&outcome, is_first) {
        service.status(&error.to_string());
    }
    // Files that are still being removed are not waited for.
    runtime.shutdown_background();
    outcome
}

async fn serve_here(
    settings: &Settings,
    options: ServeOptions,
    service: &ServiceNotifier,
    started: impl FnOnce(&Serving),
) -> Result<(), ServeError> {
    let limits = within_descriptors(settings);
    warn_open_targets(settings);
    say_whose_copies(settings);
    let ServeOptions { precedence, arguments, predecessor, stop } = options;
    // What shows soonest first: a failure leaves nothing behind.
    if let (None, Some(error)) = (&predecessor, folder_errors(settings).into_iter().next()) {
        return Err(error);
    }
    let process = match predecessor {
        None => DaemonProcess::new(settings, service.clone(), arguments, stop)?,
        Some(predecessor) => DaemonProcess::from_predecessor(settings, service.clone(), arguments, predecessor)?,
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

/// Says whose copies of histories are written, where not everyone's are: the jobs of other users go without, unsaid.
fn say_whose_copies(settings: &Settings) {
    if !rustix::process::geteuid().is_root() {
        tracing::info!(
            "copies of histories beside the output of jobs on this machine are written for user {} alone: acting as other \
             users takes root",
            settings.files.user()
        );
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
