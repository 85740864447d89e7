//! What the daemon process holds across sessions, and how it gets it: by opening it, or from a predecessor.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::Settings;
use crate::config::settings::MarketSettings;
use crate::ipc::InheritedConnection;
use crate::model::JobId;
use crate::server::{AclFile, host_lists, make_directories};
use crate::store::check_schema;

use super::handover::{Control, HandoverState, Offer, Predecessor, SchedulerCall, UpgradeRequest};
use super::ports::OpenPort;
use super::serve_error::ServeError;
use super::service_notifier::ServiceNotifier;
use super::signals::{OperatorStop, StopRequest, StopSource};
use super::web_socket::{WebSocket, check_web_socket};

const RPC_KEY: &str = "mapred.job.tracker";
const HTTP_KEY: &str = "mapred.job.tracker.http.address";

pub(super) struct DaemonProcess<'a> {
    pub(super) settings: &'a Settings,
    pub(super) service: ServiceNotifier,
    /// For a successor.
    pub(super) arguments: Vec<OsString>,
    pub(super) stop: StopSource,
    pub(super) ports: Ports,
    /// Where the web server listens too (`jobtracker.web.socket`), from the first session on.
    pub(super) web_socket: Option<WebSocket>,
    pub(super) control: Option<Control>,
    /// Connections between two sessions.
    pub(super) connections: Vec<InheritedConnection>,
    /// Job ids without a submission yet, with their users, between two sessions.
    pub(super) open_ids: Vec<(JobId, Arc<str>)>,
    /// The predecessor, until it is notified that this process serves.
    pub(super) predecessor: Option<Predecessor>,
    /// An upgrade that failed, and why; answered once this process serves again.
    pub(super) failed_upgrade: Option<(UpgradeRequest, String)>,
    /// A market that began with a session of this process.
    pub(super) market: Option<MarketSettings>,
    /// The switch that it began for, until the session serves.
    pub(super) market_opening: Option<SchedulerCall>,
    /// The trackers of the session before, if that ended in a hand-over.
    pub(super) handed_over: Option<BTreeSet<Arc<str>>>,
    /// Whether this session has started to serve.
    pub(super) has_served: bool,
}

pub(super) struct Ports {
    pub(super) rpc: OpenPort,
    pub(super) http: OpenPort,
}

impl DaemonProcess<'_> {
    pub(super) fn operator_stop(&self) -> OperatorStop {
        self.stop.of_operator(self.service.is_present())
    }

    /// Opens the web server's socket, unless it is open and in its place.
    pub(super) fn open_web_socket(&mut self) -> Result<(), ServeError> {
        let Some(path) = &self.settings.web_socket else { return Ok(()) };
        if self.web_socket.as_ref().is_some_and(WebSocket::is_in_place) {
            return Ok(());
        }
        match WebSocket::open(path, self.predecessor.as_ref().and_then(Predecessor::process_id)) {
            Ok(socket) => self.web_socket = Some(socket),
            // The session before had one; without one, names that come over TCP would be believed.
            Err(error) if self.web_socket.is_some() => {
                tracing::error!("no caller reaches the web server at {}: {error}", path.display());
            }
            Err(source) => return Err(ServeError::web_socket(self.settings, source)),
        }
        Ok(())
    }
}

impl<'a> DaemonProcess<'a> {
    /// For a process without a predecessor.
    pub(super) fn new(
        settings: &'a Settings,
        service: ServiceNotifier,
        arguments: Vec<OsString>,
        stop: Option<StopRequest>,
    ) -> Result<Self, ServeError> {
        let stop = stop_source(stop)?;
        let ports = Ports {
            rpc: OpenPort::open(RPC_KEY, &settings.rpc_address)?,
            http: OpenPort::open(HTTP_KEY, &settings.http_address)?,
        };
        service.status("starting: loading the state");
        Ok(Self {
            settings,
            service,
            arguments,
            stop,
            ports,
            web_socket: None,
            control: None,
            connections: Vec::new(),
            open_ids: Vec::new(),
            predecessor: None,
            failed_upgrade: None,
            market: None,
            market_opening: None,
            handed_over: None,
            has_served: false,
        })
    }

    /// For a process that replaces another: checks that it can, and receives the state.
    pub(super) fn from_predecessor(
        settings: &'a Settings,
        service: ServiceNotifier,
        arguments: Vec<OsString>,
        predecessor: Predecessor,
    ) -> Result<Self, ServeError> {
        let offer = predecessor.offer();
        let (rpc, http) =
            check_takeover(settings, offer).inspect_err(|error| predecessor.refuse(&error.to_string()))?;
        let failed = |error: std::io::Error| ServeError::TakeOver(error.to_string());
        let HandoverState { rpc: theirs, http: their_http, control, connections, trackers, open_ids } =
            predecessor.receive_state().map_err(failed)?;
        let ports = Ports {
            rpc: rpc.unwrap_or_else(|| OpenPort::of(theirs, offer.rpc.bound)),
            http: http.unwrap_or_else(|| OpenPort::of(their_http, offer.http.bound)),
        };
        // Until here signals kill this process, which owns nothing yet.
        let stop = stop_source(None)?;
        let operator = stop.of_operator(service.is_present());
        let control = control.map(|control| Control::on(control, &settings.directories.state, operator)).transpose();
        Ok(Self {
            settings,
            service,
            arguments,
            stop,
            ports,
            web_socket: None,
            control: control.map_err(failed)?,
            connections,
            open_ids,
            predecessor: Some(predecessor),
            failed_upgrade: None,
            market: None,
            market_opening: None,
            handed_over: Some(trackers),
            has_served: false,
        })
    }

    pub(super) fn offer(&self) -> Offer {
        let Settings { rpc_address, http_address, directories, .. } = self.settings;
        let state_dir = canonical_path(&directories.state);
        Offer::new(state_dir, self.ports.rpc.offer(rpc_address), self.ports.http.offer(http_address))
    }
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
    if let Some(market) = &settings.market {
        AclFile::open(market.acl_file.clone())?;
    }
    host_lists(&settings.trackers)?;
    if let Some(path) = &settings.web_socket {
        check_web_socket(path).map_err(|source| ServeError::web_socket(settings, source))?;
    }
    match make_directories(settings) {
        Err(error) if error.is_temporary() => {}
        made => made?,
    }
    let rpc = OpenPort::unless_offered(RPC_KEY, &settings.rpc_address, &offer.rpc)?;
    let http = OpenPort::unless_offered(HTTP_KEY, &settings.http_address, &offer.http)?;
    Ok((rpc, http))
}

/// The path without symbolic links, if it resolves.
fn canonical_path(path: &std::path::Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
