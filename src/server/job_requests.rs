//! Requests of the web about one job: the groups of who asks are looked up first, where a list names any.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::{Caller, Event, Explained, Read, Refusal, Reply};
use crate::mapreduce::Job;
use crate::market::ServletRequest;
use crate::model::{AttemptId, JobId};
use crate::web::{JobChange, MarketReply};

use super::dispatch::Dispatcher;
use super::owner::Owner;

const ANSWER_BYTES: usize = 1 << 10;

/// Passes a signed request to the engine, and answers once its facts are durable. Without memory it is not answered.
pub(super) fn job_request(
    owner: &Rc<Owner>,
    dispatcher: &Rc<Dispatcher>,
    request: ServletRequest,
    reply: oneshot::Sender<MarketReply>,
    in_hand: &mut JoinSet<()>,
) {
    let Some(reservation) = owner.answer_memory().try_reserve(ANSWER_BYTES).filter(|_| !owner.is_overloaded()) else {
        return;
    };
    let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
    in_hand.spawn_local(async move {
        let signer = request.verified.as_ref().map(|signer| Arc::<str>::from(signer.user.as_str()));
        let groups = match (signer, request.query.job_asked_about()) {
            (Some(signer), Some(job)) => dispatcher.groups_of(Some(job), &signer).await,
            _ => Arc::new([]),
        };
        let (answer, wait_for) = owner.step(Event::JobRequest { request: Box::new(request), groups });
        if let Reply::Market(result) = answer
            && owner.wait_durable(wait_for).await.is_ok()
        {
            // The requester may have left.
            let _ = reply.send(result);
        }
        drop(reservation);
    });
}

/// Whether a user may see the logs of an attempt's job.
pub(super) fn check_view_logs(
    owner: &Rc<Owner>,
    dispatcher: &Rc<Dispatcher>,
    attempt: AttemptId,
    user: Arc<str>,
    reply: oneshot::Sender<Result<(), Refusal>>,
    in_hand: &mut JoinSet<()>,
) {
    let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
    in_hand.spawn_local(async move {
        let groups = dispatcher.groups_of(Some(attempt.task.job), &user).await;
        let caller = Caller { groups, ..Caller::named(user) };
        let checked = owner.with_engine(|engine| engine.check_view_logs(attempt, &caller));
        // The requester may have left.
        let _ = reply.send(checked);
    });
}

/// Whether a user may hand over files for a job; `has_begun`: some were before.
pub(super) fn check_upload(owner: &Owner, job: JobId, user: &str, has_begun: bool) -> Result<(), Refusal> {
    owner.with_engine(|engine| match has_begun && engine.is_id_of_before(job) {
        true => Ok(()),
        false => engine.check_upload(job, user),
    })
}

pub(super) fn explain(
    owner: &Rc<Owner>,
    job: JobId,
    sees_names: bool,
    reply: oneshot::Sender<Option<Box<Explained>>>,
    in_hand: &mut JoinSet<()>,
) {
    let explain = move |owner: &Owner| owner.read(|engine| engine.explain(job, sees_names, owner.clock().now()));
    let Read { value, wait_for } = explain(owner);
    if wait_for <= owner.durable() {
        // The requester may have left.
        let _ = reply.send(value.map(Box::new));
        return;
    }
    drop(value);
    let owner = owner.clone();
    in_hand.spawn_local(async move {
        // Repeated then, and that answer is kept: a job that keeps changing must not delay the requester forever.
        if owner.wait_durable(wait_for).await.is_ok() {
            let Read { value, wait_for } = explain(&owner);
            if owner.wait_durable(wait_for).await.is_ok() {
                let _ = reply.send(value.map(Box::new));
            }
        }
    });
}

pub(super) fn change_job(
    owner: &Rc<Owner>,
    dispatcher: &Rc<Dispatcher>,
    (id, change, caller): (JobId, JobChange, Caller),
    reply: oneshot::Sender<Result<(), Refusal>>,
    in_hand: &mut JoinSet<()>,
) {
    let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
    in_hand.spawn_local(async move {
        let groups = match caller.user.is_empty() {
            true => caller.groups.clone(),
            false => dispatcher.groups_of(Some(id), &caller.user).await,
        };
        let caller = Caller { groups, ..caller };
        let event = match change {
            JobChange::Deadline(change) => Event::SetDeadline { id, change, caller },
            JobChange::Pool(pool) => Event::SetPool { id, pool, caller },
            JobChange::Priority(priority) => Event::SetJobPriority { id, priority, caller },
            JobChange::Kill => Event::KillJob { id, caller },
            JobChange::EndAttempt { attempt, is_failure } => Event::KillTask { id: attempt, fail: is_failure, caller },
        };
        let (answer, wait_for) = owner.step(event);
        let result = match answer {
            Reply::Refused(refusal) => Err(refusal),
            _ => Ok(()),
        };
        if owner.wait_durable(wait_for).await.is_ok() {
            // The requester may have left.
            let _ = reply.send(result);
        }
    });
}

type Make = dyn FnOnce(&Rc<Owner>, &Rc<Dispatcher>, &mut JoinSet<()>) + Send;

pub(super) struct StockRequest(Box<Make>);

impl StockRequest {
    /// Whether a viewer may see a job; `forgotten`: as the database has it, should memory not.
    pub(super) fn of_viewer(
        id: JobId,
        forgotten: Option<Job>,
        viewer: Caller,
        reply: oneshot::Sender<Result<(), Refusal>>,
    ) -> Self {
        Self(Box::new(move |owner, dispatcher, in_hand| {
            let (owner, dispatcher) = (owner.clone(), dispatcher.clone());
            in_hand.spawn_local(async move {
                let is_known = owner.with_engine(|engine| engine.has_job(id));
                let groups = dispatcher.groups_of(is_known.then_some(id), &viewer.user).await;
                let viewer = Caller { groups, ..viewer };
                let checked = owner.with_engine(|engine| match forgotten.filter(|_| !engine.has_job(id)) {
                    Some(job) => engine.check_view_details_of(&job, &viewer),
                    None => engine.check_view_details(id, &viewer),
                });
                // The requester may have left.
                let _ = reply.send(checked);
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

    pub(super) fn make(self, owner: &Rc<Owner>, dispatcher: &Rc<Dispatcher>, in_hand: &mut JoinSet<()>) {
        (self.0)(owner, dispatcher, in_hand);
    }
}

impl std::fmt::Debug for StockRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StockRequest")
    }
}
