//! Options of the fair policy, besides the allocation file.

use super::heartbeat_plan::HeartbeatCaps;
use super::load_cap::LoadCap;
use super::locality_wait::LocalityDelayRule;
use super::weight::WeightRule;

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
