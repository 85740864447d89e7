//! Limits on the number of a job's counters and the length of their names.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterLimits {
    /// Most counters (`mapreduce.job.counters.limit`, `mapreduce.job.counters.max`).
    pub(crate) counters: u32,
    /// Most groups, less one: 1.2.1 refuses a new group when there are already more than this
    /// (`mapreduce.job.counters.groups.max`).
    pub(crate) groups: u32,
    /// Longest name of a counter, UTF-16 units; the end of a longer one is kept
    /// (`mapreduce.job.counters.counter.name.max`).
    pub(crate) name_length: u32,
    /// Longest name of a group, likewise (`mapreduce.job.counters.group.name.max`).
    pub(crate) group_name_length: u32,
}

impl Default for CounterLimits {
    fn default() -> Self {
        Self { counters: 120, groups: 50, name_length: 64, group_name_length: 128 }
    }
}
