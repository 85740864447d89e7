//! What ends a session that serves: a stop, a hand-over, a market that begins, or state that must be loaded again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};

use crate::clock::Clock;
use crate::engine::InheritedTrackerConnection;
use crate::ipc::{InheritedConnection, InheritedTracker};
use crate::server::{Owner, OwnerHandle};
use crate::store::{BudgetPublisher, BudgetStatus, FaultPoint, Store};

use super::daemon::{Calls, Daemon, DaemonExit, RunError};
use super::handover::{Control, Offer, Successor, UpgradeOutcome, UpgradeRequest};
use super::ports::OpenPort;
use super::process::{DaemonProcess, Ports, STOPPED_MEANWHILE};
use super::scheduler_control::MarketOpening;
use super::serve_error::ServeError;
use super::service_notifier::ServiceNotifier;
use super::signals::StopSource;
use super::web_socket::WebSocket;
use super::web_thread::{WebOptions, WebThread};

/// A stop takes so long at most, whatever hangs.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// Minimum time for closing the store at a stop.
const MIN_CLOSE_TIME: Duration = Duration::from_millis(500);

pub(super) enum SessionEnd {
    Stopped,
    /// A successor waits for the state.
    HandingOver(Box<PendingHandover>),
    /// The next session begins with a market.
    OpeningMarket(Box<MarketOpening>),
    /// The next session takes over what another JobTracker has done.
    LoadingAgain,
}

/// A hand-over whose successor waits for the state.
pub(super) struct PendingHandover {
    pub(super) successor: Successor,
    pub(super) request: UpgradeRequest,
    /// Whether store and budget file were closed cleanly.
    pub(super) closed: Result<(), ServeError>,
    pub(super) clock: Clock,
    /// Since when calls wait, ms of the monotonic clock.
    pub(super) since_ms: u64,
}

/// The web server of a session: stopped before calls are paused, started again if the hand-over fails.
pub(super) struct Web<'a> {
    running: RefCell<Option<WebThread>>,
    start: Box<dyn Fn() -> io::Result<WebThread> + 'a>,
}

/// Prepares a hand-over.
pub(super) struct HandoverPreparation<'a> {
    pub(super) offer: Offer,
    pub(super) arguments: &'a [std::ffi::OsString],
    pub(super) web: &'a Web<'a>,
    pub(super) calls: Calls,
    pub(super) budget: Option<BudgetStatus>,
    pub(super) clock: Clock,
}

/// What may end a session that serves.
pub(super) struct Endings<'a> {
    pub(super) preparation: HandoverPreparation<'a>,
    pub(super) control: &'a mut Option<Control>,
    pub(super) opened_markets: mpsc::UnboundedReceiver<MarketOpening>,
    pub(super) needs_next_session: Rc<Notify>,
    pub(super) stop: &'a mut StopSource,
    pub(super) service: &'a ServiceNotifier,
    pub(super) ports: &'a Ports,
    /// What the service manager shows while the daemon serves.
    pub(super) status: String,
}

/// Why serving has ended; calls are paused, except for a stop.
pub(super) enum ServingEnd {
    /// With the time since when it stops, ms of the monotonic clock.
    Stop(u64),
    HandOver {
        successor: Successor,
        request: UpgradeRequest,
        since_ms: u64,
    },
    OpenMarket(MarketOpening),
    LoadAgain,
}

/// What is closed at the end of a session.
pub(super) struct SessionParts {
    pub(super) budget_image: Option<Rc<BudgetPublisher>>,
    pub(super) owner: Rc<Owner>,
    pub(super) store: Store,
    pub(super) clock: Clock,
}

impl Endings<'_> {
    /// Runs the daemon until one of them comes; no end where serving has failed before.
    pub(super) async fn serve(
        mut self,
        daemon: Daemon,
        rpc_port: TcpListener,
        connections: Vec<InheritedConnection>,
    ) -> (Result<Vec<InheritedConnection>, RunError>, Option<ServingEnd>) {
        let mut ended = None;
        let exit = async {
            let end = self.next().await;
            let exit = match &end {
                ServingEnd::Stop(_) => DaemonExit::Stop,
                _ => DaemonExit::HandOver,
            };
            ended = Some(end);
            exit
        };
        let served = daemon.run_until(rpc_port, connections, exit).await;
        (served, ended)
    }

    async fn next(&mut self) -> ServingEnd {
        loop {
            let request = tokio::select! {
                request = next_request(self.control) => request,
                Some(opening) = self.opened_markets.recv() => match self.pause().await {
                    Ok(()) => return ServingEnd::OpenMarket(opening),
                    Err(why) => {
                        opening.refuse(&why).await;
                        self.service.ready(&self.status);
                        continue;
                    }
                },
                () = self.needs_next_session.notified() => match self.pause().await {
                    Ok(()) => return ServingEnd::LoadAgain,
                    // It is requested again.
                    Err(why) => {
                        tracing::warn!("cannot load the state again yet: {why}");
                        self.service.ready(&self.status);
                        continue;
                    }
                },
                () = self.stop.requested() => return self.begin_stop(),
            };
            self.service.reloading();
            let prepared = tokio::select! {
                prepared = self.preparation.prepare(&request) => prepared,
                () = self.stop.requested() => {
                    request.answer(UpgradeOutcome::Refused { why: STOPPED_MEANWHILE.to_owned() }).await;
                    return self.begin_stop();
                }
            };
            match prepared {
                Ok((successor, since_ms)) => return ServingEnd::HandOver { successor, request, since_ms },
                Err(why) => {
                    request.answer(UpgradeOutcome::Refused { why: why.clone() }).await;
                    self.service.ready(&format!("{}; upgrade failed: {why}", self.status));
                }
            }
        }
    }

    async fn pause(&self) -> Result<(), String> {
        self.service.reloading();
        self.preparation.pause().await.map(drop)
    }

    fn begin_stop(&self) -> ServingEnd {
        let since_ms = self.preparation.clock.mono_ms();
        self.service.stopping();
        self.ports.rpc.close();
        self.ports.http.close();
        // Requests in progress have the same timeout as calls.
        self.preparation.web.begin_stop();
        ServingEnd::Stop(since_ms)
    }
}

/// The next request for an upgrade; none comes without a control socket.
async fn next_request(control: &mut Option<Control>) -> UpgradeRequest {
    match control {
        Some(control) => control.next().await,
        None => std::future::pending().await,
    }
}

impl DaemonProcess<'_> {
    /// Closes what the session has opened, and keeps what the next one or a successor needs.
    pub(super) fn end_session(
        &mut self,
        served: Result<Vec<InheritedConnection>, RunError>,
        ended: Option<ServingEnd>,
        opened: SessionParts,
    ) -> Result<SessionEnd, ServeError> {
        let (owner, clock) = (&opened.owner, opened.clock);
        self.open_ids = owner.with_engine(|engine| engine.reserved_ids().collect());
        self.handed_over = Some(owner.with_engine(|engine| engine.tracker_names().cloned().collect()));
        let speakers: Vec<_> = owner.with_engine(|engine| engine.tracker_connections(clock.now()).collect());
        let close_time = match &ended {
            Some(ServingEnd::Stop(since_ms)) => {
                let passed = Duration::from_millis(clock.mono_ms().saturating_sub(*since_ms));
                Some(STOP_LIMIT.saturating_sub(passed).max(MIN_CLOSE_TIME))
            }
            _ => None,
        };
        let closed = close(opened, close_time);
        match (served, ended) {
            (served, Some(ServingEnd::OpenMarket(opening))) => {
                log_unclean_close("a session with a market", &closed);
                self.connections = with_trackers(served?, speakers);
                Ok(SessionEnd::OpeningMarket(Box::new(opening)))
            }
            (served, Some(ServingEnd::LoadAgain)) => {
                log_unclean_close("the state is loaded again", &closed);
                self.connections = with_trackers(served?, speakers);
                Ok(SessionEnd::LoadingAgain)
            }
            (Ok(inherited), Some(ServingEnd::HandOver { successor, request, since_ms })) => {
                self.connections = with_trackers(inherited, speakers);
                Ok(SessionEnd::HandingOver(Box::new(PendingHandover { successor, request, closed, clock, since_ms })))
            }
            (served, _) => {
                closed?;
                served?;
                Ok(SessionEnd::Stopped)
            }
        }
    }
}

/// Before another session of this process: what was not closed cleanly is restored as after a crash.
fn log_unclean_close(before: &str, closed: &Result<(), ServeError>) {
    if let Err(error) = closed {
        tracing::error!("before {before}: {error}");
    }
}

/// Adds to each connection the trackers that send heartbeats on it.
fn with_trackers(
    mut inherited: Vec<InheritedConnection>,
    speakers: Vec<InheritedTrackerConnection>,
) -> Vec<InheritedConnection> {
    let mut by_number: BTreeMap<u64, Vec<InheritedTracker>> = BTreeMap::new();
    for InheritedTrackerConnection { tracker, connection, is_sure } in speakers {
        by_number.entry(connection).or_default().push(InheritedTracker { name: tracker, is_sure });
    }
    for connection in &mut inherited {
        connection.trackers = by_number.remove(&connection.number).unwrap_or_default();
    }
    inherited
}

/// Closes what a session has opened, at a stop within `limit`.
fn close(opened: SessionParts, limit: Option<Duration>) -> Result<(), ServeError> {
    let SessionParts { budget_image, owner, store, clock: _ } = opened;
    FaultPoint::StopBegun.pass();
    // The last prices and charges are in the ledger; the image shows them.
    let image = budget_image.and_then(|image| {
        if let Some((accounts, tick)) = owner.budgets() {
            image.publish(accounts, tick);
        }
        Rc::into_inner(image)
    });
    let shown = owner.last_fact();
    drop(owner);
    let close = move || -> Result<(), ServeError> {
        // An image that is out keeps the state from nothing.
        let published = image.map_or(Ok(()), |image| image.close(shown));
        store.close()?;
        Ok(published?)
    };
    match limit {
        None => close(),
        Some(limit) => within(limit, close),
    }
}

/// Does the work on a thread of its own, which is abandoned at the limit: the disk may never answer.
fn within(limit: Duration, work: impl FnOnce() -> Result<(), ServeError> + Send + 'static) -> Result<(), ServeError> {
    let (done, closed) = std::sync::mpsc::sync_channel(1);
    let closing = std::thread::Builder::new().name("closing".to_owned());
    let started = closing.spawn(move || drop(done.send(work())));
    started.map_err(|source| ServeError::System { what: "a thread that closes the state", source })?;
    closed.recv_timeout(limit).unwrap_or(Err(ServeError::CloseTimeout))
}

impl HandoverPreparation<'_> {
    /// Starts the successor, and pauses all calls once it is ready. Returns since when they wait. After an error everything is as before.
    async fn prepare(&self, request: &UpgradeRequest) -> Result<(Successor, u64), String> {
        // The same error might keep the successor from starting.
        if let Some(trouble) = self.budget.as_ref().and_then(BudgetStatus::hindrance) {
            return Err(format!("repair the budget file first: {trouble}"));
        }
        // A pause would time out while the store is behind.
        self.calls.durable().await?;
        let offer = self.offer.clone();
        let successor =
            Successor::start(&request.program, self.arguments, offer).await.map_err(|error| error.to_string())?;
        let since_ms = self.pause().await?;
        Ok((successor, since_ms))
    }

    /// Stops the web server and pauses all calls. Returns since when they wait. After an error everything is as before.
    async fn pause(&self) -> Result<u64, String> {
        self.calls.end_waits();
        if let Some(web) = self.web.running.take() {
            let _ = tokio::task::spawn_blocking(|| web.stop()).await;
        }
        let since_ms = self.clock.mono_ms();
        if let Err(why) = self.calls.pause().await {
            if let Err(error) = self.web.start() {
                tracing::error!("cannot restart the web server: {error}");
            }
            return Err(why);
        }
        Ok(since_ms)
    }
}

impl<'a> Web<'a> {
    pub(super) fn new(
        port: &'a OpenPort,
        socket: Option<&'a WebSocket>,
        handle: OwnerHandle,
        options: WebOptions,
    ) -> Self {
        let start = move || WebThread::start(port.share()?, socket, handle.clone(), &options);
        Self { running: RefCell::default(), start: Box::new(start) }
    }

    pub(super) fn start(&self) -> io::Result<()> {
        *self.running.borrow_mut() = Some((self.start)()?);
        Ok(())
    }

    pub(super) fn begin_stop(&self) {
        if let Some(web) = &mut *self.running.borrow_mut() {
            web.begin_stop();
        }
    }

    pub(super) fn stop(&self) {
        if let Some(web) = self.running.take() {
            web.stop();
        }
    }
}
