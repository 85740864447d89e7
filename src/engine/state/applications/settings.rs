//! Settings and limits of containers and their applications.

use crate::model::Capability;

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

pub(crate) const MAX_APPLICATIONS: usize = 100_000;
pub(crate) const MAX_APPLICATIONS_OF_USER: usize = 10_000;
pub(crate) const MAX_TYPES: usize = 100;
pub(crate) const MAX_ROWS: usize = 20_000;
pub(crate) const MAX_HOST_ROWS: usize = 10_000;
pub(crate) const MAX_ROWS_OF_CALL: usize = 20_000;
/// Most hosts and racks on the blacklist of an application.
pub(crate) const MAX_BLACKLIST: usize = 20_000;
/// Most releases in a call, and most launches.
pub(crate) const MAX_CONTAINERS_OF_CALL: usize = 10_000;
pub(crate) const MAX_SPECS: usize = 100;
pub(crate) const MAX_UNUSED_IDS: usize = 1_000;
/// How long an unused id is good, ms.
pub(crate) const UNUSED_ID_MS: u64 = 600_000;
/// Most new containers in an answer, and most statuses.
pub(crate) const MAX_IN_ANSWER: usize = 1_000;
/// Complete containers of an application that stay in memory.
pub(crate) const COMPLETE_KEPT: usize = 10_000;
pub(crate) const COMPLETE_KEPT_WHEN_OVER: usize = 100;
/// The largest number that a row may have, and the largest priority.
pub(crate) const LARGEST_NUMBER: u32 = i32::MAX as u32;
pub(crate) const LARGEST_REQUEST_ID: u64 = i64::MAX as u64;

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
