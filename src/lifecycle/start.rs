//! Starts the daemon: limits, ports, then session after session. One ends with a stop or a hand-over to another process; if that fails, this
//! process starts the next one.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};

use crate::config::Settings;
use crate::config::settings::{HttpLimits, RpcSettings, SchedulerKind};
use crate::ipc::RpcLimits;
use crate::server::Targets;
use crate::store::Precedence;

use super::check_start::folder_errors;
use super::handover::{Control, HandoverState, Predecessor, UpgradeOutcome, UpgradeRequest};
use super::ports::allow_descriptors;
use super::process::{DaemonProcess, STOPPED_MEANWHILE};
use super::scheduler_control::MarketOpening;
use super::serve_error::ServeError;
use super::service_notifier::ServiceNotifier;
use super::session::Serving;
use super::session_end::{PendingHandover, SessionEnd};
use super::signals::StopRequest;

/// Blocking threads: all submissions and removals, as many stuck ones, and the rest for reading state, conf folders and groups.
const MAX_THREADS: usize = 96;
/// File descriptors reserved for the database, files of jobs and the runtime.
const RESERVED_DESCRIPTORS: usize = 256;
/// Minimum connections of either kind, however few descriptors there are.
const MIN_CONNECTIONS: usize = 16;

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

/// First and longest pause before a session that failed to start is retried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

enum HandoverResult {
    Done,
    Failed,
    /// Stopped meanwhile, so no process serves.
    Stopped,
}

impl DaemonProcess<'_> {
    pub(super) async fn serve_until_stopped(
        mut self,
        limits: (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<(), ServeError> {
        let mut started = Some(started);
        // The administrator's choice about the budget file applies to the first start only.
        let mut precedence = if self.handed_over.is_some() { Precedence::Ledger } else { precedence };
        let mut is_ours_again = false;
        let mut pause = PAUSES.0;
        loop {
            self.has_served = false;
            let announce = |serving: &Serving| started.take().into_iter().for_each(|started| started(serving));
            match self.serve_session(limits, precedence, announce).await {
                Ok(SessionEnd::Stopped) => return Ok(()),
                Ok(SessionEnd::HandingOver(handover)) => match self.hand_over(*handover).await {
                    HandoverResult::Done | HandoverResult::Stopped => return Ok(()),
                    HandoverResult::Failed => {
                        (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0);
                    }
                },
                Ok(SessionEnd::OpeningMarket(opening)) => {
                    let MarketOpening { market, call } = *opening;
                    (self.market, self.market_opening) = (Some(market), Some(call));
                    (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0);
                }
                Ok(SessionEnd::LoadingAgain) => {
                    (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0)
                }
                // Without the market this process served before.
                Err(error) if self.market_opening.is_some() && !self.has_served => {
                    if let (Some(market), Some(call)) = (self.market.take(), self.market_opening.take()) {
                        MarketOpening { market, call }.refuse(&error.to_string()).await;
                    }
                }
                // This process holds the connections and the state is complete: the cause may be temporary.
                Err(error) if is_ours_again && !self.has_served => {
                    tracing::error!("cannot resume serving, retrying: {error}");
                    self.service.status(&format!("cannot resume serving: {error}"));
                    let sleep = self.service.keep_alive_during(tokio::time::sleep(pause));
                    tokio::select! {
                        () = self.stop.requested() => return Err(error),
                        () = sleep => pause = (pause * 2).min(PAUSES.1),
                    }
                }
                Err(error) => {
                    if let Some(predecessor) = &self.predecessor {
                        predecessor.refuse(&error.to_string());
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Hands over to the successor. On failure the successor is dead and its state belongs to this process again.
    async fn hand_over(&mut self, handover: PendingHandover) -> HandoverResult {
        let PendingHandover { mut successor, request, closed, clock, since_ms } = handover;
        let connections = self.connections.len();
        let state = match closed.and_then(|()| self.handover_state()) {
            Ok(state) => Arc::new(state),
            Err(error) => {
                drop(successor);
                return self.report_failed_upgrade(request, &error);
            }
        };
        let transfer = self.service.keep_alive_during(successor.transfer(state.clone()));
        let transferred = tokio::select! {
            transferred = transfer => transferred,
            () = self.stop.requested() => {
                self.service.stopping();
                drop(successor);
                request.answer(UpgradeOutcome::Refused { why: STOPPED_MEANWHILE.to_owned() }).await;
                return HandoverResult::Stopped;
            }
        };
        let outcome = match transferred {
            Ok(()) => self.service.keep_alive_during(successor.start_serving()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            drop(successor);
            match Arc::into_inner(state) {
                Some(state) => self.connections = state.connections,
                None => tracing::error!("connections are lost: the hand-over still holds them"),
            }
            return self.report_failed_upgrade(request, &error);
        }
        let waited_ms = clock.mono_ms().saturating_sub(since_ms);
        self.service.succeeded_by(successor.process_id());
        successor.acknowledge_handover();
        if let Some(control) = self.control.take() {
            control.release_socket();
        }
        let process = successor.process_id();
        let summary = format!(
            "process {process} (jobtracker {}) replaced process {} with {connections} connections; calls waited \
             {waited_ms} ms",
            successor.program_version,
            std::process::id(),
        );
        request.answer(UpgradeOutcome::Done { process, summary }).await;
        if self.stop.is_requested() {
            successor.stop();
        }
        HandoverResult::Done
    }

    fn handover_state(&mut self) -> Result<HandoverState, ServeError> {
        let refused = |source| ServeError::System { what: "copies of listeners", source };
        let control = self.control.as_ref().map(Control::share).transpose().map_err(refused)?;
        Ok(HandoverState {
            rpc: self.ports.rpc.share().map_err(refused)?,
            http: self.ports.http.share().map_err(refused)?,
            control,
            trackers: self.handed_over.iter().flatten().cloned().collect(),
            open_ids: self.open_ids.clone(),
            connections: std::mem::take(&mut self.connections),
        })
    }

    /// Keeps the failure for the operator, who is answered once this process serves again.
    fn report_failed_upgrade(&mut self, request: UpgradeRequest, error: &dyn std::fmt::Display) -> HandoverResult {
        tracing::error!("hand-over failed, this process resumes serving: {error}");
        self.failed_upgrade = Some((request, error.to_string()));
        HandoverResult::Failed
    }
}
