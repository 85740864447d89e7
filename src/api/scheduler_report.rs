//! The ruling policy with its groups and jobs at one moment: `/scheduler?format=json`, and what the pages show.
//!
//! Shares, weights and percentages are exact decimals as texts.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, PerKind, PerPool, Priority};

use super::deadline::JobDeadline;
use super::exact_decimal::ExactDecimal;
use super::pending_reason::PendingReason;

/// The ruling policy, its groups and the unfinished jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchedulerReport {
    /// The policy.
    pub policy: PolicyName,
    /// Since when it rules, epoch ms.
    pub since_ms: i64,
    /// The user who chose it while the daemon ran; absent: the configuration chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When the report was made, epoch ms.
    pub at_ms: i64,
    /// Slots of the trackers in service.
    pub slots: PerKind<u32>,
    /// Price of the market at the last tick; absent unless the market rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Queues or pools, by name.
    pub groups: Vec<ReportedGroup>,
    /// The newest unfinished jobs, newest first.
    pub jobs: Vec<ReportedJob>,
    /// Unfinished jobs that are not among them.
    pub jobs_left_out: u64,
}

/// A policy, as commands name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyName {
    /// First in, first out.
    #[default]
    Fifo,
    /// The market.
    Dynamic,
    /// Queues with capacities.
    Capacity,
    /// Pools with fair shares.
    Fair,
    /// Deadlines.
    Constraint,
}

/// A queue or a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedGroup {
    pub(crate) name: String,
    /// The pool around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Unfinished jobs in it and in the pools in it.
    pub(crate) jobs: u32,
    /// Attempts that hold slots.
    pub(crate) running: PerKind<u32>,
    /// Slots that they hold.
    pub(crate) held: PerKind<u32>,
    /// Tasks that wait for a slot.
    pub(crate) waiting: PerKind<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<QueueCapacity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<PoolShares>,
    /// Under the market, where shares are public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bought: Option<BoughtSlots>,
}

/// The settings and numbers of a queue with a capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueCapacity {
    pub(crate) percent: String,
    /// What it never exceeds, percent of the cluster; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) maximum_percent: Option<String>,
    /// The part of the queue below which no user is limited, percent.
    pub(crate) user_limit_percent: u32,
    /// Multiples of the queue's capacity that one user may hold.
    pub(crate) user_limit_factor: String,
    /// Whether jobs are ordered by priority.
    pub(crate) supports_priority: bool,
    /// Its slots in the cluster as it is now.
    pub(crate) slots: PerKind<u32>,
    /// Its maximum in the cluster as it is now; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) maximum_slots: Option<PerKind<u32>>,
    /// Slots that it occupies, reserved ones included.
    pub(crate) occupied: PerKind<u32>,
    /// The same in percent of its slots, with one decimal.
    pub(crate) occupied_percent: PerKind<String>,
    pub(crate) running: PerKind<u32>,
    pub(crate) active_users: PerKind<u32>,
    /// Slots that one user may hold now, tasks of one slot each.
    pub(crate) user_limit: PerKind<u64>,
    /// The users with a job in it, by name.
    pub(crate) users: Vec<QueueUser>,
    pub(crate) waiting_jobs: u64,
    /// Jobs that are being set up.
    pub(crate) initializing_jobs: u64,
    pub(crate) running_jobs: u64,
    /// Maps and reduces of jobs that are being set up or run.
    pub(crate) active_tasks: u64,
    pub(crate) limits: QueueJobLimits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueUser {
    pub(crate) user: String,
    /// Slots that the user occupies.
    pub(crate) occupied: PerKind<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueJobLimits {
    /// Jobs that are set up or run at once.
    pub(crate) initialized: u64,
    pub(crate) initialized_per_user: u64,
    pub(crate) accepted: u64,
    pub(crate) accepted_per_user: u64,
    /// Maps and reduces of jobs that are set up or run.
    pub(crate) active_tasks: i64,
    pub(crate) active_tasks_per_user: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolShares {
    /// Slots that it gets before others get more than their own minimum.
    pub(crate) minimum: PerKind<u32>,
    /// Most slots; null: no limit.
    pub(crate) maximum: PerKind<Option<u32>>,
    /// Whether the maximum is below the minimum; the maximum counts then.
    pub(crate) is_inverted: PerKind<bool>,
    pub(crate) weight: ExactDecimal,
    pub(crate) mode: PoolMode,
    /// Most running jobs; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_running_jobs: Option<u32>,
    /// Slots that its jobs could use, up to its maximum.
    pub(crate) demand: PerKind<u32>,
    pub(crate) fair_share: PerKind<ExactDecimal>,
    /// Time since it had its minimum, ms; absent while pools do not preempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below_minimum_ms: Option<PerKind<u64>>,
    /// Time since it had half its fair share, ms; absent while pools do not preempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below_half_share_ms: Option<PerKind<u64>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PoolMode {
    /// By running tasks and weight.
    #[default]
    Fair,
    /// By priority, then submission.
    Fifo,
}

/// What a queue has bought in the market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoughtSlots {
    /// Its share of the cluster at the last tick.
    pub(crate) share: String,
    /// Slots bought for the open interval. Containers may use what its maps and reduces leave of theirs too.
    pub(crate) quota: PerPool<u32>,
    /// Its rate in the open interval.
    pub(crate) rate: Credits,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedJob {
    pub(crate) job: JobId,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) queue: String,
    /// The queue or pool in which it is ordered.
    pub(crate) group: String,
    /// Its priority, in Hadoop's spelling.
    pub(crate) priority: Priority,
    /// Its state, in Hadoop's spelling; with a deadline under the constraint scheduler `ON_TIME`, `AT_RISK` or `LATE`.
    pub(crate) state: String,
    /// Whether it has begun: it has tasks from then on.
    pub(crate) has_begun: bool,
    pub(crate) submit_ms: i64,
    pub(crate) tasks: PerKind<u32>,
    pub(crate) finished: PerKind<u32>,
    pub(crate) running: PerKind<u32>,
    /// Slots that they hold.
    pub(crate) held: PerKind<u32>,
    pub(crate) waiting: PerKind<u32>,
    /// Its place in line, by kind; null for a kind that it does not wait for.
    pub(crate) place: PerKind<Option<PlaceInLine>>,
    /// What the policy holds it back by at this moment.
    pub(crate) held_back_by: Vec<PendingReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<QueuedJob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<PooledJob>,
    /// Under the constraint scheduler, of a job with a deadline.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<JobDeadline>,
}

/// A place in line for slots of one kind; of a job that a limit holds back, the one that it would have without the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceInLine {
    /// Queues or pools that are served first; 0 where the policy ignores them.
    pub(crate) groups_before: u32,
    /// Jobs of the same queue or pool that come first, also those that a limit holds back; of all where the policy
    /// ignores queues.
    pub(crate) jobs_before: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueuedJob {
    /// How far it has come in its queue.
    pub(crate) stage: QueuedJobStage,
    pub(crate) slots_per_task: PerKind<u32>,
    /// Slots that its queue counts for trackers that are reserved for it.
    pub(crate) reserved: PerKind<u32>,
}

/// How far a job has come in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QueuedJobStage {
    Waiting,
    /// It is being set up.
    Initializing,
    Running,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PooledJob {
    /// Whether the limits on running jobs let it be set up and run.
    pub(crate) is_runnable: bool,
    /// Slots that it could use.
    pub(crate) demand: PerKind<u32>,
    pub(crate) weight: PerKind<ExactDecimal>,
    /// Its fair share, slots; absent in a pool whose jobs are served in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fair_share: Option<PerKind<ExactDecimal>>,
    /// Slot-milliseconds that it got less than its share; absent unless jobs are ordered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deficit_slot_ms: Option<PerKind<i64>>,
    /// Time that it has waited for slots near its data, ms.
    pub(crate) waited_ms: u64,
}

impl SchedulerReport {
    /// Removes what is private of all queues but those whose money is shown: with the price, a share or a quota gives the rate of
    /// its queue, and the order of queues is that of their rates.
    pub(crate) fn hide_money(&mut self, is_shown: impl Fn(&str) -> bool) {
        let hidden = self.groups.iter_mut().filter(|group| !is_shown(&group.name));
        hidden.for_each(|group| group.bought = None);
        if self.policy == PolicyName::Dynamic {
            for job in self.jobs.iter_mut().filter(|job| !is_shown(&job.group)) {
                job.place = PerKind::default();
                job.held_back_by.retain(|reason| !reason.is_of_market());
            }
        }
    }
}
