//! Settings of the engine.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use crate::engine::state::{ContainerSettings, Limits, SchedulerChoice};
use crate::mapreduce::JobSpec;
use crate::market::MarketConfig;
use crate::model::{DelegationSettings, Identifier, Kind, PerKind};
use crate::scheduler::capacity::CapacityConfig;
use crate::scheduler::constraint::ConstraintConfig;
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{AppSpec, CacheLevels, FifoOptions, PolicyOptions};

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Part of all job ids of this run; unique to the run.
    pub identifier: Identifier,
    pub policy: PolicyConfig,
    pub choice: SchedulerChoice,
    /// How deadlines are planned while another than the constraint scheduler rules.
    pub deadlines: ConstraintConfig,
    /// The market, which keeps accounts under every policy and rules under the dynamic one; none: no market.
    pub market: Option<MarketConfig>,
    /// The queues, unless a market rules: then its accounts are the queues.
    pub queues: Vec<QueueConfig>,
    /// Whether queue and job access lists are checked (`mapred.acls.enabled`).
    pub acls_enabled: bool,
    /// Whether submissions need a signature under every policy (`jobtracker.job-changes` = `signed`).
    pub needs_signatures: bool,
    /// Whether jobs that are submitted were accepted before, as in a play of the past: their places are those that a switch
    /// of the scheduler gives to accepted jobs, and no access list, signature or order is tested.
    pub accepts_recorded: bool,
    /// Administrators of the cluster: `user,user group,group` (`mapreduce.cluster.administrators`).
    pub administrators_acl: String,
    /// The user of the daemon, an administrator too.
    pub daemon_user: String,
    /// Most maps and reduces of one job (`mapred.jobtracker.maxtasks.per.job`); none = no limit.
    pub max_tasks_per_job: Option<u32>,
    pub limits: Limits,
    /// Containers and the applications that ask for them.
    pub containers: ContainerSettings,
    pub heartbeat: HeartbeatConfig,
    /// A tracker is lost after this time without a heartbeat, ms (`mapred.tasktracker.expiry.interval`).
    pub tracker_expiry_ms: u64,
    /// Levels of locality (`mapred.task.cache.levels`).
    pub cache_levels: CacheLevels,
    pub hosts: HostLists,
    /// Address of a job's page without the job id, which is appended.
    pub job_page_prefix: String,
    pub delegation: DelegationSettings,
    /// Whether unfinished jobs continue after a restart (`mapred.jobtracker.restart.recover`).
    pub recover: bool,
    /// For this time after a start, a `killJob` that clients send automatically after a lost connection is ignored, ms;
    /// 0 = never (`jobtracker.restart.hold-client-kills-ms`).
    pub hold_client_kills_ms: u64,
    pub finished_jobs_kept: usize,
    /// Whether no caller learns of the end of a job before [`Event::UserCopySettled`](crate::engine::Event::UserCopySettled): what is
    /// written to its user's folders is complete then.
    pub withholds_ends: bool,
}

impl EngineConfig {
    /// A daemon that configures nothing, has no queue, and a market only if it rules, with heartbeats as short as they may be. For simulations, tests and benchmarks.
    pub fn with_defaults(identifier: Identifier, policy: PolicyConfig) -> Self {
        let market = policy.is_market().then(MarketConfig::default);
        Self {
            identifier,
            policy,
            choice: SchedulerChoice::default(),
            deadlines: ConstraintConfig::default(),
            market,
            queues: Vec::new(),
            acls_enabled: false,
            needs_signatures: false,
            accepts_recorded: false,
            administrators_acl: " ".to_owned(),
            daemon_user: "mapred".to_owned(),
            max_tasks_per_job: None,
            limits: Limits::default(),
            containers: ContainerSettings::default(),
            heartbeat: HeartbeatConfig { min_interval_ms: 100, in_second: None, scaling_millionths: 1_000_000 },
            tracker_expiry_ms: 600_000,
            cache_levels: CacheLevels::default(),
            hosts: HostLists::default(),
            job_page_prefix: "http://localhost:50030/jobdetails.jsp?jobid=".to_owned(),
            delegation: DelegationSettings::default(),
            recover: true,
            hold_client_kills_ms: 0,
            finished_jobs_kept: 100,
            withholds_ends: false,
        }
    }
}

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

#[derive(Clone, Debug)]
pub struct FairConfig {
    /// Options besides the allocation file.
    pub(crate) options: FairOptions,
    pub(crate) allocations: Arc<Allocations>,
    /// The property of a job that names its pool, unless the job does (`mapred.fairscheduler.poolnameproperty`).
    pub(crate) pool_name_property: String,
    /// Whether jobs may name pools that are not declared (`mapred.fairscheduler.allow.undeclared.pools`).
    pub(crate) allows_undeclared_pools: bool,
    /// Time between rounds of preemption, ms (`mapred.fairscheduler.preemption.interval`); none = no attempt is ever
    /// preempted.
    pub(crate) preemption_interval_ms: Option<u64>,
    /// Whether rounds of preemption only log what they would do (`mapred.fairscheduler.preemption.only.log`).
    pub(crate) only_logs_preemption: bool,
    /// The event log; none: it is not written (`mapred.fairscheduler.eventlog.enabled`).
    pub(crate) event_log: Option<EventLogConfig>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventLogConfig {
    /// Its directory (`mapred.fairscheduler.eventlog.location`).
    pub(crate) directory: Arc<Path>,
    /// Time between two dumps of all jobs and pools, ms (`mapred.fairscheduler.dump.interval`).
    pub(crate) dump_interval_ms: u64,
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
        match self {
            PolicyConfig::Fifo(_) | PolicyConfig::Capacity { .. } | PolicyConfig::Constraint(_) => true,
            PolicyConfig::Fair(_) | PolicyConfig::Dynamic { .. } => false,
        }
    }

    /// Whether an accepted job of a queue keeps it: the configuration names it, or the policy needs none.
    pub(crate) fn keeps_queue(&self, queue: &str, queues: &[QueueConfig]) -> bool {
        !self.has_queues() || queues.iter().any(|configured| configured.name == queue)
    }

    /// Slots that each task of a job takes: more than one only where the Capacity scheduler sizes slots by memory.
    pub(crate) fn slots_per_task(&self, spec: &JobSpec) -> PerKind<NonZeroU32> {
        let PolicyConfig::Capacity { config, .. } = self else { return AppSpec::ONE_SLOT };
        let Some(memory) = config.slot_memory() else { return AppSpec::ONE_SLOT };
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    pub(crate) name: String,
    /// Whether it accepts jobs (`mapred.queue.<q>.state`).
    pub(crate) running: bool,
    /// Access list for submissions: `*`, or `user,user group,group`.
    pub(crate) submit_acl: String,
    /// Access list for the administration of its jobs.
    pub(crate) administer_acl: String,
}

impl QueueConfig {
    /// A queue that accepts jobs of every user.
    pub fn open(name: &str) -> Self {
        let everybody = || "*".to_owned();
        Self { name: name.to_owned(), running: true, submit_acl: everybody(), administer_acl: everybody() }
    }
}

/// The hosts whose trackers may register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLists {
    /// Admitted hosts; empty = all (`mapred.hosts`).
    pub(crate) included: BTreeSet<String>,
    /// Excluded hosts; takes precedence over `included` (`mapred.hosts.exclude`).
    pub(crate) excluded: BTreeSet<String>,
}

impl HostLists {
    /// Whether a tracker on that host may register.
    pub(crate) fn admits(&self, host: &str) -> bool {
        (self.included.is_empty() || self.included.contains(host)) && !self.excluded.contains(host)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// Shortest interval, ms (`jobtracker.heartbeat.interval.min-ms`).
    pub(crate) min_interval_ms: u32,
    /// Target rate of all trackers together, heartbeats a second; none = the built-in target
    /// (`mapred.heartbeats.in.second`).
    pub(crate) in_second: Option<u32>,
    /// Factor on the interval that follows from `in_second`, millionths
    /// (`mapreduce.jobtracker.heartbeats.scaling.factor`).
    pub(crate) scaling_millionths: u32,
}

/// Target rate when none is configured, heartbeats a second: a tenth of what the daemon can process.
const TARGET_IN_SECOND: u64 = 5_000;
/// Factor on the interval of an idle cluster.
const IDLE_FACTOR: u64 = 3;

impl HeartbeatConfig {
    /// The time until a tracker's next heartbeat, ms; longer while the cluster is `idle`.
    ///
    /// With a configured rate the rule of 1.2.1 `JobTracker.getNextHeartbeatInterval`, except for the minimum.
    pub(crate) fn interval_ms(&self, trackers: usize, idle: bool) -> i32 {
        let trackers = trackers as u64;
        let interval = match self.in_second {
            Some(rate) => 1_000 * trackers * u64::from(self.scaling_millionths) / (u64::from(rate.max(1)) * 1_000_000),
            None => {
                let busy = (1_000 * trackers / TARGET_IN_SECOND).max(u64::from(self.min_interval_ms));
                if idle { busy * IDLE_FACTOR } else { busy }
            }
        };
        interval.max(u64::from(self.min_interval_ms)).min(i32::MAX as u64) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_short_for_few_and_grows_with_many() {
        let config = HeartbeatConfig { min_interval_ms: 100, in_second: None, scaling_millionths: 1_000_000 };
        assert_eq!(config.interval_ms(1, false), 100);
        assert_eq!(config.interval_ms(1, true), 300);
        assert_eq!(config.interval_ms(4_000, false), 800);
        assert_eq!(config.interval_ms(4_000, true), 2_400);
    }

    #[test]
    fn an_explicit_rate_is_obeyed() {
        let config = HeartbeatConfig { min_interval_ms: 100, in_second: Some(100), scaling_millionths: 1_000_000 };
        assert_eq!(config.interval_ms(1_000, true), 10_000);
        assert_eq!(config.interval_ms(1, false), 100);
        let scaled = HeartbeatConfig { scaling_millionths: 10_000, ..config };
        assert_eq!(scaled.interval_ms(1_000, false), 100);
    }
}
