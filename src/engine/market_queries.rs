//! Queries of bidders that need both the cluster and the market. Read-only.

use crate::market::{Answer, Bidding, Operation, OperationKind, QueueName, ServletRequest};

use super::PolicyConfig;
use super::engine::Engine;
use super::market_ticks::queue_usage;

// === impl Engine: market queries ===

impl Engine {
    /// Answers permitted quotes and queue standings; passes other answers through.
    pub(super) fn answer_from_cluster(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Permitted(Operation::Quote { queue, rate }) => match self.bidding(&queue) {
                Some(bidding) => Answer::Quote(bidding.quote(rate)),
                None => Answer::Frame,
            },
            Answer::Permitted(Operation::Standings(queue)) => Answer::Standings(self.queue_standings(queue.as_ref())),
            other => other,
        }
    }

    /// Replaces the job of a request by its queue, by which the market checks access. For an unknown job the signer's
    /// own queue stands in, so every signer may learn that the job does not exist.
    pub(super) fn resolve_job_queue(&self, request: &mut ServletRequest) {
        if request.shape.kind == OperationKind::Explain {
            let job = request.shape.value.parse().ok().and_then(|id| self.jobs.get(id));
            let signer = request.verified.as_ref().map(|signer| signer.user.clone());
            request.shape.queue = job.map(|job| job.spec.queue.clone()).or(signer);
        }
    }

    /// The competing bids of a queue now; none without a market or for an unknown queue.
    pub(super) fn bidding(&self, queue: &QueueName) -> Option<Bidding> {
        let slots = self.scheduler.totals().slots.narrow();
        let market = self.market.as_ref()?;
        let (usage, _) = queue_usage(market, &self.scheduler);
        market.bidding(queue, &usage, slots, self.alloc_interval_ms())
    }

    /// Standings of one queue, or of all.
    fn queue_standings(&self, queue: Option<&QueueName>) -> Vec<crate::market::QueueStanding> {
        let Some(market) = &self.market else { return Vec::new() };
        let ((usage, _), interval_ms) = (queue_usage(market, &self.scheduler), self.alloc_interval_ms());
        match queue {
            Some(queue) => market.standings([queue], &usage, interval_ms),
            None => market.standings(market.queues(), &usage, interval_ms),
        }
    }

    /// Time between two ticks, ms; 0 without a market.
    fn alloc_interval_ms(&self) -> u64 {
        match self.config.policy {
            PolicyConfig::Dynamic { alloc_interval_ms, .. } => alloc_interval_ms,
            PolicyConfig::Fifo(_) => 0,
        }
    }
}
