//! Requests of the stock pages about one job, made on the owner's thread: who asks is known with their groups before the job is
//! read, and nothing is shown before it is durable.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::{Caller, Refusal};
use crate::mapreduce::Job;
use crate::model::JobId;

use super::dispatch::Dispatcher;
use super::owner::Owner;
use super::stock_jobs::{Found, JobSource, read_live, with_groups};

type Make = dyn FnOnce(&Rc<Owner>, &Rc<Dispatcher>, &mut JoinSet<()>) + Send;

/// A request about a job.
pub(super) struct StockRequest(Box<Make>);

impl StockRequest {
    /// What `read` makes of a job that memory has.
    pub(super) fn of_job<T: Send + 'static>(
        id: JobId,
        viewer: Option<Caller>,
        read: impl FnOnce(&JobSource<'_>) -> T + Send + 'static,
        reply: oneshot::Sender<Result<Found<T>, Refusal>>,
    ) -> Self {
        Self(Box::new(move |owner, dispatcher, in_hand| {
            let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
            in_hand.spawn_local(async move {
                let groups = match &viewer {
                    Some(viewer) => dispatcher.groups_of(Some(id), &viewer.user).await,
                    None => Arc::new([]),
                };
                let viewer = with_groups(viewer, groups);
                let answer = match owner.with_engine(|engine| read_live(engine, id, viewer.as_ref(), read)) {
                    Ok((found, wait_for)) => {
                        if owner.wait_durable(wait_for).await.is_err() {
                            return;
                        }
                        Ok(found)
                    }
                    Err(refusal) => Err(refusal),
                };
                // The requester may have left.
                let _ = reply.send(answer);
            });
        }))
    }

    /// Whether a viewer may see a job that memory no longer has.
    pub(super) fn of_forgotten(job: Job, viewer: Caller, reply: oneshot::Sender<Result<(), Refusal>>) -> Self {
        Self(Box::new(move |owner, dispatcher, in_hand| {
            let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
            in_hand.spawn_local(async move {
                let groups = dispatcher.groups_of(None, &viewer.user).await;
                let viewer = Caller { groups, ..viewer };
                let _ = reply.send(owner.with_engine(|engine| engine.check_view_details_of(&job, &viewer)));
            });
        }))
    }

    /// Whether a caller may do everything.
    pub(super) fn of_administrator(caller: Caller, reply: oneshot::Sender<bool>) -> Self {
        Self(Box::new(move |owner, dispatcher, in_hand| {
            let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
            in_hand.spawn_local(async move {
                let groups = dispatcher.groups_of_administrator(&caller.user).await;
                let caller = Caller { groups, ..caller };
                let _ = reply.send(owner.with_engine(|engine| engine.is_administrator(&caller)));
            });
        }))
    }

    /// Makes it.
    pub(super) fn make(self, owner: &Rc<Owner>, dispatcher: &Rc<Dispatcher>, in_hand: &mut JoinSet<()>) {
        (self.0)(owner, dispatcher, in_hand);
    }
}

impl std::fmt::Debug for StockRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StockRequest")
    }
}
