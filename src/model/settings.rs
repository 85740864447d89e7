//! Settings that several rooms read: limits on counters, and how long delegation tokens last.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterLimits {
    /// Most counters (`mapreduce.job.counters.limit`, `mapreduce.job.counters.max`).
    pub(crate) counters: u32,
    /// Most groups, less one: 1.2.1 refuses a new group when there are already more than this (`mapreduce.job.counters.groups.max`).
    pub(crate) groups: u32,
    /// Longest name of a counter, UTF-16 units; the end of a longer one is kept (`mapreduce.job.counters.counter.name.max`).
    pub(crate) name_length: u32,
    /// Longest name of a group, likewise (`mapreduce.job.counters.group.name.max`).
    pub(crate) group_name_length: u32,
}

impl Default for CounterLimits {
    fn default() -> Self {
        Self { counters: 120, groups: 50, name_length: 64, group_name_length: 128 }
    }
}

/// How long delegation tokens and the keys that sign them last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegationSettings {
    /// A key signs no further token after this time, ms (`mapreduce.cluster.delegation.key.update-interval`).
    pub(crate) key_update_ms: u64,
    /// A token ends this long after it was issued, ms (`mapreduce.cluster.delegation.token.max-lifetime`).
    pub(crate) max_lifetime_ms: u64,
    /// A token ends this long after it was issued or renewed, ms (`mapreduce.cluster.delegation.token.renew-interval`).
    pub(crate) renew_interval_ms: u64,
}

/// Those of 1.2.1.
impl Default for DelegationSettings {
    fn default() -> Self {
        const DAY_MS: u64 = 86_400_000;
        Self { key_update_ms: DAY_MS, max_lifetime_ms: 7 * DAY_MS, renew_interval_ms: DAY_MS }
    }
}
