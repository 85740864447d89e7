//! The office of the daemon: held by one process at a time, in terms that begin with opening the store and end with
//! closing it. A term ends for good, or because another process is to go on; if that one fails, the next term is ours.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::config::settings::{HttpLimits, SchedulerKind};
use crate::ipc::{Carried, RpcLimits};
use crate::model::JobId;
use crate::server::{AclFile, host_lists, make_staging_root, make_system_dir};
use crate::store::{Precedence, check_schema};

use super::handover::{Asked, Control, Estate, Inheritance, Offer, Outcome, Predecessor};
use super::ports::OpenPort;
use super::session::{Leaving, TermEnd};
use super::signals::{Stop, StopWord};
use super::start::{ServeError, Serving};
use super::supervisor::Supervisor;

const RPC_KEY: &str = "mapred.job.tracker";
const HTTP_KEY: &str = "mapred.job.tracker.http.address";
/// The pause before a term that could not begin is tried again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// What outlasts a term.
pub(super) struct Office<'a> {
    pub(super) settings: &'a Settings,
    pub(super) supervisor: Supervisor,
    /// For a successor.
    pub(super) arguments: Vec<OsString>,
    pub(super) stop: Stop,
    pub(super) ports: Ports,
    pub(super) control: Option<Control>,
    /// Connections between two terms.
    pub(super) carried: Vec<Carried>,
    /// Job ids that wait for their submission, with their users, between two terms.
    pub(super) open_ids: Vec<(JobId, Arc<str>)>,
    /// Until it has heard that we serve.
    pub(super) predecessor: Option<Predecessor>,
    /// Who is to hear that the upgrade has failed, and why, once we serve again.
    pub(super) disappointed: Option<(Asked, String)>,
    /// The trackers of the term before, if that was ended to be gone on with.
    pub(super) handed_over: Option<BTreeSet<Arc<str>>>,
    /// Whether this term has begun to serve.
    pub(super) has_served: bool,
}

/// Where clients come.
pub(super) struct Ports {
    pub(super) rpc: OpenPort,
    pub(super) http: OpenPort,
}

// === impl Office ===

impl<'a> Office<'a> {
    /// For the first process.
    pub(super) fn new(
        settings: &'a Settings,
        supervisor: Supervisor,
        arguments: Vec<OsString>,
        stop: Option<StopWord>,
    ) -> Result<Self, ServeError> {
        let stop = stop_by(stop)?;
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
            carried: Vec::new(),
            open_ids: Vec::new(),
            predecessor: None,
            disappointed: None,
            handed_over: None,
            has_served: false,
        })
    }

    /// For one that goes on for another: proves that it could, and takes what that one has.
    pub(super) fn taken_over(
        settings: &'a Settings,
        supervisor: Supervisor,
        arguments: Vec<OsString>,
        predecessor: Predecessor,
    ) -> Result<Self, ServeError> {
        let offer = predecessor.offer();
        let (rpc, http) = prove(settings, offer).inspect_err(|error| predecessor.refuse(&error.to_string()))?;
        let failed = |error: std::io::Error| ServeError::TakeOver(error.to_string());
        let Inheritance { rpc: theirs, http: their_http, control, connections, trackers, open_ids } =
            predecessor.take().map_err(failed)?;
        let ports = Ports {
            rpc: rpc.unwrap_or_else(|| OpenPort::of(theirs, offer.rpc.bound)),
            http: http.unwrap_or_else(|| OpenPort::of(their_http, offer.http.bound)),
        };
        let control = control.map(|control| Control::on(control, &settings.directories.state)).transpose();
        Ok(Self {
            settings,
            supervisor,
            arguments,
            // Until here they end this process, which has nothing yet.
            stop: stop_by(None)?,
            ports,
            control: control.map_err(failed)?,
            carried: connections,
            open_ids,
            predecessor: Some(predecessor),
            disappointed: None,
            handed_over: Some(trackers),
            has_served: false,
        })
    }

    /// Serves until it is told to stop, or another process goes on.
    pub(super) async fn serve_to_the_end(
        mut self,
        limits: (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<(), ServeError> {
        let mut started = Some(started);
        // An administrator's word about the budget file is for the first start, not for those that go on.
        let mut precedence = if self.handed_over.is_some() { Precedence::Ledger } else { precedence };
        let mut is_ours_again = false;
        let mut pause = PAUSES.0;
        loop {
            self.has_served = false;
            let announce = |serving: &Serving| started.take().into_iter().for_each(|started| started(serving));
            match self.serve_a_term(limits, precedence, announce).await {
                Ok(TermEnd::Stopped) => return Ok(()),
                Ok(TermEnd::Leaving(leaving)) => match self.hand_over(*leaving).await {
                    HandedOver::Yes | HandedOver::Stopped => return Ok(()),
                    HandedOver::No => {
                        (precedence, is_ours_again, pause) = (Precedence::Ledger, true, PAUSES.0);
                    }
                },
                // Connections are in our hands, and the state is whole: whatever is wrong may pass.
                Err(error) if is_ours_again && !self.has_served => {
                    tracing::error!("the daemon cannot go on yet, it tries again: {error}");
                    self.supervisor.status(&format!("cannot go on yet: {error}"));
                    let sleep = self.supervisor.follow_meanwhile(tokio::time::sleep(pause));
                    tokio::select! {
                        () = self.stop.stop() => return Err(error),
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

    /// Has the successor go on. If it does not, what it was to have is ours again, and it is dead.
    async fn hand_over(&mut self, leaving: Leaving) -> HandedOver {
        let Leaving { mut successor, asked, closed, clock, since_ms } = leaving;
        let connections = self.carried.len();
        let estate = match closed.and_then(|()| self.estate()) {
            Ok(estate) => Arc::new(estate),
            Err(error) => {
                drop(successor);
                return self.disappoint(asked, &error);
            }
        };
        let giving = self.supervisor.follow_meanwhile(successor.give(estate.clone()));
        let given = tokio::select! {
            given = giving => given,
            () = self.stop.stop() => {
                self.supervisor.stopping();
                drop(successor);
                asked.answer(Outcome::Refused { why: TOLD_TO_STOP.to_owned() }).await;
                return HandedOver::Stopped;
            }
        };
        let outcome = match given {
            Ok(()) => self.supervisor.follow_meanwhile(successor.go()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            drop(successor);
            match Arc::into_inner(estate) {
                Some(estate) => self.carried = estate.connections,
                None => tracing::error!("connections are lost: they are still being handed over"),
            }
            return self.disappoint(asked, &error);
        }
        let waited_ms = clock.mono_ms().saturating_sub(since_ms);
        self.supervisor.succeeded_by(successor.process_id());
        successor.farewell();
        if let Some(control) = self.control.take() {
            control.leave();
        }
        let process = successor.process_id();
        let told = format!(
            "process {process} (jobtracker {}) goes on for process {} with {connections} connections; calls waited {waited_ms} ms",
            successor.program_version,
            std::process::id(),
        );
        asked.answer(Outcome::Done { process, told }).await;
        if self.stop.was_told() {
            successor.stop();
        }
        HandedOver::Yes
    }

    /// What the successor gets, and we keep as well.
    fn estate(&mut self) -> Result<Estate, ServeError> {
        let refused = |source| ServeError::System { what: "copies of listeners", source };
        let control = self.control.as_ref().map(Control::share).transpose().map_err(refused)?;
        Ok(Estate {
            rpc: self.ports.rpc.share().map_err(refused)?,
            http: self.ports.http.share().map_err(refused)?,
            control,
            trackers: self.handed_over.iter().flatten().cloned().collect(),
            open_ids: self.open_ids.clone(),
            connections: std::mem::take(&mut self.carried),
        })
    }

    /// Nobody else goes on; whoever asked hears it once we do.
    fn disappoint(&mut self, asked: Asked, error: &dyn std::fmt::Display) -> HandedOver {
        tracing::error!("nothing is handed over, this process goes on: {error}");
        self.disappointed = Some((asked, error.to_string()));
        HandedOver::No
    }

    /// What a successor is told at first.
    pub(super) fn offer(&self) -> Offer {
        let Settings { rpc_address, http_address, directories, .. } = self.settings;
        let state_dir = whole_path(&directories.state);
        Offer::new(state_dir, self.ports.rpc.offer(rpc_address), self.ports.http.offer(http_address))
    }
}

/// Whether a successor goes on.
enum HandedOver {
    Yes,
    No,
    /// We were told to stop meanwhile, so nobody does.
    Stopped,
}

/// Said to whoever asks for an upgrade of a daemon that stops.
pub(super) const TOLD_TO_STOP: &str = "the daemon was told to stop meanwhile";

fn stop_by(word: Option<StopWord>) -> Result<Stop, ServeError> {
    Stop::new(word).map_err(|source| ServeError::System { what: "signals", source })
}

/// Finds out, before the predecessor stops, whatever can be found out; opens ports that are not the predecessor's.
fn prove(settings: &Settings, offer: &Offer) -> Result<(Option<OpenPort>, Option<OpenPort>), ServeError> {
    let state = whole_path(&settings.directories.state);
    if state != offer.state_dir {
        let (theirs, ours) = (offer.state_dir.display(), state.display());
        return Err(ServeError::TakeOver(format!(
            "the running daemon's state is in {theirs}, the configuration now says {ours} (jobtracker.state.dir): restart it plainly"
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

/// Without links, where that can be told.
fn whole_path(path: &std::path::Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
