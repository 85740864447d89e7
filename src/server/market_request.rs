//! Passes a `/scheduler` request to the engine and answers it once what it shows is durable.

use std::sync::Arc;

use crate::engine::{Event, Read, Reply};
use crate::market::{Answer, ServletRequest};
use crate::web::MarketReply;

use super::durability_queue::MemoryReservation;
use super::owner::Owner;
use super::owner_requests::OwnerThread;

/// Maximum size of a market answer without its list of queues, and of each queue in the list, bytes.
const ANSWER_BYTES: usize = 4 << 10;
const QUEUE_BYTES: usize = 256;
/// The same of an answer about one job.
const JOB_ANSWER_BYTES: usize = 1 << 10;

pub(super) fn market_request(
    OwnerThread { owner, .. }: OwnerThread,
    request: ServletRequest,
) -> impl Future<Output = Option<MarketReply>> {
    let stepped = step(&owner, request);
    async move {
        let (read, _reservation) = stepped?;
        owner.when_durable(read).await
    }
}

/// Signatures, those of queries included, are recorded as used, and a query cannot be repeated with a used signature.
/// Without memory for the answer the request is refused.
fn step(owner: &Owner, request: ServletRequest) -> Option<(Read<MarketReply>, MemoryReservation)> {
    let mut reservation = owner.reserve_answer(ANSWER_BYTES)?;
    let (reply, wait_for) = owner.step(Event::Market(Box::new(request)));
    let Reply::Market(value) = reply else { return None };
    let queues = match &value {
        Ok(Answer::Queues { queues, .. }) => queues.len(),
        Ok(Answer::QueueStatuses(standings)) => standings.len(),
        _ => 0,
    };
    // The step is done and must be answered; its memory is charged as far as possible.
    if let Some(all) = owner.answer_memory().try_reserve(queues * QUEUE_BYTES) {
        reservation.merge(all);
    }
    Some((Read { value, wait_for }, reservation))
}

/// The same of a request about one job: the groups of its signer are looked up first, where a list names any.
pub(super) fn job_request(
    OwnerThread { owner, dispatcher, .. }: OwnerThread,
    request: ServletRequest,
) -> impl Future<Output = Option<MarketReply>> {
    let reservation = owner.reserve_answer(JOB_ANSWER_BYTES);
    async move {
        let _reservation = reservation?;
        let signer = request.verified.as_ref().map(|signer| Arc::<str>::from(signer.user.as_str()));
        let groups = match (signer, request.query.job_asked_about()) {
            (Some(signer), Some(job)) => dispatcher.groups_of(Some(job), &signer).await,
            _ => Arc::new([]),
        };
        let (reply, wait_for) = owner.step(Event::JobRequest { request: Box::new(request), groups });
        let Reply::Market(value) = reply else { return None };
        owner.when_durable(Read { value, wait_for }).await
    }
}
