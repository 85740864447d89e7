//! One session of the daemon: from opening the store to closing it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::api::UploadRules;
use crate::clock::Clock;
use crate::config::settings::HttpLimits;
use crate::config::{Settings, keys};
use crate::engine::{Event, InheritedTrackerConnection};
use crate::fs::FileRights;
use crate::ipc::{InheritedConnection, InheritedTracker, RpcLimits};
use crate::server::{
    AclFile, AllocationWatch, ApplicationUsers, ApplicationsOnDisk, ContainersOnDisk, HdfsMonitor, Leftovers,
    MapInputs, Owner, OwnerHandle, Quarantine, SystemDirAtStart, take_over_top_ups,
};
use crate::store::{
    BudgetPublisher, BudgetStatus, FaultPoint, Precedence, Retention, StateReader, Store, StoreError, StoreOptions,
    database_in,
};
use crate::views::{ReadModel, follow};
use crate::web::{JobForms, ServedNames, ServedPorts};

use super::acl_watch::AclWatch;
use super::build_engine::{StartState, build_engine, job_page_prefix};
use super::daemon::{Calls, Daemon, DaemonExit, DaemonParts};
use super::handover::{Control, Offer, Successor, UpgradeOutcome, UpgradeRequest};
use super::play_desk::PlayDesk;
use super::ports::OpenPort;
use super::process::{DaemonProcess, Ports, STOPPED_MEANWHILE};
use super::reload::Reload;
use super::ruling_scheduler::RulingScheduler;
use super::scheduler_control::{MarketOpening, SchedulerControl};
use super::serve_error::ServeError;
use super::stock_settings::stock_settings;
use super::web_socket::WebSocket;
use super::web_thread::{WebOptions, WebThread};

/// What is known once the daemon serves.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    /// Address of RPC.
    pub(crate) rpc: SocketAddr,
    /// Address of the web server.
    pub(crate) http: SocketAddr,
    /// The folder of state.db.
    pub(crate) state_dir: PathBuf,
    /// The settings, with those of the scheduler that rules.
    pub(crate) settings: Arc<Settings>,
}

/// A stop takes so long at most, whatever hangs.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// Minimum time for closing the store at a stop.
const MIN_CLOSE_TIME: Duration = Duration::from_millis(500);

/// How a session ends.
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
struct Web<'a> {
    running: RefCell<Option<WebThread>>,
    start: Box<dyn Fn() -> io::Result<WebThread> + 'a>,
}

/// Prepares a hand-over.
struct HandoverPreparation<'a> {
    offer: Offer,
    arguments: &'a [std::ffi::OsString],
    web: &'a Web<'a>,
    calls: Calls,
    budget: Option<BudgetStatus>,
    clock: Clock,
}

impl DaemonProcess<'_> {
    pub(super) async fn serve_session(
        &mut self,
        (rpc_limits, http_limits): (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<SessionEnd, ServeError> {
        let settings = self.settings;
        let hang_up = signal(SignalKind::hangup()).map_err(|source| ServeError::System { what: "signals", source })?;
        self.open_web_socket()?;
        let system_dir = SystemDirAtStart::read(settings)?;
        let offer = self.offer();
        let Ports { rpc, http } = &self.ports;
        let (rpc_address, http_address) = (rpc.bound, http.bound);
        let refused = |what| move |source| ServeError::System { what, source };
        let rpc_port = rpc.share().and_then(TcpListener::from_std).map_err(refused("a listener"))?;
        let (mut store, opened) = Store::open(StoreOptions {
            holds_migration: self.predecessor.is_some(),
            ..store_options(settings, &system_dir)
        })?;
        let state_reader = store.state_reader();
        let (read_model, follower) = (ReadModel::load(&opened, state_reader.finished_jobs()), store.follow());
        let mut ruling = RulingScheduler::find(settings, opened.choice.as_ref())?;
        if let (None, Some(market)) = (&ruling.settings.market, &self.market) {
            ruling.settings.to_mut().market = Some(market.clone());
        }
        tracing::info!("{}", ruling.line);
        let settings = &*ruling.settings;
        let market = settings.market.as_ref();
        let acl = market.map(|market| AclFile::open(market.acl_file.clone())).transpose()?.map(Arc::new);
        // Of the market of the settings the start has said so.
        if let (Some(acl), true) = (&acl, self.market.is_some()) {
            acl.warn_of_others();
        }
        let acl_watch = acl.as_deref().and_then(AclWatch::of);
        let application_keys = settings.application_keys();
        let application_users = ApplicationUsers::open(&application_keys, acl.as_ref())?;
        tracing::info!("{application_keys}");
        if self.control.is_none() {
            // The daemon can serve without upgrades.
            match Control::open(&settings.directories.state, self.operator_stop()) {
                Ok(control) => self.control = Some(control),
                Err(error) => tracing::warn!("cannot listen for `jobtracker upgrade` and `jobtracker stop`: {error}"),
            }
        }
        let predecessors = system_dir.predecessors(&opened, settings.restart_recover);
        let leftovers = Leftovers::of(&opened, &predecessors, system_dir.unread(settings, &opened));
        let handed_over = self.handed_over.clone();
        let found = StartState { opened, predecessors, system_dir, handed_over };
        let (budget_image, engine, clock) = build_engine(&ruling, precedence, &store, found, http_address)?;
        FaultPoint::EngineMade.pass();
        let mut budget_image = budget_image;
        let found_top_ups = budget_image.as_mut().and_then(BudgetPublisher::found_top_ups);
        let budget_image = budget_image.map(Rc::new);
        let parts = DaemonParts {
            settings,
            rpc_limits,
            engine,
            sink: store.fact_sender(),
            clock,
            acl: acl.clone(),
            budget_image: budget_image.clone(),
        };
        let (daemon, handle) = Daemon::new(parts);
        let (daemon, handle) = match follower {
            None => (daemon, handle),
            Some(follower) => {
                let followed = follow(read_model, follower, move || load_again(&state_reader), clock);
                let (views, feed) = followed.map_err(refused("a thread for the views"))?;
                (daemon.with_views(feed), handle.with_views(views))
            }
        };
        let daemon = daemon.with_leftovers(leftovers).with_finished_jobs(store.finished_jobs());
        let quarantine = Rc::new(Quarantine::open(&settings.directories.state));
        let handle = handle
            .with_ledger(store.ledger().with_container_slot(settings.containers.slot))
            .with_refused_senders(quarantine.refused_senders())
            .with_acls(settings.queues.acls_enabled)
            .with_store_meter(store.meter())
            .with_switch_plans(settings.sources.clone());
        let handle = handle.with_finished_jobs(store.finished_jobs()).with_map_inputs(MapInputs::new(settings));
        let handle = handle.with_job_files(daemon.submissions(), upload_rules(settings), http_address.port());
        let containers_on_disk = ContainersOnDisk::new(store.stored_containers(), settings.containers.slot);
        let on_disk = ApplicationsOnDisk::new(store.stored_applications(), containers_on_disk);
        let handle = handle.with_applications(application_users, on_disk);
        let uploads = daemon.submissions().uploads().clone();
        let needs_next_session = daemon.submissions().needs_next_session();
        let owner = daemon.owner().clone();
        let daemon = daemon.with_background_task(uploads.remove_unsubmitted(owner.clone(), store.finished_jobs()));
        owner.set_quarantine(quarantine.clone());
        owner.step(Event::JobIdsInherited { ids: std::mem::take(&mut self.open_ids) });
        let shows_money = market.is_some_and(|market| market.is_public);
        let names = ServedNames::new(settings.web_hosts.clone(), keys::WEB_HOSTS.name);
        let job_forms = match (settings.has_private_actions, settings.queues.acls_enabled) {
            (false, _) => JobForms::Off,
            (true, _) if settings.job_changes.are_signed => JobForms::Signed,
            (true, false) => JobForms::ForAll,
            (true, true) => JobForms::ForNamed,
        };
        let ports = ServedPorts { rpc: Some(rpc_address), http: Some(http_address) };
        let stock = stock_settings(settings)?;
        let options = WebOptions {
            limits: http_limits,
            names,
            shows_money,
            job_forms,
            stock,
            job_page_prefix: job_page_prefix(settings, http_address),
            container_slot: settings.containers.slot,
            session_key: store.session_key(),
            plays: Arc::new(PlayDesk::new(settings.sources.clone(), database_in(&settings.directories.state))),
            ports,
        };
        let reload_counts = handle.reload_counts();
        let web = Web::new(http, self.web_socket.as_ref(), handle, options);
        web.start().map_err(refused("a thread for the web server"))?;
        let status = format!("serving RPC on {rpc_address}, web on {http_address}");
        let (dispatcher, service) = (daemon.dispatcher().clone(), self.service.clone());
        let reload = Rc::new(Reload::new(self.settings, acl, owner.clone(), dispatcher, service, reload_counts));
        let daemon = daemon.with_background_task(Rc::clone(&reload).run(hang_up));
        let awaited_files = daemon.submissions().awaited_files().clone();
        let daemon = match HdfsMonitor::new(settings, awaited_files, owner.clone())? {
            Some(monitor) => daemon.with_background_task(monitor.run()),
            None => daemon,
        };
        let daemon = match AllocationWatch::new(settings, owner.clone()) {
            Some(watch) => daemon.with_background_task(watch.run()),
            None => daemon,
        };
        let daemon = match found_top_ups {
            Some(found) => daemon.with_background_task(take_over_top_ups(owner.clone(), found)),
            None => daemon,
        };
        let daemon = daemon.with_background_task(async move { quarantine.forget_released().await });
        let (openings, mut opened_markets) = mpsc::unbounded_channel();
        let scheduler_control = SchedulerControl {
            openings,
            sources: settings.sources.clone(),
            owner: owner.clone(),
            waiter: daemon.switch_waiter(),
            reload,
        };
        let daemon = match self.control.as_ref().map(Control::scheduler_calls) {
            Some(calls) => daemon.with_background_task(scheduler_control.answer_calls(calls)),
            None => daemon,
        };
        if let (Some(control), Some(call)) = (&self.control, self.market_opening.take()) {
            control.hand_on(call);
        }
        let (predecessor, failed_upgrade) = (self.predecessor.take(), self.failed_upgrade.take());
        if let Some(predecessor) = &predecessor {
            predecessor.await_permission();
            store.commit_migration().inspect_err(|error| predecessor.refuse(&error.to_string()))?;
            predecessor.report_serving();
        }
        let health_reports = self.service.clone().report_health(store.durable(), status.clone());
        let daemon = daemon.with_background_task(async move {
            if let Some((request, why)) = failed_upgrade {
                request.answer(UpgradeOutcome::Refused { why }).await;
            }
            if let Some(predecessor) = predecessor {
                // The service manager accepts messages only from a process that it knows.
                let _ = tokio::task::spawn_blocking(|| predecessor.await_acknowledgement()).await;
            }
            health_reports.await;
        });
        self.has_served = true;
        if let Some(control) = &mut self.control {
            control.own_socket();
        }
        started(&Serving {
            rpc: rpc_address,
            http: http_address,
            state_dir: settings.directories.state.clone(),
            settings: Arc::new(settings.clone()),
        });
        let preparation = HandoverPreparation {
            offer,
            arguments: &self.arguments,
            web: &web,
            calls: daemon.calls(),
            budget: budget_image.as_ref().map(|image| image.watch()),
            clock,
        };
        let (mut handover, mut market_opening, mut is_loading_again) = (None, None, false);
        let mut stopping_since_ms = None;
        let exit = async {
            loop {
                let control = &mut self.control;
                let request = async {
                    match control {
                        Some(control) => control.next().await,
                        None => std::future::pending().await,
                    }
                };
                let request = tokio::select! {
                    request = request => request,
                    Some(opening) = opened_markets.recv() => {
                        self.service.reloading();
                        match preparation.pause().await {
                            Ok(_) => {
                                market_opening = Some(opening);
                                return DaemonExit::HandOver;
                            }
                            Err(why) => {
                                opening.refuse(&why).await;
                                self.service.ready(&status);
                                continue;
                            }
                        }
                    }
                    () = needs_next_session.notified() => {
                        self.service.reloading();
                        match preparation.pause().await {
                            Ok(_) => {
                                is_loading_again = true;
                                return DaemonExit::HandOver;
                            }
                            // It is requested again.
                            Err(why) => {
                                tracing::warn!("cannot load the state again yet: {why}");
                                self.service.ready(&status);
                                continue;
                            }
                        }
                    }
                    () = self.stop.requested() => break,
                };
                self.service.reloading();
                let prepared = tokio::select! {
                    prepared = preparation.prepare(&request) => prepared,
                    () = self.stop.requested() => {
                        request.answer(UpgradeOutcome::Refused { why: STOPPED_MEANWHILE.to_owned() }).await;
                        break;
                    }
                };
                match prepared {
                    Ok((successor, since_ms)) => {
                        handover = Some((successor, request, since_ms));
                        return DaemonExit::HandOver;
                    }
                    Err(why) => {
                        request.answer(UpgradeOutcome::Refused { why: why.clone() }).await;
                        self.service.ready(&format!("{status}; upgrade failed: {why}"));
                    }
                }
            }
            stopping_since_ms = Some(clock.mono_ms());
            self.service.stopping();
            rpc.close();
            http.close();
            // Requests in progress have the same timeout as calls.
            web.begin_stop();
            DaemonExit::Stop
        };
        let served = daemon.run_until(rpc_port, std::mem::take(&mut self.connections), exit).await;
        web.stop();
        drop((web, acl_watch));
        self.open_ids = owner.with_engine(|engine| engine.reserved_ids().collect());
        self.handed_over = Some(owner.with_engine(|engine| engine.tracker_names().cloned().collect()));
        let speakers: Vec<_> = owner.with_engine(|engine| engine.tracker_connections(clock.now()).collect());
        let close_time = stopping_since_ms.map(|since_ms| {
            let passed = Duration::from_millis(clock.mono_ms().saturating_sub(since_ms));
            STOP_LIMIT.saturating_sub(passed).max(MIN_CLOSE_TIME)
        });
        let closed = close(budget_image, owner, store, close_time);
        if let Some(opening) = market_opening {
            // What was not closed cleanly is restored as after a crash.
            if let Err(error) = closed {
                tracing::error!("before a session with a market: {error}");
            }
            self.connections = with_trackers(served?, speakers);
            return Ok(SessionEnd::OpeningMarket(Box::new(opening)));
        }
        if is_loading_again {
            // As above.
            if let Err(error) = closed {
                tracing::error!("before the state is loaded again: {error}");
            }
            self.connections = with_trackers(served?, speakers);
            return Ok(SessionEnd::LoadingAgain);
        }
        match (served, handover) {
            (Ok(inherited), Some((successor, request, since_ms))) => {
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

/// What the views show of the state as it is stored.
fn load_again(state: &StateReader) -> Result<ReadModel, StoreError> {
    state.load().map(|loaded| ReadModel::load(&loaded, state.finished_jobs()))
}

/// What clients must know before they hand files of jobs over.
fn upload_rules(settings: &Settings) -> UploadRules {
    UploadRules {
        user: settings.daemon_user.clone(),
        uid: rustix::process::geteuid().as_raw(),
        reads_all: FileRights::of_process().reads_all,
        max_mb: settings.uploads.job_bytes >> 20,
    }
}

fn store_options(settings: &Settings, system_dir: &SystemDirAtStart) -> StoreOptions {
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
fn close(
    budget_image: Option<Rc<BudgetPublisher>>,
    owner: Rc<Owner>,
    store: Store,
    limit: Option<Duration>,
) -> Result<(), ServeError> {
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
    /// Starts the successor, and pauses all calls once it is ready. Returns since when they wait. After an error
    /// everything is as before.
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
    fn new(port: &'a OpenPort, socket: Option<&'a WebSocket>, handle: OwnerHandle, options: WebOptions) -> Self {
        let start = move || WebThread::start(port.share()?, socket, handle.clone(), &options);
        Self { running: RefCell::default(), start: Box::new(start) }
    }

    fn start(&self) -> io::Result<()> {
        *self.running.borrow_mut() = Some((self.start)()?);
        Ok(())
    }

    fn begin_stop(&self) {
        if let Some(web) = &mut *self.running.borrow_mut() {
            web.begin_stop();
        }
    }

    fn stop(&self) {
        if let Some(web) = self.running.take() {
            web.stop();
        }
    }
}
