//! Requests of other threads: closures that run on the owner's thread, one a turn.

use std::pin::pin;
use std::rc::Rc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::engine::{Engine, Read};
use crate::model::Now;
use crate::web::OwnerGone;

use super::application_waits::ApplicationWaits;
use super::dispatch::Dispatcher;
use super::owner::Owner;
use super::serving_flag::ServingFlag;

/// Queued requests; further senders wait.
const WAITING_REQUESTS: usize = 256;

/// What a request finds on the owner's thread.
#[derive(Clone)]
pub(crate) struct OwnerThread {
    pub(crate) owner: Rc<Owner>,
    pub(crate) dispatcher: Rc<Dispatcher>,
    pub(crate) waits: Rc<ApplicationWaits>,
}

/// Runs in a turn of its own; what takes longer becomes one of the tasks in hand.
type Request = Box<dyn FnOnce(OwnerThread, &mut JoinSet<()>) + Send>;

/// Sends requests. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub(super) struct RequestSender(mpsc::Sender<Request>);

/// The requests, for the owner's thread.
#[derive(Debug)]
pub(crate) struct Requests {
    requests: mpsc::Receiver<Request>,
    serving: ServingFlag,
}

impl RequestSender {
    pub(super) async fn send(
        &self,
        request: impl FnOnce(OwnerThread, &mut JoinSet<()>) + Send + 'static,
    ) -> Result<(), OwnerGone> {
        self.0.send(Box::new(request)).await.map_err(|_| OwnerGone)
    }

    /// Calls `ask` in the turn of the request and answers with what its future yields; none: the request is refused.
    pub(super) async fn ask<T: Send + 'static, A: Future<Output = Option<T>> + 'static>(
        &self,
        ask: impl FnOnce(OwnerThread) -> A + Send + 'static,
    ) -> Result<T, OwnerGone> {
        let (reply, answer) = oneshot::channel();
        let request = move |thread, in_hand: &mut JoinSet<()>| {
            let answering = ask(thread);
            in_hand.spawn_local(async move {
                if let Some(answer) = answering.await {
                    // The requester may have left.
                    let _ = reply.send(answer);
                }
            });
        };
        self.send(request).await?;
        answer.await.map_err(|_| OwnerGone)
    }

    /// What `read` finds, once the fact that it names is durable.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Engine, Now) -> Read<T> + Send + 'static,
    ) -> Result<T, OwnerGone> {
        self.ask(move |OwnerThread { owner, .. }| {
            let now = owner.clock().now();
            let read = owner.with_engine(|engine| read(engine, now));
            async move { owner.when_durable(read).await }
        })
        .await
    }

    /// Whether no request will be answered any more.
    pub(super) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// How many requests wait, and the most.
    pub(super) fn waiting(&self) -> (u64, u64) {
        let most = self.0.max_capacity();
        (most.saturating_sub(self.0.capacity()) as u64, most as u64)
    }
}

impl Requests {
    /// The requests of a sender. `serving`: whether calls are taken.
    pub(super) fn channel(serving: ServingFlag) -> (RequestSender, Self) {
        let (sender, requests) = mpsc::channel(WAITING_REQUESTS);
        (RequestSender(sender), Self { requests, serving })
    }

    /// The flag for whether calls are taken.
    pub(crate) fn serving(&self) -> ServingFlag {
        self.serving.clone()
    }

    /// Answers requests, one per turn. Completes when all senders are dropped; or, after `stopping` completes, when all
    /// queued requests are answered.
    pub(crate) async fn answer(mut self, thread: OwnerThread, stopping: impl Future<Output = ()>) {
        let mut in_hand = JoinSet::new();
        let mut stopping = pin!(stopping);
        let mut is_stopping = false;
        loop {
            let request = tokio::select! {
                request = self.requests.recv() => request,
                Some(_) = in_hand.join_next() => continue,
                () = &mut stopping, if !is_stopping => {
                    is_stopping = true;
                    self.requests.close();
                    thread.waits.end_all();
                    continue;
                }
            };
            let Some(request) = request else { break };
            request(thread.clone(), &mut in_hand);
            // Heartbeats go first.
            tokio::task::yield_now().await;
        }
        while in_hand.join_next().await.is_some() {}
    }
}
