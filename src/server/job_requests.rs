//! Requests of the web about jobs and where they start: the groups of who asks are looked up first, where a list names any.

use std::sync::Arc;

use crate::engine::{Caller, Event, Explained, Read, Refusal, Reply};
use crate::mapreduce::Job;
use crate::market::Answer;
use crate::model::{AttemptId, JobId};
use crate::web::{ClusterPart, JobChange, MarketReply};

use super::owner::Owner;
use super::owner_requests::OwnerThread;

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

/// Whether a viewer may see a job; `forgotten`: as the database has it, should memory not.
pub(super) async fn check_viewer(
    OwnerThread { owner, dispatcher, .. }: OwnerThread,
    id: JobId,
    forgotten: Option<Job>,
    viewer: Caller,
) -> Option<Result<(), Refusal>> {
    let is_known = owner.with_engine(|engine| engine.has_job(id));
    let groups = dispatcher.groups_of(is_known.then_some(id), &viewer.user).await;
    let viewer = Caller { groups, ..viewer };
    Some(owner.with_engine(|engine| match forgotten.filter(|_| !engine.has_job(id)) {
        Some(job) => engine.check_view_details_of(&job, &viewer),
        None => engine.check_view_details(id, &viewer),
    }))
}

/// Whether a caller may do everything.
pub(super) async fn is_administrator(
    OwnerThread { owner, dispatcher, .. }: OwnerThread,
    caller: Caller,
) -> Option<bool> {
    let groups = dispatcher.groups_of_administrator(&caller.user).await;
    let caller = Caller { groups, ..caller };
    Some(owner.with_engine(|engine| engine.is_administrator(&caller)))
}
