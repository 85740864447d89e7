//! One session of the daemon: from opening the store to closing it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::api::UploadRules;
use crate::clock::Clock;
use crate::config::settings::{HttpLimits, MarketSettings};
use crate::config::{Settings, keys};
use crate::engine::{Event, SchedulerChoice};
use crate::fs::FileRights;
use crate::ipc::RpcLimits;
use crate::server::{
    AclFile, AllocationWatch, ApplicationUsers, ApplicationsOnDisk, ContainersOnDisk, HdfsMonitor, Leftovers, Owner,
    OwnerHandle, Quarantine, SystemDirAtStart, WebSources, take_over_top_ups,
};
use crate::store::{
    BudgetPublisher, FactFollower, FaultPoint, FoundTopUps, Precedence, Retention, StateReader, Store, StoreError,
    StoreOptions, database_in,
};
use crate::views::{ReadModel, ViewsFeed, ViewsReader, follow};
use crate::web::{JobForms, ServedNames, ServedPorts};

use super::acl_watch::AclWatch;
use super::build_engine::{StartState, build_engine, job_page_prefix};
use super::daemon::{Daemon, DaemonParts};
use super::handover::{Control, Offer, Predecessor, SchedulerCall, UpgradeOutcome, UpgradeRequest};
use super::play_desk::PlayDesk;
use super::process::DaemonProcess;
use super::reload::Reload;
use super::ruling_scheduler::RulingScheduler;
use super::scheduler_control::SchedulerControl;
use super::serve_error::ServeError;
use super::session_end::{Endings, HandoverPreparation, SessionEnd, SessionParts, Web};
use super::stock_settings::stock_settings;
use super::web_thread::WebOptions;

/// What is known once the daemon serves.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    pub(crate) rpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) state_dir: PathBuf,
    /// The settings, with those of the scheduler that rules.
    pub(crate) settings: Arc<Settings>,
}

/// What a session has opened before it serves.
struct OpenSession<'a> {
    store: Store,
    ruling: RulingScheduler<'a>,
    acl: Option<Arc<AclFile>>,
    acl_watch: Option<AclWatch>,
    budget_image: Option<Rc<BudgetPublisher>>,
    found_top_ups: Option<mpsc::UnboundedReceiver<FoundTopUps>>,
    clock: Clock,
    daemon: Daemon,
    handle: OwnerHandle,
    quarantine: Rc<Quarantine>,
}

/// For `map_err`: what the system has refused.
fn refused(what: &'static str) -> impl FnOnce(std::io::Error) -> ServeError {
    move |source| ServeError::System { what, source }
}

impl<'a> DaemonProcess<'a> {
    pub(super) async fn serve_session(
        &mut self,
        (rpc_limits, http_limits): (RpcLimits, HttpLimits),
        precedence: Precedence,
        started: impl FnOnce(&Serving),
    ) -> Result<SessionEnd, ServeError> {
        let hang_up = signal(SignalKind::hangup()).map_err(refused("signals"))?;
        self.open_web_socket()?;
        let system_dir = SystemDirAtStart::read(self.settings)?;
        let offer = self.offer();
        let rpc_port = self.ports.rpc.share().and_then(TcpListener::from_std).map_err(refused("a listener"))?;
        let opened = self.open_session(rpc_limits, precedence, system_dir)?;
        self.serve_opened(opened, (offer, rpc_port, http_limits), hang_up, started).await
    }

    /// Opens the store, restores the engine and puts the daemon together.
    fn open_session(
        &mut self,
        rpc_limits: RpcLimits,
        precedence: Precedence,
        system_dir: SystemDirAtStart,
    ) -> Result<OpenSession<'a>, ServeError> {
        let (mut store, opened) = Store::open(StoreOptions {
            holds_migration: self.predecessor.is_some(),
            ..store_options(self.settings, &system_dir)
        })?;
        let state_reader = store.state_reader();
        let (read_model, follower) = (ReadModel::load(&opened, state_reader.finished_jobs()), store.follow());
        let ruling = ruling_scheduler(self.settings, opened.choice.as_ref(), self.market.as_ref())?;
        let settings = &*ruling.settings;
        let acl = open_acl(settings, self.market.is_some())?;
        let acl_watch = acl.as_deref().and_then(AclWatch::of);
        let application_keys = settings.application_keys();
        let application_users = ApplicationUsers::open(&application_keys, acl.as_ref())?;
        tracing::info!("{application_keys}");
        self.open_control(&settings.directories.state);
        let predecessors = system_dir.predecessors(&opened, settings.restart_recover);
        let leftovers = Leftovers::of(&opened, &predecessors, system_dir.unread(settings, &opened));
        let found = StartState { opened, predecessors, system_dir, handed_over: self.handed_over.clone() };
        let http_address = self.ports.http.bound;
        let (mut budget_image, engine, clock) = build_engine(&ruling, precedence, &store, found, http_address)?;
        FaultPoint::EngineMade.pass();
        let found_top_ups = budget_image.as_mut().and_then(BudgetPublisher::found_top_ups);
        let budget_image = budget_image.map(Rc::new);
        let quarantine = Rc::new(Quarantine::open(&settings.directories.state));
        let (daemon, handle) = Daemon::new(DaemonParts {
            settings,
            rpc_limits,
            engine,
            sink: store.fact_sender(),
            clock,
            acl: acl.clone(),
            budget_image: budget_image.clone(),
            views: follow_store((read_model, follower, state_reader), clock)?,
            web: Some(web_sources(settings, &store, application_users, &quarantine, http_address.port())),
        });
        let daemon = daemon.with_leftovers(leftovers);
        Ok(OpenSession {
            store,
            ruling,
            acl,
            acl_watch,
            budget_image,
            found_top_ups,
            clock,
            daemon,
            handle,
            quarantine,
        })
    }

    fn open_control(&mut self, state_dir: &Path) {
        if self.control.is_none() {
            // The daemon can serve without upgrades.
            match Control::open(state_dir, self.operator_stop()) {
                Ok(control) => self.control = Some(control),
                Err(error) => tracing::warn!("cannot listen for `jobtracker upgrade` and `jobtracker stop`: {error}"),
            }
        }
    }

    async fn serve_opened(
        &mut self,
        opened: OpenSession<'a>,
        (offer, rpc_port, http_limits): (Offer, TcpListener, HttpLimits),
        hang_up: Signal,
        started: impl FnOnce(&Serving),
    ) -> Result<SessionEnd, ServeError> {
        let OpenSession { store, ruling, budget_image, clock, daemon, handle, quarantine, .. } = opened;
        let settings = &*ruling.settings;
        let (rpc_address, http_address) = (self.ports.rpc.bound, self.ports.http.bound);
        let uploads = daemon.submissions().uploads().clone();
        let needs_next_session = daemon.submissions().needs_next_session();
        let owner = daemon.owner().clone();
        let daemon = daemon.with_background_task(uploads.remove_unsubmitted(owner.clone(), store.finished_jobs()));
        owner.set_quarantine(quarantine.clone());
        owner.step(Event::JobIdsInherited { ids: std::mem::take(&mut self.open_ids) });
        let ports = ServedPorts { rpc: Some(rpc_address), http: Some(http_address) };
        let options = web_options(settings, &store, http_limits, ports, http_address)?;
        let reload_counts = handle.reload_counts();
        let web = Web::new(&self.ports.http, self.web_socket.as_ref(), handle, options);
        web.start().map_err(refused("a thread for the web server"))?;
        let status = format!("serving RPC on {rpc_address}, web on {http_address}");
        let (dispatcher, service) = (daemon.dispatcher().clone(), self.service.clone());
        let reload = Rc::new(Reload::new(self.settings, opened.acl, owner.clone(), dispatcher, service, reload_counts));
        let daemon = daemon.with_background_task(Rc::clone(&reload).run(hang_up));
        let daemon = with_watches(daemon, settings, &owner, opened.found_top_ups)?;
        let daemon = daemon.with_background_task(async move { quarantine.forget_released().await });
        let (openings, opened_markets) = mpsc::unbounded_channel();
        let (sources, waiter) = (settings.sources.clone(), daemon.switch_waiter());
        let scheduler_control = SchedulerControl { openings, sources, owner: owner.clone(), waiter, reload };
        let daemon = with_operators(daemon, self.control.as_ref(), scheduler_control, self.market_opening.take());
        let (predecessor, failed_upgrade) = (self.predecessor.take(), self.failed_upgrade.take());
        take_over_service(predecessor.as_ref(), &store)?;
        let health_reports = self.service.clone().report_health(store.durable(), status.clone());
        let daemon = daemon.with_background_task(report_service(predecessor, failed_upgrade, health_reports));
        self.has_served = true;
        if let Some(control) = &mut self.control {
            control.own_socket();
        }
        let (state_dir, settings) = (settings.directories.state.clone(), Arc::new(settings.clone()));
        started(&Serving { rpc: rpc_address, http: http_address, state_dir, settings });
        let budget = budget_image.as_ref().map(|image| image.watch());
        let arguments = &self.arguments;
        let endings = Endings {
            preparation: HandoverPreparation { offer, arguments, web: &web, calls: daemon.calls(), budget, clock },
            control: &mut self.control,
            opened_markets,
            needs_next_session,
            stop: &mut self.stop,
            service: &self.service,
            ports: &self.ports,
            status,
        };
        let (served, ended) = endings.serve(daemon, rpc_port, std::mem::take(&mut self.connections)).await;
        web.stop();
        drop((web, opened.acl_watch));
        self.end_session(served, ended, SessionParts { budget_image, owner, store, clock })
    }
}

/// The scheduler that rules, with a market that began while this process ran.
fn ruling_scheduler<'a>(
    settings: &'a Settings,
    choice: Option<&SchedulerChoice>,
    market: Option<&MarketSettings>,
) -> Result<RulingScheduler<'a>, ServeError> {
    let mut ruling = RulingScheduler::find(settings, choice)?;
    if let (None, Some(market)) = (&ruling.settings.market, market) {
        ruling.settings.to_mut().market = Some(market.clone());
    }
    tracing::info!("{}", ruling.line);
    Ok(ruling)
}

fn open_acl(settings: &Settings, has_begun_later: bool) -> Result<Option<Arc<AclFile>>, ServeError> {
    let market = settings.market.as_ref();
    let acl = market.map(|market| AclFile::open(market.acl_file.clone())).transpose()?.map(Arc::new);
    // Of the market of the settings the start has said so.
    if let (Some(acl), true) = (&acl, has_begun_later) {
        acl.warn_of_others();
    }
    Ok(acl)
}

/// What pages and metrics show of the store.
fn follow_store(
    (read_model, follower, state_reader): (ReadModel, Option<FactFollower>, StateReader),
    clock: Clock,
) -> Result<Option<(ViewsReader, ViewsFeed)>, ServeError> {
    let Some(follower) = follower else { return Ok(None) };
    let followed = follow(read_model, follower, move || load_again(&state_reader), clock);
    followed.map(Some).map_err(refused("a thread for the views"))
}

fn web_sources(
    settings: &Settings,
    store: &Store,
    application_users: ApplicationUsers,
    quarantine: &Quarantine,
    port: u16,
) -> WebSources {
    let containers_on_disk = ContainersOnDisk::new(store.stored_applications(), settings.containers.slot);
    WebSources {
        ledger: store.ledger().with_container_slot(settings.containers.slot),
        finished_jobs: store.finished_jobs(),
        store_meter: store.meter(),
        application_users,
        applications_on_disk: ApplicationsOnDisk::new(store.stored_applications(), containers_on_disk),
        refused_senders: quarantine.refused_senders(),
        upload_rules: upload_rules(settings),
        port,
    }
}

fn web_options(
    settings: &Settings,
    store: &Store,
    limits: HttpLimits,
    ports: ServedPorts,
    http_address: SocketAddr,
) -> Result<WebOptions, ServeError> {
    let job_forms = match (settings.has_private_actions, settings.queues.acls_enabled) {
        (false, _) => JobForms::Off,
        (true, _) if settings.job_changes.are_signed => JobForms::Signed,
        (true, false) => JobForms::ForAll,
        (true, true) => JobForms::ForNamed,
    };
    Ok(WebOptions {
        limits,
        names: ServedNames::new(settings.web_hosts.clone(), keys::WEB_HOSTS.name),
        shows_money: settings.market.as_ref().is_some_and(|market| market.is_public),
        job_forms,
        stock: stock_settings(settings)?,
        job_page_prefix: job_page_prefix(settings, http_address),
        container_slot: settings.containers.slot,
        session_key: store.session_key(),
        plays: Arc::new(PlayDesk::new(settings.sources.clone(), database_in(&settings.directories.state))),
        ports,
    })
}

fn with_watches(
    daemon: Daemon,
    settings: &Settings,
    owner: &Rc<Owner>,
    found_top_ups: Option<mpsc::UnboundedReceiver<FoundTopUps>>,
) -> Result<Daemon, ServeError> {
    let awaited_files = daemon.submissions().awaited_files().clone();
    let daemon = match HdfsMonitor::new(settings, awaited_files, owner.clone())? {
        Some(monitor) => daemon.with_background_task(monitor.run()),
        None => daemon,
    };
    let daemon = match AllocationWatch::new(settings, owner.clone()) {
        Some(watch) => daemon.with_background_task(watch.run()),
        None => daemon,
    };
    Ok(match found_top_ups {
        Some(found) => daemon.with_background_task(take_over_top_ups(owner.clone(), found)),
        None => daemon,
    })
}

/// Answers operators about the scheduler, also the call for which the market of this session began.
fn with_operators(
    daemon: Daemon,
    control: Option<&Control>,
    scheduler_control: SchedulerControl,
    market_opening: Option<SchedulerCall>,
) -> Daemon {
    let Some(control) = control else { return daemon };
    let daemon = daemon.with_background_task(scheduler_control.answer_calls(control.scheduler_calls()));
    if let Some(call) = market_opening {
        control.hand_on(call);
    }
    daemon
}

/// Waits for the predecessor's permission to serve, commits the migration and reports that this process serves.
fn take_over_service(predecessor: Option<&Predecessor>, store: &Store) -> Result<(), ServeError> {
    if let Some(predecessor) = predecessor {
        predecessor.await_permission();
        store.commit_migration().inspect_err(|error| predecessor.refuse(&error.to_string()))?;
        predecessor.report_serving();
    }
    Ok(())
}

async fn report_service(
    predecessor: Option<Predecessor>,
    failed_upgrade: Option<(UpgradeRequest, String)>,
    health_reports: impl Future<Output = ()>,
) {
    if let Some((request, why)) = failed_upgrade {
        request.answer(UpgradeOutcome::Refused { why }).await;
    }
    if let Some(predecessor) = predecessor {
        // The service manager accepts messages only from a process that it knows.
        let _ = tokio::task::spawn_blocking(|| predecessor.await_acknowledgement()).await;
    }
    health_reports.await;
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
