//! Passes a `/scheduler` request to the engine and answers it once what it shows is durable.

use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::engine::{Event, Reply};
use crate::market::{Answer, ServletRequest};
use crate::web::MarketReply;

use super::owner::Owner;

/// Maximum size of a market answer without its list of queues, and of each queue in the list, bytes.
const ANSWER_BYTES: usize = 4 << 10;
const QUEUE_BYTES: usize = 256;

pub(super) fn market(
    owner: &Rc<Owner>,
    request: ServletRequest,
    reply: oneshot::Sender<MarketReply>,
    in_hand: &mut JoinSet<()>,
) {
    // Signatures, those of queries included, are recorded as used, and a query cannot be repeated with a used
    // signature. Without a reply the request is refused.
    let Some(mut reservation) = owner.answer_memory().try_reserve(ANSWER_BYTES).filter(|_| !owner.is_overloaded())
    else {
        return;
    };
    let (answer, wait_for) = owner.step(Event::Market(Box::new(request)));
    let Reply::Market(result) = answer else { return };
    let queues = match &result {
        Ok(Answer::Queues { queues, .. }) => queues.len(),
        Ok(Answer::QueueStatuses(standings)) => standings.len(),
        _ => 0,
    };
    // The step is done and must be answered; its memory is charged as far as possible.
    if let Some(all) = owner.answer_memory().try_reserve(queues * QUEUE_BYTES) {
        reservation.merge(all);
    }
    let owner = owner.clone();
    in_hand.spawn_local(async move {
        if owner.wait_durable(wait_for).await.is_ok() {
            let _ = reply.send(result);
        }
        drop(reservation);
    });
}
