//! Settings of the fair scheduler.

use std::path::Path;
use std::sync::Arc;

use super::allocations::Allocations;
use super::heartbeat_plan::HeartbeatCaps;
use super::load_cap::LoadCap;
use super::locality_wait::LocalityDelayRule;
use super::weight::WeightRule;

/// All settings of the fair scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct FairConfig {
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

/// Options of the policy, besides the allocation file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairOptions {
    pub(crate) heartbeat_caps: HeartbeatCaps,
    pub(crate) load_cap: LoadCap,
    pub(crate) weights: WeightRule,
    pub(crate) delays: LocalityDelayRule,
    /// Time between heartbeats of a tracker, for automatic waits, ms.
    pub(crate) heartbeat_interval_ms: u64,
    /// Whether starving pools may take slots from others (`mapred.fairscheduler.preemption`).
    pub(crate) preempts: bool,
    /// Time between updates of demands and shares, ms (`mapred.fairscheduler.update.interval`).
    pub(crate) update_interval_ms: u64,
    pub(crate) ordering: JobOrdering,
    /// Whether a heartbeat gives exactly what the original would (`jobtracker.scheduler.compatible`).
    pub(crate) is_compatible: bool,
}

/// Order of jobs and pools when a slot is free (`mapred.fairscheduler.ordering`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum JobOrdering {
    /// By running tasks and weights, pools first.
    #[default]
    Fair,
    /// By what each job got less than its share so far, whatever its pool.
    Deficit,
}

impl Default for FairOptions {
    fn default() -> Self {
        Self {
            heartbeat_caps: HeartbeatCaps::default(),
            load_cap: LoadCap::default(),
            weights: WeightRule::default(),
            delays: LocalityDelayRule::default(),
            heartbeat_interval_ms: 3_000,
            preempts: false,
            update_interval_ms: 500,
            ordering: JobOrdering::Fair,
            is_compatible: false,
        }
    }
}
