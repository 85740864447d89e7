//! One term of the daemon: from opening the store to closing it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::Clock;
use crate::config::keys;
use crate::config::settings::{HttpLimits, SchedulerKind};
use crate::engine::{Event, InheritedTrackerConnection};
use crate::ipc::{Carried, CarriedTracker, RpcLimits};
use crate::server::{AclFile, Leftovers, Owner, OwnerHandle, SystemDirAtStart, make_staging_root, make_system_dir};
use crate::store::{BudgetPublisher, BudgetStatus, FaultPoint, Precedence, Store};
use crate::web::ServedNames;

use super::acl_watch::AclWatch;
use super::daemon::{Calls, Daemon, Leave, Parts};
use super::handover::{Asked, Control, Offer, Outcome, Successor};
use super::process::{Office, Ports, TOLD_TO_STOP};
use super::reload::Reload;
use super::start::{Found, ServeError, Serving, store_options, wake};
use super::web_thread::{WebTerms, WebThread};

/// How a term ends.
pub(super) enum TermEnd {
    /// For good.
    Stopped,
    /// Another process is to go on.
    Leaving(Box<Leaving>),
}

/// A successor waits for the estate.
pub(super) struct Leaving {
    pub(super) successor: Successor,
    pub(super) asked: Asked,
    /// Whether the store and what goes with it could be closed cleanly.
    pub(super) closed: Result<(), ServeError>,
    pub(super) clock: Clock,
    /// Since when calls wait.
    pub(super) since_ms: u64,
}

/// The web server of a term, which is stopped before calls are held up, and started again should nothing come of it.
struct Web<'a> {
    running: RefCell<Option<WebThread>>,
    start: Box<dyn Fn() -> io::Result<WebThread> + 'a>,
}

/// What a hand-over is prepared with.
struct Preparing<'a> {
    offer: Offer,
    arguments: &'a [std::ffi::OsString],
    web: &'a Web<'a>,
    calls: Calls,
    budget: Option<BudgetStatus>,
    clock: Clock,
}

// === impl Office: terms ===

impl Office<'_> {
    pub(super) async fn serve_a_term(
        &mut self,
        (rpc_limits, http_limits): (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<TermEnd, ServeError> {
        let settings = self.settings;
        let hang_up = signal(SignalKind::hangup()).map_err(|source| ServeError::System { what: "signals", source })?;
        let market = match &settings.scheduler {
            SchedulerKind::Dynamic(market) => Some(market),
            SchedulerKind::Fifo(_) => None,
        };
        let acl = market.map(|market| AclFile::open(market.acl_file.clone())).transpose()?.map(Arc::new);
        if let Some(acl) = &acl {
            acl.warn_of_others();
        }
        let acl_watch = acl.as_deref().and_then(AclWatch::of);
        make_system_dir(&settings.directories.system).map_err(ServeError::SystemDir)?;
        make_staging_root(&settings.directories.staging_root).map_err(ServeError::StagingRoot)?;
        let system_dir = SystemDirAtStart::look(&settings.directories.system).map_err(ServeError::SystemDir)?;
        let offer = self.offer();
        let Ports { rpc, http } = &self.ports;
        let (rpc_address, http_address) = (rpc.bound, http.bound);
        let refused = |what| move |source| ServeError::System { what, source };
        let rpc_port = rpc.share().and_then(TcpListener::from_std).map_err(refused("a listener"))?;
        let (store, opened) = Store::open(store_options(settings, &system_dir))?;
        if self.control.is_none() {
            // Nobody needs an upgrade to be served.
            match Control::open(&settings.directories.state) {
                Ok(control) => self.control = Some(control),
                Err(error) => tracing::warn!("`jobtracker upgrade` cannot be heard: {error}"),
            }
        }
        let predecessors = system_dir.predecessors(&opened, settings.restart_recover);
        let leftovers = Leftovers::of(&opened, &predecessors);
        let handed_over = self.handed_over.clone();
        let found = Found { opened, predecessors, system_dir, handed_over };
        let market_precedence = market.map(|market| (market, precedence));
        let (budget_image, engine, clock) = wake(settings, market_precedence, &store, found, http_address)?;
        FaultPoint::EngineMade.pass();
        let budget_image = budget_image.map(Rc::new);
        let parts = Parts {
            settings,
            rpc_limits,
            engine,
            sink: store.fact_sender(),
            clock,
            acl: acl.clone(),
            budget_image: budget_image.clone(),
        };
        let (daemon, handle) = Daemon::new(parts);
        let daemon = daemon.with_leftovers(leftovers).with_finished_jobs(store.finished_jobs());
        let handle = handle.with_ledger(store.ledger());
        let owner = daemon.owner().clone();
        owner.step(Event::JobIdsInherited { ids: std::mem::take(&mut self.open_ids) });
        let (has_market, shows_money) = (market.is_some(), market.is_some_and(|market| market.is_public));
        let names = ServedNames::new(settings.web_hosts.clone(), keys::WEB_HOSTS.name);
        let web = Web::new(http, handle, WebTerms { limits: http_limits, names, has_market, shows_money });
        web.start().map_err(refused("a thread for the web server"))?;
        let status = format!("serving RPC on {rpc_address}, web on {http_address}");
        let reload = Reload::new(settings, acl, owner.clone(), daemon.dispatcher().clone());
        let daemon = daemon.with_companion(reload.at_each(hang_up, self.supervisor.clone()));
        let (predecessor, disappointed) = (self.predecessor.take(), self.disappointed.take());
        if let Some(predecessor) = &predecessor {
            predecessor.restored();
        }
        let follow = self.supervisor.clone().follow(store.durable(), status.clone());
        let daemon = daemon.with_companion(async move {
            if let Some((asked, why)) = disappointed {
                asked.answer(Outcome::Refused { why }).await;
            }
            if let Some(predecessor) = predecessor {
                // The supervisor listens to us once it knows of us.
                let _ = tokio::task::spawn_blocking(|| predecessor.await_farewell()).await;
            }
            follow.await;
        });
        self.has_served = true;
        if let Some(control) = &mut self.control {
            control.keep();
        }
        started(&Serving { rpc: rpc_address, http: http_address, state_dir: settings.directories.state.clone() });
        let preparing = Preparing {
            offer,
            arguments: &self.arguments,
            web: &web,
            calls: daemon.calls(),
            budget: budget_image.as_ref().map(|image| image.watch()),
            clock,
        };
        let mut leaving = None;
        let leave = async {
            loop {
                let control = &mut self.control;
                let asked = async {
                    match control {
                        Some(control) => control.next().await,
                        None => std::future::pending().await,
                    }
                };
                let asked = tokio::select! {
                    asked = asked => asked,
                    () = self.stop.stop() => break,
                };
                self.supervisor.reloading();
                let prepared = tokio::select! {
                    prepared = preparing.prepare(&asked) => prepared,
                    () = self.stop.stop() => {
                        asked.answer(Outcome::Refused { why: TOLD_TO_STOP.to_owned() }).await;
                        break;
                    }
                };
                match prepared {
                    Ok((successor, since_ms)) => {
                        leaving = Some((successor, asked, since_ms));
                        return Leave::HandOver;
                    }
                    Err(why) => {
                        asked.answer(Outcome::Refused { why: why.clone() }).await;
                        self.supervisor.ready(&format!("{status}; no upgrade: {why}"));
                    }
                }
            }
            self.supervisor.stopping();
            rpc.close();
            http.close();
            // Requests in hand have the same seconds as calls.
            web.begin_stop();
            Leave::Stop
        };
        let served = daemon.run_until(rpc_port, std::mem::take(&mut self.carried), leave).await;
        web.stop();
        drop((web, acl_watch));
        self.open_ids = owner.with_engine(|engine| engine.reserved_ids().collect());
        self.handed_over = Some(owner.with_engine(|engine| engine.tracker_names().cloned().collect()));
        let speakers: Vec<_> = owner.with_engine(|engine| engine.tracker_connections(clock.now()).collect());
        let closed = close(budget_image, owner, store);
        match (served, leaving) {
            (Ok(carried), Some((successor, asked, since_ms))) => {
                self.carried = with_trackers(carried, speakers);
                Ok(TermEnd::Leaving(Box::new(Leaving { successor, asked, closed, clock, since_ms })))
            }
            (served, _) => {
                closed?;
                served?;
                Ok(TermEnd::Stopped)
            }
        }
    }
}

/// Connections with the trackers that are heard on them.
fn with_trackers(mut carried: Vec<Carried>, speakers: Vec<InheritedTrackerConnection>) -> Vec<Carried> {
    let mut by_number: BTreeMap<u64, Vec<CarriedTracker>> = BTreeMap::new();
    for InheritedTrackerConnection { tracker, connection, is_sure } in speakers {
        by_number.entry(connection).or_default().push(CarriedTracker { name: tracker, is_sure });
    }
    for connection in &mut carried {
        connection.trackers = by_number.remove(&connection.number).unwrap_or_default();
    }
    carried
}

/// Closes what a term has opened.
fn close(budget_image: Option<Rc<BudgetPublisher>>, owner: Rc<Owner>, store: Store) -> Result<(), ServeError> {
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
    Ok(store.close()?)
}

// === impl Preparing ===

impl Preparing<'_> {
    /// Starts the successor, and holds up all calls once it could go on. Tells since when they wait. After an error all
    /// is as before.
    async fn prepare(&self, asked: &Asked) -> Result<(Successor, u64), String> {
        // What the successor could not write either might keep it from starting.
        if let Some(trouble) = self.budget.as_ref().and_then(BudgetStatus::last_error) {
            return Err(format!("the budget file must be mended first: {trouble}"));
        }
        // What waits for the store would not be answered in time, and nobody is to be sent away for that.
        self.calls.durable().await?;
        let offer = self.offer.clone();
        let successor =
            Successor::start(&asked.program, self.arguments, offer).await.map_err(|error| error.to_string())?;
        if let Some(web) = self.web.running.take() {
            let _ = tokio::task::spawn_blocking(|| web.stop()).await;
        }
        let since_ms = self.clock.mono_ms();
        if let Err(why) = self.calls.pause().await {
            if let Err(error) = self.web.start() {
                tracing::error!("the web server does not start again: {error}");
            }
            return Err(why);
        }
        Ok((successor, since_ms))
    }
}

// === impl Web ===

impl<'a> Web<'a> {
    fn new(port: &'a super::ports::OpenPort, handle: OwnerHandle, terms: WebTerms) -> Self {
        let start = move || WebThread::start(port.share()?, handle.clone(), &terms);
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
