//! The policy that rules, with its settings: what the engine asks of it, each answered here.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::api::PolicyName;
use crate::engine::state::Round;
use crate::mapreduce::JobSpec;
use crate::model::{Kind, Now, PerKind, QueueConfig};
use crate::scheduler::capacity::{CapacityConfig, CapacityConfigError};
use crate::scheduler::constraint::ConstraintConfig;
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::options::FairConfig;
use crate::scheduler::{AppSpec, FifoOptions, PolicyOptions};

#[derive(Clone, Debug)]
pub enum PolicyConfig {
    /// `JobQueueTaskScheduler`.
    Fifo(FifoOptions),
    /// `CapacityTaskScheduler`.
    Capacity {
        /// Queues and limits (`capacity-scheduler.xml`).
        config: Arc<CapacityConfig>,
        /// Whether a heartbeat grants exactly what 1.2.1 would (`jobtracker.scheduler.compatible`).
        is_compatible: bool,
    },
    /// `FairScheduler`.
    Fair(FairConfig),
    /// `ConstraintScheduler`.
    Constraint(ConstraintConfig),
    /// `DynamicPriorityScheduler`.
    Dynamic {
        /// Time between ticks, ms (`mapred.dynamic-scheduler.alloc-interval`).
        alloc_interval_ms: u64,
        /// Time between rounds of preemption, ms (`mapred.priority-scheduler.kill-interval`); none = no attempt is ever
        /// preempted.
        kill_interval_ms: Option<u64>,
    },
}

/// Time between two looks for deadlines that are at risk or missed.
const DEADLINE_CHECK_INTERVAL_MS: u64 = 1_000;

impl PolicyConfig {
    pub(crate) fn is_market(&self) -> bool {
        matches!(self, PolicyConfig::Dynamic { .. })
    }

    /// Whether jobs are ordered in pools instead of queues.
    pub(crate) fn has_pools(&self) -> bool {
        matches!(self, PolicyConfig::Fair(_))
    }

    pub(crate) fn options(&self) -> PolicyOptions {
        match self {
            PolicyConfig::Fifo(options) => PolicyOptions::Fifo(*options),
            PolicyConfig::Capacity { config, is_compatible } => {
                PolicyOptions::Capacity { config: Arc::clone(config), is_compatible: *is_compatible }
            }
            PolicyConfig::Fair(fair) => {
                PolicyOptions::Fair { options: fair.options, allocations: Arc::clone(&fair.allocations) }
            }
            PolicyConfig::Constraint(config) => PolicyOptions::Constraint(*config),
            PolicyConfig::Dynamic { .. } => PolicyOptions::Dynamic,
        }
    }

    /// Whether jobs are in the queues of the configuration.
    pub(crate) fn has_queues(&self) -> bool {
        matches!(self.grouping(), Grouping::Queues)
    }

    /// Whether an accepted job of a queue keeps it: the configuration names it, or the policy needs none.
    pub(crate) fn keeps_queue(&self, queue: &str, queues: &[QueueConfig]) -> bool {
        !self.has_queues() || queues.iter().any(|configured| configured.name == queue)
    }

    /// Slots that each task of a job takes: more than one only where the Capacity scheduler sizes slots by memory.
    pub(crate) fn slots_per_task(&self, spec: &JobSpec) -> PerKind<NonZeroU32> {
        let Some(memory) = self.capacity().and_then(CapacityConfig::slot_memory) else { return AppSpec::ONE_SLOT };
        let slots = |kind, task_mb: Option<u64>| {
            let slots = task_mb.map_or(1, |task_mb| memory.slots_per_task(kind, task_mb));
            NonZeroU32::new(slots).unwrap_or(NonZeroU32::MIN)
        };
        PerKind::new(slots(Kind::Map, spec.map_memory_mb), slots(Kind::Reduce, spec.reduce_memory_mb))
    }

    /// Time between two rounds that renew what the policy decides by, ms; none: events alone do.
    pub(crate) fn update_interval_ms(&self) -> Option<u64> {
        match self {
            PolicyConfig::Fifo(_) | PolicyConfig::Capacity { .. } => None,
            PolicyConfig::Fair(fair) => Some(fair.options.update_interval_ms),
            PolicyConfig::Constraint(_) => Some(DEADLINE_CHECK_INTERVAL_MS),
            PolicyConfig::Dynamic { alloc_interval_ms, .. } => Some(*alloc_interval_ms),
        }
    }

    /// Time between two rounds of preemption, ms; none: no attempt is ever preempted.
    pub(crate) fn preemption_interval_ms(&self) -> Option<u64> {
        match self {
            PolicyConfig::Fifo(_) | PolicyConfig::Capacity { .. } | PolicyConfig::Constraint(_) => None,
            PolicyConfig::Fair(fair) => fair.preemption_interval_ms,
            PolicyConfig::Dynamic { kill_interval_ms, .. } => *kill_interval_ms,
        }
    }

    /// Whether tasks are assigned exactly as by 1.2.1, its delays included (`jobtracker.scheduler.compatible`).
    pub(crate) fn is_compatible(&self) -> bool {
        match self {
            PolicyConfig::Fifo(options) => options.compatible,
            PolicyConfig::Capacity { is_compatible, .. } => *is_compatible,
            PolicyConfig::Fair(fair) => fair.options.is_compatible,
            PolicyConfig::Constraint(_) | PolicyConfig::Dynamic { .. } => false,
        }
    }

    pub(crate) fn name(&self) -> PolicyName {
        match self {
            PolicyConfig::Fifo(_) => PolicyName::Fifo,
            PolicyConfig::Capacity { .. } => PolicyName::Capacity,
            PolicyConfig::Fair(_) => PolicyName::Fair,
            PolicyConfig::Constraint(_) => PolicyName::Constraint,
            PolicyConfig::Dynamic { .. } => PolicyName::Dynamic,
        }
    }

    /// The settings of the Fair scheduler, if it is that.
    pub(crate) fn fair(&self) -> Option<&FairConfig> {
        if let PolicyConfig::Fair(fair) = self { Some(fair) } else { None }
    }

    pub(crate) fn fair_mut(&mut self) -> Option<&mut FairConfig> {
        if let PolicyConfig::Fair(fair) = self { Some(fair) } else { None }
    }

    /// The settings of the Capacity scheduler, if it is that.
    pub(crate) fn capacity(&self) -> Option<&CapacityConfig> {
        if let PolicyConfig::Capacity { config, .. } = self { Some(config) } else { None }
    }

    /// The settings of the scheduler that keeps deadlines, if it is that.
    pub(crate) fn constraint(&self) -> Option<&ConstraintConfig> {
        if let PolicyConfig::Constraint(config) = self { Some(config) } else { None }
    }

    pub(crate) fn grouping(&self) -> Grouping<'_> {
        match self {
            PolicyConfig::Fifo(_) | PolicyConfig::Capacity { .. } | PolicyConfig::Constraint(_) => Grouping::Queues,
            PolicyConfig::Fair(fair) => Grouping::Pools(fair),
            PolicyConfig::Dynamic { .. } => Grouping::Accounts,
        }
    }

    /// The market's interval between two ticks, ms, if it rules.
    pub(crate) fn market_interval_ms(&self) -> Option<u64> {
        if let PolicyConfig::Dynamic { alloc_interval_ms, .. } = self { Some(*alloc_interval_ms) } else { None }
    }

    /// The rounds of preemption from now on. The Fair scheduler has its first one with its first update.
    pub(crate) fn preemption_round(&self, now: Now) -> Round {
        let round = Round::every(self.preemption_interval_ms(), now);
        match self.fair().and_then(|fair| fair.preemption_interval_ms) {
            Some(_) => round.first_with(Round::every(self.update_interval_ms(), now)),
            None => round,
        }
    }

    /// This policy with settings of it that were read again, as far as they may change while it rules.
    ///
    /// # Errors
    /// It refuses them.
    pub(crate) fn reread(&self, read: PolicyConfig) -> Result<PolicyConfig, CapacityConfigError> {
        match (self, read) {
            (PolicyConfig::Capacity { config: running, is_compatible }, PolicyConfig::Capacity { config, .. }) => {
                let config = Arc::new(running.reload(Arc::unwrap_or_clone(config))?);
                Ok(PolicyConfig::Capacity { config, is_compatible: *is_compatible })
            }
            (PolicyConfig::Fair(running), PolicyConfig::Fair(mut fair)) => {
                fair.options.is_compatible = running.options.is_compatible;
                Ok(PolicyConfig::Fair(fair))
            }
            // The others have nothing that changes while they rule.
            (running, _) => Ok(running.clone()),
        }
    }

    /// What the scheduler does when this takes the place of what ruled before.
    pub(crate) fn change_from(&self, before: PolicyConfig) -> PolicyChange {
        match (before, self) {
            (_, PolicyConfig::Dynamic { .. }) => PolicyChange::Nothing,
            (
                PolicyConfig::Capacity { config: before, is_compatible: was },
                PolicyConfig::Capacity { config, is_compatible },
            ) if was == *is_compatible && has_all_queues(&before, config) => PolicyChange::Reload,
            (PolicyConfig::Fair(before), PolicyConfig::Fair(fair)) => {
                PolicyChange::Pools { orders_alike: before.options == fair.options, before: before.allocations }
            }
            _ => PolicyChange::Replace,
        }
    }
}

fn has_all_queues(before: &CapacityConfig, after: &CapacityConfig) -> bool {
    before.queues().iter().all(|queue| after.queue(queue.name()).is_some())
}

/// What jobs are ordered in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grouping<'a> {
    /// The queues of the configuration.
    Queues,
    Pools(&'a FairConfig),
    /// The accounts of the market.
    Accounts,
}

#[derive(Clone, Debug)]
pub(crate) enum PolicyChange {
    /// The market's settings are its intervals alone, and what it has sold stays sold.
    Nothing,
    /// What the policy counts stays.
    Reload,
    /// Clocks begin again unless they are ordered alike.
    Pools {
        before: Arc<Allocations>,
        orders_alike: bool,
    },
    Replace,
}
