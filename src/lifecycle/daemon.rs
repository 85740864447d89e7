//! The daemon: everything that runs on the owner's thread, put together.

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
use crate::ipc::{Carried, CarriedTracker, RpcLimits, RpcServer};
use crate::server::{
    AclFile, Dispatcher, Edges, Leftovers, Notifier, Owner, OwnerHandle, Requests, StoreGone, Submissions, Targets,
    Topology,
};
use crate::store::{BudgetPublisher, FactSender, FinishedJobReader, Health};

/// How long those whose calls are in hand may take when somebody else goes on.
const FAREWELL: Duration = Duration::from_secs(5);
/// The same when the daemon stops, which it does within five seconds whatever hangs.
const STOP_PATIENCE: Duration = Duration::from_secs(4);
/// Clients that an error names.
const TOLD_CLIENTS: usize = 5;

/// How long clients wait at most for jobs of another JobTracker to be taken in.
const TAKING_IN: Duration = Duration::from_secs(30);

/// Everything on the owner's thread.
pub struct Daemon {
    owner: Rc<Owner>,
    dispatcher: Rc<Dispatcher>,
    rpc: Rc<RpcServer<Dispatcher>>,
    edges: Edges,
    effects: mpsc::UnboundedReceiver<Effect>,
    requests: Requests,
    leftovers: Option<Leftovers>,
    companions: Vec<Companion>,
}

/// Something else that runs on the owner's thread.
type Companion = Pin<Box<dyn Future<Output = ()>>>;

/// What a daemon is made of.
pub struct Parts<'a> {
    /// What it is told from outside.
    pub settings: &'a Settings,
    /// Limits of the RPC server.
    pub rpc_limits: RpcLimits,
    /// All state. Its start facts are handed to the sink here.
    pub engine: Engine,
    /// Where facts go.
    pub sink: FactSender,
    /// The clock that the engine was made with.
    pub clock: Clock,
    /// Who may sign; none where nobody needs to.
    pub acl: Option<Arc<AclFile>>,
    /// Writes the budget file; none without a market.
    pub budget_image: Option<Rc<BudgetPublisher>>,
}

/// How a daemon's service ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// For good: what is in hand is answered, then connections are closed.
    Stop,
    /// Another daemon goes on; [`Calls::pause`] has succeeded.
    HandOver,
}

/// The calls of a running daemon, which can be held up for a moment.
#[derive(Clone)]
pub(super) struct Calls {
    owner: Rc<Owner>,
    rpc: Rc<RpcServer<Dispatcher>>,
}

/// Why the daemon cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing becomes durable any more.
    #[error(transparent)]
    StoreGone(#[from] StoreGone),
    /// One of its tasks has ended by a bug.
    #[error("a task of the daemon has failed: {0}")]
    Panicked(tokio::task::JoinError),
}

// === impl Daemon ===

impl Daemon {
    /// Puts the parts together. The handle is for other threads.
    pub fn new(parts: Parts<'_>) -> (Self, OwnerHandle) {
        let Parts { settings, rpc_limits, mut engine, sink, clock, acl, budget_image } = parts;
        let (first_fact, facts) = engine.take_start_facts();
        let store = sink.durable();
        sink.append(first_fact, facts);
        let (owner, effects) = Owner::new(engine, sink, clock, rpc_limits.held_bytes);
        let topology = Topology::new(&settings.trackers);
        let submissions = Submissions::new(owner.clone(), topology.clone(), settings, acl.clone());
        let dispatcher = Dispatcher::new(owner.clone(), settings, submissions.clone(), rpc_limits.waiting_calls);
        let rpc = Rc::new(RpcServer::new(rpc_limits, clock, dispatcher.clone()));
        let (handle, requests) = OwnerHandle::new(store, acl, budget_image.as_ref().map(|image| image.watch()));
        let handle = handle.with_file_turns(submissions.stuck());
        let notifier = Rc::new(Notifier::new(Targets::new(&settings.end_notification_targets)));
        let edges = Edges { owner: owner.clone(), topology, submissions, notifier, budget_image };
        (Self { owner, dispatcher, rpc, edges, effects, requests, leftovers: None, companions: Vec::new() }, handle)
    }

    /// The owner of the engine.
    pub fn owner(&self) -> &Rc<Owner> {
        &self.owner
    }

    /// Who dispatches calls.
    pub fn dispatcher(&self) -> &Rc<Dispatcher> {
        &self.dispatcher
    }

    /// Its calls.
    pub(super) fn calls(&self) -> Calls {
        Calls { owner: self.owner.clone(), rpc: self.rpc.clone() }
    }

    /// Has something else run on the owner's thread while it serves.
    #[must_use]
    pub fn with_companion(mut self, companion: impl Future<Output = ()> + 'static) -> Self {
        self.companions.push(Box::pin(companion));
        self
    }

    /// Has the files of jobs of before the restart put in order once it runs.
    #[must_use]
    pub fn with_leftovers(self, leftovers: Leftovers) -> Self {
        self.edges.submissions.expect_leftovers();
        Self { leftovers: Some(leftovers), ..self }
    }

    /// Has jobs that were over before the restart read by `reader`.
    #[must_use]
    pub fn with_finished_jobs(self, reader: FinishedJobReader) -> Self {
        self.edges.submissions.find_ids_by(reader.clone());
        self.dispatcher.read_finished_jobs_by(reader);
        self
    }

    /// Serves RPC on `listener` until `stop` completes, then answers what is in hand. Must run where local tasks can be
    /// spawned.
    ///
    /// # Errors
    /// [`RunError`]: nothing can be answered any more.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), RunError> {
        let stop = async {
            stop.await;
            Leave::Stop
        };
        self.run_until(listener, Vec::new(), stop).await.map(drop)
    }

    /// The same, going on with the connections of an earlier daemon. When another is to go on, gives it all connections
    /// there are.
    pub(super) async fn run_until(
        self,
        listener: TcpListener,
        carried: Vec<Carried>,
        leave: impl Future<Output = Leave>,
    ) -> Result<Vec<Carried>, RunError> {
        let Self { owner, dispatcher, rpc, edges, effects, requests, leftovers, companions } = self;
        let serving = requests.serving();
        let mut tasks = JoinSet::new();
        let speakers = rpc.take_over(carried).into_iter().map(|(connection, CarriedTracker { name, is_sure })| {
            InheritedTrackerConnection { tracker: name, connection, is_sure }
        });
        owner.step(Event::ConnectionsInherited { connections: speakers.collect() });
        let accepting = tasks.spawn_local(rpc.clone().accept(listener));
        tasks.spawn_local(rpc.clone().sweep());
        tasks.spawn_local(dispatcher.clone().resolve_hosts());
        let (taken_in, all_taken_in) = oneshot::channel::<()>();
        match leftovers {
            Some(leftovers) => {
                let taken_in = move || drop(taken_in);
                tasks.spawn_local(edges.submissions.clone().put_in_order(leftovers, taken_in));
            }
            None => drop(taken_in),
        }
        tasks.spawn_local(async move {
            // A client that asks for a job which is about to be taken in would hear that there is none.
            let _: Result<_, _> = tokio::time::timeout(TAKING_IN, all_taken_in).await;
            dispatcher.serve_clients().await;
        });
        for companion in companions {
            tasks.spawn_local(companion);
        }
        tasks.spawn_local(edges.perform(effects));
        let (stop_requests, stopping) = oneshot::channel::<()>();
        let (requests_answered, answered) = oneshot::channel::<()>();
        let answering = requests.answer(owner.clone(), async { drop(stopping.await) });
        tasks.spawn_local(async move {
            answering.await;
            // Heard of only at the end.
            let _ = requests_answered.send(());
        });
        let ringing = owner.clone();
        tasks.spawn_local(async move { ringing.ring().await });
        let releasing = owner.clone();
        let mut released = tokio::task::spawn_local(async move { releasing.release().await });
        serving.set(true);
        let served = tokio::select! {
            leave = leave => {
                // The port closes, unless somebody else holds it too; what has come in is answered.
                accepting.abort();
                serving.set(false);
                drop(stop_requests);
                match leave {
                    Leave::Stop => {
                        let finished = async { tokio::join!(rpc.finish(), answered) };
                        if tokio::time::timeout(STOP_PATIENCE, finished).await.is_err() {
                            tracing::warn!("some calls stay unanswered: their facts or their clients are too slow");
                        }
                        Ok(Vec::new())
                    }
                    Leave::HandOver => Ok(rpc.carry_all().await),
                }
            }
            gone = &mut released => Err(gone.unwrap_or(StoreGone).into()),
            panicked = first_panic(&mut tasks) => Err(RunError::Panicked(panicked)),
        };
        serving.set(false);
        released.abort();
        // Until they have let go of what they share, too.
        tasks.shutdown().await;
        served
    }
}

// === impl Calls ===

impl Calls {
    /// Completes when all that has happened so far is durable; the error says why that takes too long.
    pub(super) async fn durable(&self) -> Result<(), String> {
        match tokio::time::timeout(FAREWELL, self.owner.wait_durable(self.owner.last_fact())).await {
            Ok(waited) => waited.map_err(|gone| gone.to_string()),
            Err(_) => Err(self.unanswered()),
        }
    }

    /// No further call is taken; completes when those that were are answered and what they changed is durable. If that
    /// takes too long calls are taken again, and the error says who is waited for.
    pub(super) async fn pause(&self) -> Result<(), String> {
        let done = async {
            self.rpc.pause().await;
            // What effects wait for, too.
            self.owner.wait_durable(self.owner.last_fact()).await
        };
        let why = match tokio::time::timeout(FAREWELL, done).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(gone)) => gone.to_string(),
            Err(_) => self.unanswered(),
        };
        self.resume();
        Err(why)
    }

    /// Calls are taken again.
    pub(super) fn resume(&self) {
        self.rpc.resume();
    }

    fn unanswered(&self) -> String {
        let seconds = FAREWELL.as_secs();
        let clients = self.rpc.unsettled();
        let first = clients.iter().take(TOLD_CLIENTS).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let calls = match clients.len() {
            0 => "all calls are answered".to_owned(),
            count if count > TOLD_CLIENTS => format!("calls of {count} clients, {first} and others, wait"),
            _ => format!("calls of {first} wait"),
        };
        let store = match self.owner.store_health() {
            Health::Good => "",
            Health::Failing { .. } | Health::Broken { .. } => ", and state.db cannot be written",
        };
        format!("after {seconds} seconds {calls}, {} answers and waiters wait for state.db{store}", self.owner.held())
    }
}

/// Completes when a task has panicked. Those that end because nobody needs them any more are no failure.
async fn first_panic(tasks: &mut JoinSet<()>) -> tokio::task::JoinError {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => return error,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
