//! The daemon: everything that runs on the owner's thread, put together.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::config::Settings;
use crate::engine::{Effect, Engine};
use crate::store::{BudgetImage, FactSink, FinishedJobReader};

use super::acl_file::AclFile;
use super::clock::Clock;
use super::dispatch::Dispatcher;
use super::effects::Edges;
use super::end_notification::Notifier;
use super::handle::{OwnerHandle, Requests};
use super::owner::{Owner, StoreGone};
use super::rpc::{RpcLimits, RpcServer};
use super::submission::{Leftovers, Submissions};
use super::topology::Topology;

/// How long those whose calls are in hand may take when the daemon stops.
const FAREWELL: Duration = Duration::from_secs(5);

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
    pub sink: FactSink,
    /// The clock that the engine was made with.
    pub clock: Clock,
    /// Who may sign; none where nobody needs to.
    pub acl: Option<Arc<AclFile>>,
    /// Writes the budget file; none without a market.
    pub budget_image: Option<Rc<BudgetImage>>,
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
        let (owner, effects) = Owner::new(engine, sink, clock);
        let topology = Rc::new(Topology::new(&settings.trackers));
        let submissions = Submissions::new(owner.clone(), topology.clone(), settings, acl.clone());
        let dispatcher = Dispatcher::new(owner.clone(), settings, submissions.clone(), rpc_limits.waiting_calls);
        let rpc = Rc::new(RpcServer::new(rpc_limits, clock, dispatcher.clone()));
        let (handle, requests) = OwnerHandle::new(store, acl, budget_image.as_ref().map(|image| image.watch()));
        let notifier = Rc::new(Notifier::default());
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

    /// Has something else run on the owner's thread while it serves.
    #[must_use]
    pub fn with_companion(mut self, companion: impl Future<Output = ()> + 'static) -> Self {
        self.companions.push(Box::pin(companion));
        self
    }

    /// Has the files of jobs of before the restart put in order once it runs.
    #[must_use]
    pub fn with_leftovers(self, leftovers: Leftovers) -> Self {
        Self { leftovers: Some(leftovers), ..self }
    }

    /// Has jobs that were over before the restart read by `reader`.
    #[must_use]
    pub fn with_finished_jobs(self, reader: FinishedJobReader) -> Self {
        self.dispatcher.read_finished_jobs_by(reader);
        self
    }

    /// Serves RPC on `listener` until `stop` completes, then answers what is in hand. Must run where local tasks can be
    /// spawned.
    ///
    /// # Errors
    /// [`RunError`]: nothing can be answered any more.
    pub async fn run(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), RunError> {
        let Self { owner, dispatcher, rpc, edges, effects, requests, leftovers, companions } = self;
        let serving = requests.serving();
        let mut tasks = JoinSet::new();
        let accepting = tasks.spawn_local(rpc.clone().accept(listener));
        tasks.spawn_local(rpc.clone().sweep());
        let (taken_in, all_taken_in) = oneshot::channel::<()>();
        if let Some(leftovers) = leftovers {
            let taken_in = move || drop(taken_in);
            tasks.spawn_local(edges.submissions.clone().put_in_order(leftovers, taken_in));
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
            () = stop => {
                // The port closes; what has come in is answered.
                accepting.abort();
                serving.set(false);
                drop(stop_requests);
                let finished = async { tokio::join!(rpc.finish(), answered) };
                if tokio::time::timeout(FAREWELL, finished).await.is_err() {
                    tracing::warn!("some calls stay unanswered: their facts or their clients are too slow");
                }
                Ok(())
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
