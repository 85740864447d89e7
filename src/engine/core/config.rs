//! Settings of the engine.

use std::collections::BTreeSet;

use crate::engine::state::{Limits, SchedulerChoice};
use crate::market::MarketConfig;
use crate::model::{ContainerSettings, DelegationSettings, Identifier, QueueConfig};
use crate::scheduler::CacheLevels;
use crate::scheduler::constraint::ConstraintConfig;

use super::policy::PolicyConfig;

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
