//! Queries of bidders that need both the cluster and the market. Read-only.

use std::collections::BTreeMap;

use crate::api::QueueStatus;
use crate::engine::core::Engine;
use crate::engine::state::{Application, Applications, JobCost, MarketState};
use crate::mapreduce::Job;
use crate::market::{Answer, Bidding, Operation, OperationKind, QueueUse, ServletRequest};
use crate::model::{Credits, Now, PerKind, PerPool, QueueName, row_at};
use crate::scheduler::{GroupId, GroupUsage, Scheduler};

impl Engine {
    /// Answers permitted quotes and queue standings; passes other answers through.
    pub(super) fn answer_from_cluster(&self, answer: Answer, now: Now) -> Answer {
        match answer {
            Answer::Permitted(Operation::Quote { queue, rate }) => match self.bidding(&queue) {
                Some(bidding) => Answer::Quote(bidding.quote(rate)),
                None => Answer::Frame,
            },
            Answer::Permitted(Operation::QueueStatus(queue)) => {
                Answer::QueueStatuses(self.queue_status(queue.as_ref(), now))
            }
            other => other,
        }
    }

    /// Replaces the job of a request by the queue of its user, by which the market checks access. For an unknown job the signer's
    /// own queue stands in, so every signer may learn that the job does not exist.
    pub(super) fn resolve_job_queue(&self, request: &mut ServletRequest) {
        use OperationKind::{Bid, Explain, Tasks, Unbid};
        if matches!(request.query.kind, Explain | Tasks | Bid | Unbid) {
            let job = request.query.value.parse().ok().and_then(|id| self.jobs.get(id));
            let signer = request.verified.as_ref().map(|signer| signer.user.clone());
            request.query.queue = job.map(|job| job.spec.user.clone()).or(signer);
        }
    }

    /// The competing bids of a queue now; none for an unknown queue and unless a market rules.
    pub(super) fn bidding(&self, queue: &QueueName) -> Option<Bidding> {
        let market = self.market.as_ref().filter(|market| market.accounts.is_ruling())?;
        let (usage, _) = queue_usage(market, &self.cluster.scheduler, &self.applications);
        market.accounts.bidding(queue, &usage, sold_slots(&self.cluster.scheduler), self.alloc_interval_ms())
    }

    /// The live status of one queue, or of all.
    fn queue_status(&self, queue: Option<&QueueName>, now: Now) -> Vec<QueueStatus> {
        let Some(state) = &self.market else { return Vec::new() };
        let market = &state.accounts;
        let (usage, _) = match market.is_ruling() {
            true => queue_usage(state, &self.cluster.scheduler, &self.applications),
            // A configured queue may have the name of an account.
            false => Default::default(),
        };
        let interval_ms = self.alloc_interval_ms();
        let mut statuses = match queue {
            Some(queue) => market.live_queue_status([queue], &usage, interval_ms),
            None => market.live_queue_status(market.queues(), &usage, interval_ms),
        };
        for status in &mut statuses {
            let group = || self.cluster.scheduler.group(status.queue.as_str());
            let is_stuck = status.pending > 0 && status.running == PerPool::default() && market.is_ruling();
            status.cannot_run = is_stuck.then(group).flatten().and_then(|group| self.why_queue_cannot_run(group));
            status.cannot_run = self.why_queue_is_paused(status.queue.as_str()).or(status.cannot_run.take());
            status.orders = self.order_statuses(status.queue.as_str());
            status.allowance = self.allowance_status(status.queue.as_str(), now);
        }
        statuses
    }

    /// What a job has cost so far; none unless a market rules or has ruled while it ran.
    pub(super) fn cost_of(&self, job: &Job) -> Option<&JobCost> {
        let market = self.market.as_ref()?;
        market.costs.of(job).filter(|cost| market.accounts.is_ruling() || cost.cost > Credits::ZERO)
    }

    /// What the containers of an application have cost so far; none unless they have cost anything, or a market rules and its
    /// queue has an account.
    pub(super) fn cost_of_application(&self, application: &Application) -> Option<Credits> {
        let ruling = self.ruling_market();
        let has_account = ruling.is_some_and(|market| market.account(&application.submitted.queue).is_some());
        let cost = application.cost.cost;
        (has_account || cost > Credits::ZERO).then_some(cost)
    }

    /// Time between two ticks, ms; 0 unless a market rules.
    pub(super) fn alloc_interval_ms(&self) -> u64 {
        self.ruling_market().and(self.config.policy.update_interval_ms()).unwrap_or(0)
    }
}

/// The slots that a market sells: map and reduce slots, and for containers what no such slot stands for.
pub(super) fn sold_slots(scheduler: &Scheduler) -> PerPool<u32> {
    let PerKind { map, reduce } = scheduler.totals().slots.narrow();
    PerPool::new(map, reduce, u32::try_from(scheduler.slots_beyond_tasks()).unwrap_or(u32::MAX))
}

/// Usage and demand of each queue that is not idle, by name, with its scheduler group: those too of which all that waits
/// could run nowhere. Setups and cleanups that count as maps are held, so they are wanted.
pub(super) fn queue_usage(
    market: &MarketState,
    scheduler: &Scheduler,
    applications: &Applications,
) -> (Vec<QueueUse>, Vec<GroupId>) {
    let mut standings = scheduler.group_usages().peekable();
    let wants = scheduler.wants();
    // By the queue that pays: a cleanup belongs to no group, and perhaps to an app that is gone.
    let mut long_housekeeping: BTreeMap<&QueueName, u32> = BTreeMap::new();
    for (app, count) in market.housekeeping.counting() {
        if let Some(queue) = market.holders.get(&app).and_then(|holder| market.accounts.meter().queue_of(*holder)) {
            *long_housekeeping.entry(queue).or_default() += count;
        }
    }
    let of_queue = |queue: &QueueName| {
        let GroupUsage { id, held, pending, .. } =
            row_at(&mut standings, |standing| standing.name.cmp(queue.as_str()))?;
        let containers = applications.containers_of_queue(queue.as_str());
        let long_housekeeping = long_housekeeping.get(queue).copied().unwrap_or(0);
        if held == PerKind::default() && pending == 0 && !containers.has_any() && long_housekeeping == 0 {
            return None;
        }
        let (mut want, mut later) = (wants.of(id), wants.later(id));
        want.map = want.map.saturating_add(long_housekeeping);
        later.map = later.map.saturating_add(long_housekeeping);
        want.container = want.container.max(containers.held);
        let queue_use = QueueUse { queue: queue.clone(), running: held, pending, containers, want, later };
        Some((queue_use, id))
    };
    market.accounts.queues().filter_map(of_queue).unzip()
}
