//! Limits of the cluster that hold for every job.

use crate::mapreduce::CounterLimits;

use super::FaultConfig;

/// Limits of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// When a host is shown on the graylist.
    pub faults: FaultConfig,
    /// Counters of a job.
    pub counters: CounterLimits,
}
