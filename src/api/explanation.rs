//! The explanation of a job's slots: why it has as many as it has and no more. The engine computes it.
//!
//! Names of other queues are only in fields documented so; these are empty unless the signer is an administrator.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, OrderClass, PerKind};

use super::order_status::OrderStatus;
use super::pending_reason::PendingReason;

/// A job, the slots that it holds, and the reasons why it has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Job id.
    pub job: String,
    /// Job name.
    pub name: String,
    /// Owner.
    pub user: String,
    /// Queue.
    pub queue: String,
    /// State, in Hadoop's spelling.
    pub state: String,
    /// Tasks by kind.
    pub tasks: PerKind<TaskCounts>,
    /// Cost up to the last tick; absent without a market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Credits>,
    /// Its deadline order; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderStatus>,
    /// Why it has no more slots, the most important reason first.
    pub why: Vec<PendingReason>,
    /// The holders of the cluster's slots.
    pub slots: PerKind<Holders>,
    /// Its queue as a buyer of slots; absent without a market.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<Buyer>,
    /// Past and possible preemption of its attempts; absent if preemption is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Preempted>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    pub(crate) total: u32,
    pub(crate) finished: u32,
    /// Attempts that hold a slot.
    pub(crate) running: u32,
    /// Tasks neither finished nor running.
    pub(crate) pending: u32,
}

/// The holders of the slots of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders {
    pub(crate) total: u32,
    pub(crate) this_job: u32,
    /// Held by other jobs of its queue.
    pub(crate) own_queue: u32,
    pub(crate) other_queues: u32,
    /// Of those, slots within the quotas of their queues.
    pub(crate) others_within_quota: u32,
    /// Of those, slots above the quotas of queues that pay.
    pub(crate) others_above_quota: u32,
    /// Of those, slots of queues that pay nothing.
    pub(crate) others_unpaid: u32,
    /// Held by setups and cleanups of jobs.
    pub(crate) setup_and_cleanup: u32,
    pub(crate) free: u32,
    /// Other queues that hold slots, by name. Only for administrators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_queue: Vec<QueueHolds>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueHolds {
    pub(crate) queue: String,
    pub(crate) held: u32,
    pub(crate) quota: u32,
}

/// A job's queue as a buyer of slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buyer {
    pub budget: Credits,
    /// The rate that its owner has set for the next tick.
    pub bid: Credits,
    /// The rate of the open interval; 0 if none is open.
    pub rate: Credits,
    /// The sum of the effective rates at the last tick.
    pub price: Credits,
    /// Its share of the cluster since then, as a decimal with nine digits.
    pub share: String,
    /// The slots it has bought.
    pub quota: PerKind<u32>,
    /// The slots it holds.
    pub held: PerKind<u32>,
    /// Its class in the order in which waiting queues are served, by kind; null for a kind that it does not wait for.
    pub class: PerKind<Option<OrderClass>>,
    pub queues_before: PerKind<u32>,
    /// The smallest rate that would buy more slots than it holds from the next tick on; null if it can afford none.
    pub moving: Option<SufficientRate>,
}

/// A rate that would buy more slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SufficientRate {
    pub rate: Credits,
    pub price: Credits,
    pub share: String,
    /// The slots it buys.
    pub quota: PerKind<u32>,
}

/// Past and possible preemption of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preempted {
    /// Time between two rounds, ms.
    pub(crate) interval_ms: u64,
    /// Attempts preempted so far, counting those that finished before their tracker was notified.
    pub(crate) so_far: u64,
    /// Attempts that a round would preempt now; absent if so many attempts run that the computation would delay
    /// heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at_risk: Option<u32>,
    /// What a round now would preempt for its queue; absent: nothing, or it was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) for_queue: Option<PreemptedFor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<LastRound>,
}

/// What a round would preempt of others while a job's queue is below its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreemptedFor {
    /// Slots that the queue has bought, waits for and does not hold.
    pub(crate) short: u32,
    /// Attempts and containers of all other jobs and applications that the round would preempt, for whichever queues.
    pub(crate) victims: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastRound {
    pub(crate) at_ms: i64,
    pub(crate) attempts: u32,
    /// Slots that other queues had bought and waited for.
    pub(crate) for_slots: u32,
    pub(crate) for_queues: u32,
    /// Those queues with the number of slots each was short of. Only for administrators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) by_queue: Vec<(String, u32)>,
}

impl Explanation {
    /// Leaves out the names of other queues.
    pub(crate) fn hide_names(&mut self) {
        self.slots.map.by_queue.clear();
        self.slots.reduce.by_queue.clear();
        if let Some(last) = self.preemption.as_mut().and_then(|preemption| preemption.last.as_mut()) {
            last.by_queue.clear();
        }
    }

    /// Whether it was made while a market ruled.
    pub(crate) fn is_of_market(&self) -> bool {
        self.market.is_some() || self.why.iter().any(PendingReason::is_of_market)
    }

    /// Leaves out all that says what a queue of a market bids or has bought; not what the job has cost.
    pub(crate) fn hide_market(&mut self) {
        self.why.retain(|reason| !reason.is_of_market());
        (self.order, self.market, self.preemption) = (None, None, None);
        for holders in [&mut self.slots.map, &mut self.slots.reduce] {
            (holders.others_within_quota, holders.others_above_quota, holders.others_unpaid) = (0, 0, 0);
        }
    }
}
