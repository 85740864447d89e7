//! Requests of the web about jobs and where they start: the groups of who asks are looked up first, where a list names any.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::{Caller, Event, Explained, Read, Refusal, Reply};
use crate::mapreduce::Job;
use crate::market::Answer;
use crate::model::{AttemptId, JobId};
use crate::web::{ClusterPart, JobChange, MarketReply};

use super::dispatch::Dispatcher;
use super::owner::Owner;
use super::owner_requests::OwnerThread;
use super::stock_jobs::{Found, JobSource, read_live, with_groups};

/// Whether a user may see the logs of an attempt's job.
pub(super) async fn check_view_logs(
    OwnerThread { owner, dispatcher, .. }: OwnerThread,
    attempt: AttemptId,
    user: Arc<str>,
) -> Option<Result<(), Refusal>> {
    let groups = dispatcher.groups_of(Some(attempt.task.job), &user).await;
    let caller = Caller { groups, ..Caller::named(user) };
    Some(owner.with_engine(|engine| engine.check_view_logs(attempt, &caller)))
}

/// Why a job has the slots that it has.
pub(super) fn explain(
    OwnerThread { owner, .. }: OwnerThread,
    job: JobId,
    sees_names: bool,
) -> impl Future<Output = Option<Option<Box<Explained>>>> {
    let explain = move |owner: &Owner| {
        let Read { value, wait_for } = owner.with_engine(|engine| engine.explain(job, sees_names, owner.clock().now()));
        Read { value: value.map(Box::new), wait_for }
    };
    let Read { value, wait_for } = explain(&owner);
    let durable = (wait_for <= owner.durable()).then_some(value);
    async move {
        if durable.is_some() {
            return durable;
        }
        // Repeated then, and that answer is kept: a job that keeps changing must not delay the requester forever.
        owner.wait_durable(wait_for).await.ok()?;
        owner.when_durable(explain(&owner)).await
    }
}

pub(super) async fn change_job(
    OwnerThread { owner, dispatcher, .. }: OwnerThread,
    id: JobId,
    change: JobChange,
    caller: Caller,
) -> Option<Result<(), Refusal>> {
    let groups = match caller.user.is_empty() {
        true => caller.groups.clone(),
        false => dispatcher.groups_of(Some(id), &caller.user).await,
    };
    let caller = Caller { groups, ..caller };
    let (reply, wait_for) = owner.step(match change {
        JobChange::Deadline(change) => Event::SetDeadline { id, change, caller },
        JobChange::Pool(pool) => Event::SetPool { id, pool, caller },
        JobChange::Priority(priority) => Event::SetJobPriority { id, priority, caller },
        JobChange::Kill => Event::KillJob { id, caller },
        JobChange::EndAttempt { attempt, is_failure } => Event::KillTask { id: attempt, fail: is_failure, caller },
    });
    let value = match reply {
        Reply::Refused(refusal) => Err(refusal),
        _ => Ok(()),
    };
    owner.when_durable(Read { value, wait_for }).await
}

/// Stops or resumes the start of work in a part of the cluster.
pub(super) fn change_starts(
    OwnerThread { owner, .. }: OwnerThread,
    part: ClusterPart,
    is_on: bool,
    caller: Caller,
) -> impl Future<Output = Option<Result<MarketReply, Refusal>>> {
    let (reply, wait_for) = owner.step(match part {
        ClusterPart::Worker(worker) => Event::DrainWorker { worker, is_on, caller },
        ClusterPart::Work(target) => Event::Pause { target, is_on, caller },
    });
    let value = match reply {
        Reply::Market(answer) => Some(Ok(answer)),
        Reply::Done => Some(Ok(Ok(Answer::Frame))),
        Reply::Refused(refusal) => Some(Err(refusal)),
        // Without a reply the request is refused.
        _ => None,
    };
    async move { owner.when_durable(Read { value: value?, wait_for }).await }
}

type Make = dyn FnOnce(&Rc<Owner>, &Rc<Dispatcher>, &mut JoinSet<()>) + Send;

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

    pub(super) fn make(self, owner: &Rc<Owner>, dispatcher: &Rc<Dispatcher>, in_hand: &mut JoinSet<()>) {
        (self.0)(owner, dispatcher, in_hand);
    }
}

impl std::fmt::Debug for StockRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StockRequest")
    }
}
