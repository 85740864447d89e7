//! The daemon: everything that runs on the owner's thread.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::{Effect, Engine, Event, InheritedTrackerConnection};
use crate::ipc::{InheritedConnection, InheritedTracker, RpcLimits, RpcServer};
use crate::server::{
    AclFile, ApplicationWaits, BrokenInvariants, Dispatcher, EffectHandler, EventLog, HandleParts, HistoryWriter,
    Leftovers, Notifier, Owner, OwnerHandle, OwnerThread, RackResolver, Requests, SharedPresence, StoreGone,
    Submissions, SwitchWaiter, Targets, WebSources, feed_views, presence_of,
};
use crate::store::{BudgetPublisher, FactSender, Health};
use crate::views::{ViewsFeed, ViewsReader};

/// Maximum time for answering the calls in progress before a hand-over.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The same at a stop, which takes five seconds at most.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);
/// Clients that an error text names.
const NAMED_CLIENTS: usize = 5;

/// Maximum time that clients wait for the adoption of another JobTracker's jobs.
const JOB_ADOPTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything on the owner's thread.
pub struct Daemon {
    rpc: Rc<RpcServer<Dispatcher>>,
    effect_handler: EffectHandler,
    effects: mpsc::UnboundedReceiver<Effect>,
    requests: Requests,
    leftovers: Option<Leftovers>,
    history_writer: HistoryWriter,
    background_tasks: Vec<BackgroundTask>,
}

/// A further task on the owner's thread.
type BackgroundTask = Pin<Box<dyn Future<Output = ()>>>;

pub struct DaemonParts<'a> {
    pub settings: &'a Settings,
    pub rpc_limits: RpcLimits,
    /// The engine. Its start facts are appended to the sink by [`Daemon::new`].
    pub engine: Engine,
    /// Takes the facts.
    pub sink: FactSender,
    pub clock: Clock,
    /// Users that may sign; `None` without a market.
    pub acl: Option<Arc<AclFile>>,
    /// Writes the budget file; `None` without a market.
    pub budget_image: Option<Rc<BudgetPublisher>>,
    /// What pages and metrics show, and what says to it what is no fact.
    pub views: Option<(ViewsReader, ViewsFeed)>,
    /// `None` without a state store that can be read.
    pub web: Option<WebSources>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DaemonExit {
    /// Calls in progress are answered, then connections are closed.
    Stop,
    /// Another process takes the connections over; [`Calls::pause`] has succeeded.
    HandOver,
}

/// Pauses and resumes the calls of a running daemon.
#[derive(Clone)]
pub(super) struct Calls {
    owner: Rc<Owner>,
    rpc: Rc<RpcServer<Dispatcher>>,
    application_waits: Rc<ApplicationWaits>,
}

/// Why the daemon stopped serving.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store's thread has ended.
    #[error(transparent)]
    StoreGone(#[from] StoreGone),
    #[error("a task of the daemon panicked: {0}")]
    Panicked(tokio::task::JoinError),
}

impl Daemon {
    /// Puts the parts together. The handle is for other threads.
    pub fn new(parts: DaemonParts<'_>) -> (Self, OwnerHandle) {
        let DaemonParts { settings, rpc_limits, mut engine, sink, clock, acl, budget_image, views, web } = parts;
        let (first_fact, facts) = engine.take_start_facts();
        let store = sink.durable();
        let market_presence = SharedPresence::new(presence_of(&engine));
        sink.append(first_fact, facts);
        let (owner, effects) = Owner::new(engine, sink, clock, rpc_limits.held_bytes);
        let finished_jobs = || web.as_ref().map(|web| web.finished_jobs.clone());
        let resolver = RackResolver::new(&settings.trackers);
        let submissions = Submissions::new(owner.clone(), resolver.clone(), settings, acl.clone(), finished_jobs());
        let waiting_calls = rpc_limits.waiting_calls;
        let dispatcher = Dispatcher::new(owner.clone(), settings, submissions.clone(), waiting_calls, finished_jobs());
        let rpc = Rc::new(RpcServer::new(rpc_limits, clock, dispatcher.clone()));
        let broken_invariants = BrokenInvariants::default();
        let notifier = Rc::new(Notifier::new(Targets::new(&settings.end_notification_targets)));
        let (history_writer, user_copies) =
            HistoryWriter::new(owner.clone(), settings, resolver.clone(), finished_jobs());
        let (views, feed) = views.unzip();
        let (handle, requests) = OwnerHandle::new(HandleParts {
            settings,
            store,
            market: market_presence.clone(),
            acl,
            budget: budget_image.as_ref().map(|image| image.watch()),
            views,
            web,
            submissions: &submissions,
            history_writer: &history_writer,
            failed_notifications: notifier.failed(),
            broken_invariants: broken_invariants.clone(),
            rpc: rpc.meter(),
        });
        let effect_handler = EffectHandler {
            owner,
            dispatcher,
            application_waits: Rc::default(),
            resolver,
            submissions,
            notifier,
            user_copies,
            broken_invariants,
            market_presence,
            switch_waiter: Rc::default(),
            event_log: EventLog::new(&settings.daemon_user, &settings.rpc_address.host, clock),
            budget_image,
        };
        let background_tasks = feed.into_iter().map(|feed| fed_views(&effect_handler.owner, feed)).collect();
        let daemon = Self { rpc, effect_handler, effects, requests, leftovers: None, history_writer, background_tasks };
        (daemon, handle)
    }

    pub fn owner(&self) -> &Rc<Owner> {
        &self.effect_handler.owner
    }

    pub(super) fn submissions(&self) -> &Rc<Submissions> {
        &self.effect_handler.submissions
    }

    pub(super) fn switch_waiter(&self) -> Rc<SwitchWaiter> {
        self.effect_handler.switch_waiter.clone()
    }

    pub(crate) fn dispatcher(&self) -> &Rc<Dispatcher> {
        &self.effect_handler.dispatcher
    }

    pub(super) fn calls(&self) -> Calls {
        let EffectHandler { owner, application_waits, .. } = &self.effect_handler;
        Calls { owner: owner.clone(), rpc: self.rpc.clone(), application_waits: application_waits.clone() }
    }

    /// Adds a task that runs on the owner's thread while the daemon serves.
    #[must_use]
    pub(crate) fn with_background_task(mut self, task: impl Future<Output = ()> + 'static) -> Self {
        self.background_tasks.push(Box::pin(task));
        self
    }

    #[must_use]
    pub(crate) fn with_leftovers(self, leftovers: Leftovers) -> Self {
        self.effect_handler.submissions.expect_leftovers(&leftovers);
        Self { leftovers: Some(leftovers), ..self }
    }

    /// Serves RPC on `listener` until `stop` completes, then answers the calls in progress. Requires a `LocalSet` or a local runtime.
    ///
    /// # Errors
    /// [`RunError`]: no call can be answered any more.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), RunError> {
        let stop = async {
            stop.await;
            DaemonExit::Stop
        };
        self.run_until(listener, Vec::new(), stop).await.map(drop)
    }

    /// The same with the connections of an earlier daemon. Before a hand-over it detaches all connections and returns them.
    pub(super) async fn run_until(
        self,
        listener: TcpListener,
        inherited: Vec<InheritedConnection>,
        exit: impl Future<Output = DaemonExit>,
    ) -> Result<Vec<InheritedConnection>, RunError> {
        let Self { rpc, effect_handler, effects, requests, .. } = self;
        let (owner, dispatcher) = (effect_handler.owner.clone(), effect_handler.dispatcher.clone());
        let serving = requests.serving();
        let resolver = effect_handler.resolver.clone();
        let mut tasks = JoinSet::new();
        inherit_connections(&owner, &rpc, inherited);
        let accepting = tasks.spawn_local(rpc.clone().accept(listener));
        tasks.spawn_local(rpc.clone().sweep());
        tasks.spawn_local(dispatcher.clone().resolve_hosts());
        tasks.spawn_local(dispatcher.clone().end_held_beats());
        let waits = effect_handler.application_waits.clone();
        let thread = OwnerThread { owner: owner.clone(), dispatcher: dispatcher.clone(), waits };
        spawn_clients(&mut tasks, dispatcher, self.leftovers, &effect_handler.submissions);
        tasks.spawn_local(self.history_writer.run());
        for task in self.background_tasks {
            tasks.spawn_local(task);
        }
        tasks.spawn_local(effect_handler.perform(effects));
        let (stop_taking_requests, stopping) = oneshot::channel::<()>();
        let answered = spawn_answering(&mut tasks, requests.answer(thread, async { drop(stopping.await) }));
        let timer_owner = owner.clone();
        tasks.spawn_local(async move { timer_owner.run_timer().await });
        let releasing = owner.clone();
        let mut released = tokio::task::spawn_local(async move { releasing.release().await });
        serving.set(true);
        let served = tokio::select! {
            exit = exit => {
                // The port closes, unless another process holds a copy; calls that have arrived are answered.
                accepting.abort();
                serving.set(false);
                drop(stop_taking_requests);
                match exit {
                    DaemonExit::Stop => {
                        answer_calls(&rpc, answered).await;
                        owner.step(Event::RunEnds);
                        Ok(Vec::new())
                    }
                    DaemonExit::HandOver => Ok(rpc.detach_all().await),
                }
            }
            gone = &mut released => Err(gone.unwrap_or(StoreGone).into()),
            panicked = first_panic(&mut tasks) => Err(RunError::Panicked(panicked)),
        };
        serving.set(false);
        released.abort();
        // Completes once the tasks have dropped what they share.
        tasks.shutdown().await;
        resolver.stop();
        served
    }
}

/// Says to the views what is no fact.
fn fed_views(owner: &Rc<Owner>, feed: ViewsFeed) -> BackgroundTask {
    owner.set_views(feed.clone());
    Box::pin(feed_views(owner.clone(), feed))
}

fn inherit_connections(owner: &Owner, rpc: &RpcServer<Dispatcher>, inherited: Vec<InheritedConnection>) {
    let speakers = rpc.take_over(inherited).into_iter().map(|(connection, InheritedTracker { name, is_sure })| {
        InheritedTrackerConnection { tracker: name, connection, is_sure }
    });
    owner.step(Event::ConnectionsInherited { connections: speakers.collect() });
}

/// Serves clients once the jobs of another JobTracker are adopted, or that takes too long.
fn spawn_clients(
    tasks: &mut JoinSet<()>,
    dispatcher: Rc<Dispatcher>,
    leftovers: Option<Leftovers>,
    submissions: &Rc<Submissions>,
) {
    let (adopted, all_adopted) = oneshot::channel::<()>();
    match leftovers {
        Some(leftovers) => {
            let adopted = move || drop(adopted);
            tasks.spawn_local(submissions.clone().recover_system_dir(leftovers, adopted));
        }
        None => drop(adopted),
    }
    tasks.spawn_local(async move {
        // Otherwise a client that asks about a job which is about to be adopted would get "no such job".
        let _: Result<_, _> = tokio::time::timeout(JOB_ADOPTION_TIMEOUT, all_adopted).await;
        dispatcher.serve_clients().await;
    });
}

/// Answers requests of the web server; completes the receiver when all are answered.
fn spawn_answering(tasks: &mut JoinSet<()>, answering: impl Future<Output = ()> + 'static) -> oneshot::Receiver<()> {
    let (requests_answered, answered) = oneshot::channel::<()>();
    tasks.spawn_local(async move {
        answering.await;
        // Awaited only at the stop.
        let _ = requests_answered.send(());
    });
    answered
}

/// Waits at a stop until calls and requests are answered, but not for ever.
async fn answer_calls(rpc: &RpcServer<Dispatcher>, requests_answered: oneshot::Receiver<()>) {
    let finished = async { tokio::join!(rpc.finish(), requests_answered) };
    if tokio::time::timeout(STOP_TIMEOUT, finished).await.is_err() {
        tracing::warn!("shutdown timed out with calls unanswered (slow store or slow clients)");
    }
}

impl Calls {
    /// Completes when all facts so far are durable; the error describes the delay.
    pub(super) async fn durable(&self) -> Result<(), String> {
        match tokio::time::timeout(DRAIN_TIMEOUT, self.owner.wait_durable(self.owner.last_fact())).await {
            Ok(waited) => waited.map_err(|gone| gone.to_string()),
            Err(_) => Err(self.unanswered()),
        }
    }

    /// Stops taking calls; completes when all calls are answered and their facts durable. After a timeout calls are
    /// taken again, and the error names the clients with unanswered calls.
    pub(super) async fn pause(&self) -> Result<(), String> {
        let done = async {
            self.rpc.pause().await;
            self.owner.step(Event::RunEnds);
            // Effects wait for facts, too.
            self.owner.wait_durable(self.owner.last_fact()).await
        };
        let why = match tokio::time::timeout(DRAIN_TIMEOUT, done).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(gone)) => gone.to_string(),
            Err(_) => self.unanswered(),
        };
        self.resume();
        Err(why)
    }

    /// Has requests that wait for news of applications answered, so that the web server can stop.
    pub(super) fn end_waits(&self) {
        self.application_waits.end_all();
    }

    /// Takes calls again, and lets requests wait for news of applications.
    pub(super) fn resume(&self) {
        self.application_waits.resume();
        self.rpc.resume();
    }

    fn unanswered(&self) -> String {
        let seconds = DRAIN_TIMEOUT.as_secs();
        let clients = self.rpc.unanswered_clients();
        let first = clients.iter().take(NAMED_CLIENTS).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let calls = match clients.len() {
            0 => "all calls are answered".to_owned(),
            count if count > NAMED_CLIENTS => format!("calls of {count} clients are unanswered ({first} and others)"),
            _ => format!("calls of {first} are unanswered"),
        };
        let store = match self.owner.store_health() {
            Health::Good => "",
            Health::Failing { .. } | Health::Broken { .. } => ", and state.db cannot be written",
        };
        format!("after {seconds} seconds {calls}, {} answers and waiters wait for state.db{store}", self.owner.held())
    }
}

/// Completes when a task has panicked. Tasks that end normally do not count.
async fn first_panic(tasks: &mut JoinSet<()>) -> tokio::task::JoinError {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => return error,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
