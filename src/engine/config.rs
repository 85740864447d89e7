//! What the engine is told once, when it is made.

use crate::market::MarketConfig;
use crate::model::Identifier;
use crate::scheduler::FifoOptions;

use super::{HostLists, Limits};

/// The engine's settings.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Job ids of this incarnation carry it; no other incarnation's do.
    pub identifier: Identifier,
    /// Who gets slots.
    pub policy: PolicyConfig,
    /// The queues of a daemon without a market; under a market the accounts are the queues.
    pub queues: Vec<QueueConfig>,
    /// Whether queue and job access lists are looked at (`mapred.acls.enabled`).
    pub acls_enabled: bool,
    /// Who may do everything: `user,user group,group` (`mapreduce.cluster.administrators`).
    pub administrators_acl: String,
    /// The user of the daemon, who may do everything too.
    pub daemon_user: String,
    /// Most maps and reduces of one job (`mapred.jobtracker.maxtasks.per.job`); none = no limit.
    pub max_tasks_per_job: Option<u32>,
    /// Limits that hold for every job.
    pub limits: Limits,
    /// How often trackers shall call.
    pub heartbeat: HeartbeatConfig,
    /// After this much silence a tracker is lost, ms (`mapred.tasktracker.expiry.interval`).
    pub tracker_expiry_ms: u64,
    /// Which hosts may serve.
    pub hosts: HostLists,
    /// The start of a job's page address: the job id is appended.
    pub job_page_prefix: String,
    /// Whether jobs of before a restart go on (`mapred.jobtracker.restart.recover`).
    pub recover: bool,
    /// So long after a start a `killJob` that looks like the reflex of a cut-off client is held back, ms; 0 = never
    /// (`jobtracker.restart.hold-client-kills-ms`).
    pub hold_client_kills_ms: u64,
    /// Finished jobs kept in memory.
    pub finished_jobs_kept: usize,
}

/// Which policy hands out slots.
#[derive(Clone, Debug)]
pub enum PolicyConfig {
    /// `JobQueueTaskScheduler`.
    Fifo(FifoOptions),
    /// `DynamicPriorityScheduler`.
    Dynamic {
        /// Time between ticks, ms (`mapred.dynamic-scheduler.alloc-interval`).
        alloc_interval_ms: u64,
        /// Time between rounds of preemption, ms (`mapred.priority-scheduler.kill-interval`); none = no attempt is ever
        /// preempted.
        kill_interval_ms: Option<u64>,
        /// The market's own settings.
        market: MarketConfig,
    },
}

// === impl PolicyConfig ===

impl PolicyConfig {
    /// Whether tasks are given exactly as by 1.2.1, its pauses included (`jobtracker.fifo.compatible`).
    pub fn is_compatible(&self) -> bool {
        matches!(self, PolicyConfig::Fifo(options) if options.compatible)
    }
}

/// A configured queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Its name.
    pub name: String,
    /// Whether it takes jobs (`mapred.queue.<q>.state`).
    pub running: bool,
    /// Who may submit: `*`, or `user,user group,group`.
    pub submit_acl: String,
    /// Who may administer its jobs.
    pub administer_acl: String,
}

/// How often trackers shall call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// Never more often than this, ms (`jobtracker.heartbeat.interval.min-ms`).
    pub min_interval_ms: u32,
    /// Heartbeats a second that all trackers together shall come to, when set (`mapred.heartbeats.in.second`).
    pub in_second: Option<u32>,
    /// Factor on the interval that follows from it, millionths
    /// (`mapreduce.jobtracker.heartbeats.scaling.factor`).
    pub scaling_millionths: u32,
}

// === impl HeartbeatConfig ===

/// Heartbeats a second that the daemon is content with when nothing was said: a tenth of what it can do.
const CONTENT_IN_SECOND: u64 = 5_000;
/// An idle cluster calls this many times less often.
const IDLE_FACTOR: u64 = 3;

impl HeartbeatConfig {
    /// The pause until a tracker's next heartbeat, ms: long while there is nothing to do (`idle`).
    ///
    /// With an explicit rate the rule of 1.2.1 `JobTracker.getNextHeartbeatInterval`, but for the floor, which is ours.
    pub fn interval_ms(&self, trackers: usize, idle: bool) -> i32 {
        let trackers = trackers as u64;
        let interval = match self.in_second {
            Some(rate) => 1_000 * trackers * u64::from(self.scaling_millionths) / (u64::from(rate.max(1)) * 1_000_000),
            None => {
                let busy = (1_000 * trackers / CONTENT_IN_SECOND).max(u64::from(self.min_interval_ms));
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
