//! What bidders ask that takes the cluster beside the market to answer. Nothing is changed by it.

use crate::market::{Answer, Bidding, Operation, OperationKind, ServletRequest};
use crate::model::QueueName;

use super::PolicyConfig;
use super::engine::Engine;
use super::market_steps::usage;

// === impl Engine: outlook ===

impl Engine {
    /// What has been permitted and can be answered here is answered.
    pub(super) fn complete(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Permitted(Operation::Quote { queue, rate }) => match self.bidding(&queue) {
                Some(bidding) => Answer::Quote(bidding.quote(rate)),
                None => Answer::Frame,
            },
            Answer::Permitted(Operation::QueueStatus(queue)) => {
                Answer::QueueStatuses(self.queue_status(queue.as_ref()))
            }
            other => other,
        }
    }

    /// A request about a job is one about its queue: the market judges by that who may ask. Whoever has a key may hear that
    /// there is no such job.
    pub(super) fn name_queue_of_job(&self, request: &mut ServletRequest) {
        if request.query.kind == OperationKind::Explain {
            let job = request.query.value.parse().ok().and_then(|id| self.jobs.get(id));
            let signer = request.verified.as_ref().map(|signer| signer.user.clone());
            request.query.queue = job.map(|job| job.spec.queue.clone()).or(signer);
        }
    }

    /// What a queue bids against at this moment; none without a market or such a queue.
    pub(super) fn bidding(&self, queue: &QueueName) -> Option<Bidding> {
        let slots = self.scheduler.totals().slots.narrow();
        let market = self.market.as_ref()?;
        let (usage, _) = usage(market, &self.scheduler);
        market.bidding(queue, &usage, slots, self.alloc_interval_ms())
    }

    /// One queue, or all of them.
    fn queue_status(&self, queue: Option<&QueueName>) -> Vec<crate::api::QueueStatus> {
        let Some(market) = &self.market else { return Vec::new() };
        let ((usage, _), interval_ms) = (usage(market, &self.scheduler), self.alloc_interval_ms());
        match queue {
            Some(queue) => market.live_queue_status([queue], &usage, interval_ms),
            None => market.live_queue_status(market.queues(), &usage, interval_ms),
        }
    }

    /// From one tick to the next; 0 without a market.
    fn alloc_interval_ms(&self) -> u64 {
        match self.config.policy {
            PolicyConfig::Dynamic { alloc_interval_ms, .. } => alloc_interval_ms,
            PolicyConfig::Fifo(_) => 0,
        }
    }
}
