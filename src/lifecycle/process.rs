//! The daemon process: exactly one process owns the state store; a session lasts from opening it to closing it. A
//! session ends with a stop or a hand-over to another process; if that fails, this process starts the next session.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::config::settings::{HttpLimits, SchedulerKind};
use crate::ipc::{InheritedConnection, RpcLimits};
use crate::model::JobId;
use crate::server::{AclFile, host_lists, make_staging_root, make_system_dir};
use crate::store::{Precedence, check_schema};

use super::handover::{Control, HandoverState, InheritedState, Offer, Predecessor, UpgradeOutcome, UpgradeRequest};
use super::ports::OpenPort;
use super::session::{PendingHandover, SessionEnd};
use super::signals::{StopRequest, StopSource};
use super::start::{ServeError, Serving};
use super::supervisor::Supervisor;

const RPC_KEY: &str = "mapred.job.tracker";
const HTTP_KEY: &str = "mapred.job.tracker.http.address";
/// First and longest pause before a session that failed to start is retried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// What outlives a session.
pub(super) struct DaemonProcess<'a> {
    pub(super) settings: &'a Settings,
    pub(super) supervisor: Supervisor,
    /// For a successor.
    pub(super) arguments: Vec<OsString>,
    pub(super) stop: StopSource,
    pub(super) ports: Ports,
    pub(super) control: Option<Control>,
    /// Connections between two sessions.
    pub(super) connections: Vec<InheritedConnection>,
    /// Job ids without a submission yet, with their users, between two sessions.
    pub(super) open_ids: Vec<(JobId, Arc<str>)>,
    /// The predecessor, until it is notified that this process serves.
    pub(super) predecessor: Option<Predecessor>,
    /// An upgrade that failed, and why; answered once this process serves again.
    pub(super) failed_upgrade: Option<(UpgradeRequest, String)>,
    /// The trackers of the session before, if that ended in a hand-over.
    pub(super) handed_over: Option<BTreeSet<Arc<str>>>,
    /// Whether this session has started to serve.
    pub(super) has_served: bool,
}

/// The listening ports.
pub(super) struct Ports {
    pub(super) rpc: OpenPort,
    pub(super) http: OpenPort,
}

// === impl DaemonProcess ===

impl<'a> DaemonProcess<'a> {
    /// For a process without a predecessor.
    pub(super) fn new(
        settings: &'a Settings,
        supervisor: Supervisor,
        arguments: Vec<OsString>,
        stop: Option<StopRequest>,
    ) -> Result<Self, ServeError> {
        let stop = stop_source(stop)?;
        let ports = Ports {
            rpc: OpenPort::open(RPC_KEY, &settings.rpc_address)?,
            http: OpenPort::open(HTTP_KEY, &settings.http_address)?,
        };
        supervisor.status("starting: loading the state");
        Ok(Self {
            settings,
            supervisor,
            arguments,
            stop,
            ports,
            control: None,
            connections: Vec::new(),
            open_ids: Vec::new(),
            predecessor: None,
            failed_upgrade: None,
            handed_over: None,
            has_served: false,
        })
    }

    /// For a process that replaces another: checks that it can, and receives the state.
    pub(super) fn from_predecessor(
        settings: &'a Settings,
        supervisor: Supervisor,
        arguments: Vec<OsString>,
        predecessor: Predecessor,
    ) -> Result<Self, ServeError> {
        let offer = predecessor.offer();
        let (rpc, http) =
            check_takeover(settings, offer).inspect_err(|error| predecessor.refuse(&error.to_string()))?;
        let failed = |error: std::io::Error| ServeError::TakeOver(error.to_string());
        let InheritedState { rpc: theirs, http: their_http, control, connections, trackers, open_ids } =
            predecessor.receive_state().map_err(failed)?;
        let ports = Ports {
            rpc: rpc.unwrap_or_else(|| OpenPort::of(theirs, offer.rpc.bound)),
            http: http.unwrap_or_else(|| OpenPort::of(their_http, offer.http.bound)),
        };
        let control = control.map(|control| Control::on(control, &settings.directories.state)).transpose();
        Ok(Self {
            settings,
            supervisor,
            arguments,
            // Until here signals kill this process, which owns nothing yet.
            stop: stop_source(None)?,
            ports,
            control: control.map_err(failed)?,
            connections,
            open_ids,
            predecessor: Some(predecessor),
            failed_upgrade: None,
            handed_over: Some(trackers),
            has_served: false,
        })
    }

    /// Serves until stopped, or until another process has taken over.
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
                // This process holds the connections and the state is complete: the cause may be temporary.
                Err(error) if is_ours_again && !self.has_served => {
                    tracing::error!("cannot resume serving, retrying: {error}");
                    self.supervisor.status(&format!("cannot resume serving: {error}"));
                    let sleep = self.supervisor.keep_alive_during(tokio::time::sleep(pause));
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
        let transfer = self.supervisor.keep_alive_during(successor.transfer(state.clone()));
        let transferred = tokio::select! {
            transferred = transfer => transferred,
            () = self.stop.requested() => {
                self.supervisor.stopping();
                drop(successor);
                request.answer(UpgradeOutcome::Refused { why: STOPPED_MEANWHILE.to_owned() }).await;
                return HandoverResult::Stopped;
            }
        };
        let outcome = match transferred {
            Ok(()) => self.supervisor.keep_alive_during(successor.start_serving()).await,
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
        self.supervisor.succeeded_by(successor.process_id());
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

    /// The state for the successor; this process keeps copies.
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

    /// The offer to a successor.
    pub(super) fn offer(&self) -> Offer {
        let Settings { rpc_address, http_address, directories, .. } = self.settings;
        let state_dir = canonical_path(&directories.state);
        Offer::new(state_dir, self.ports.rpc.offer(rpc_address), self.ports.http.offer(http_address))
    }
}

/// The result of a hand-over.
enum HandoverResult {
    Done,
    Failed,
    /// Stopped meanwhile, so no process serves.
    Stopped,
}

/// Answer to an upgrade request if the daemon stops.
pub(super) const STOPPED_MEANWHILE: &str = "the daemon was stopped meanwhile";

fn stop_source(request: Option<StopRequest>) -> Result<StopSource, ServeError> {
    StopSource::new(request).map_err(|source| ServeError::System { what: "signals", source })
}

/// Checks the takeover before the predecessor stops; opens ports that the predecessor does not have.
fn check_takeover(settings: &Settings, offer: &Offer) -> Result<(Option<OpenPort>, Option<OpenPort>), ServeError> {
    let state = canonical_path(&settings.directories.state);
    if state != offer.state_dir {
        let (theirs, ours) = (offer.state_dir.display(), state.display());
        return Err(ServeError::TakeOver(format!(
            "the running daemon's state is in {theirs}, the configuration names {ours} (jobtracker.state.dir): restart the \
             daemon instead"
        )));
    }
    check_schema(&state)?;
    if let SchedulerKind::Dynamic(market) = &settings.scheduler {
        AclFile::open(market.acl_file.clone())?;
    }
    host_lists(&settings.trackers)?;
    make_system_dir(&settings.directories.system).map_err(ServeError::SystemDir)?;
    make_staging_root(&settings.directories.staging_root).map_err(ServeError::StagingRoot)?;
    let rpc = OpenPort::unless_offered(RPC_KEY, &settings.rpc_address, &offer.rpc)?;
    let http = OpenPort::unless_offered(HTTP_KEY, &settings.http_address, &offer.http)?;
    Ok((rpc, http))
}

/// The path without symbolic links, if it resolves.
fn canonical_path(path: &std::path::Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
