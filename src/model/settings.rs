//! Settings that several rooms read: of queues and of containers, limits on counters, and how long delegation tokens last.

use super::Capability;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    pub(crate) name: String,
    /// Whether it accepts new jobs; those that it has continue (`mapred.queue.<q>.state`).
    pub(crate) running: bool,
    /// Users and groups that may submit: `user,user group,group`; `*`: all, a blank: none.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSettings {
    /// Whether there are any (`jobtracker.containers.enabled`).
    pub(crate) is_enabled: bool,
    /// What sizes are rounded up to (`jobtracker.containers.minimum.memory.mb`, and one core).
    pub(crate) minimum: Capability,
    /// The largest container (`jobtracker.containers.maximum.memory.mb`, `jobtracker.containers.maximum.vcores`).
    pub(crate) maximum: Capability,
    /// One slot's worth (`jobtracker.containers.slot.memory.mb`, and one core).
    pub(crate) slot: Capability,
    /// Time in which a granted container must be launched, ms (`jobtracker.containers.launch-expiry-ms`).
    pub(crate) launch_expiry_ms: u64,
    /// Longest time between TERM and KILL of a container that its owner did not end, ms (`jobtracker.containers.max-kill-grace-ms`).
    pub(crate) max_kill_grace_ms: u64,
    /// Most live containers of an application (`jobtracker.containers.max-per-application`).
    pub(crate) max_per_application: u32,
    /// Offers that are refused before a container may come from the rack or from anywhere, at most as many as there are
    /// nodes (`jobtracker.containers.locality.delay`).
    pub(crate) locality_delay: u32,
    /// Largest difference between a timestamp and the daemon's clock, either way, ms (`mapred.priority-scheduler.signature-window`).
    pub(crate) signature_window_ms: u64,
    /// The daemon's web address, `host:port`, as containers reach it.
    pub(crate) server: String,
    /// Applications that are over and stay in memory.
    pub(crate) over_kept: usize,
}

impl Default for ContainerSettings {
    /// What a daemon has that configures nothing.
    fn default() -> Self {
        Self {
            is_enabled: true,
            minimum: Capability::new(512, 1),
            maximum: Capability::new(1_048_576, 1_024),
            slot: Capability::new(1_024, 1),
            launch_expiry_ms: 60_000,
            max_kill_grace_ms: 30_000,
            max_per_application: 100_000,
            locality_delay: 40,
            signature_window_ms: 300_000,
            server: "localhost:50030".to_owned(),
            over_kept: 100,
        }
    }
}

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
